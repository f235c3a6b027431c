"""The conformance mode: fixture workflows under their published ids, and the test seams.

On only with `SAYSO_CONFORMANCE_SEED=true`, and never beside anything that looks like production. Outside of
it none of this exists.
"""

from __future__ import annotations

from typing import Any, Final

from config.settings import Settings
from schemas.workflows import Workflow

APPROVERS: Final = ["urn:conformance:listed-approver"]


def _gate(**config: Any) -> dict[str, Any]:
    base = {"title": "Conformance gate", "description": "Raised by a fixture.", "notify": []}
    return {"id": "gate", "type": "core.approvalGate", "config": {**base, **config}}


def _noop(name: str = "noop") -> dict[str, Any]:
    return {"id": name, "type": "core.noop"}


def _edge(source: str, target: str, rule: str) -> dict[str, str]:
    return {"from": source, "to": target, "rule": rule}


def _delay(milliseconds: int) -> list[dict[str, Any]]:
    return [{"id": "wait", "type": "core.delay", "config": {"delayMs": milliseconds}}]


_TALK: Final = {
    "id": "talk",
    "type": "core.conversationGate",
    "config": {"lifecycle": "open-exchange-close", "mockAutoResume": True, "notify": []},
}
_ALL_ACTIONS: Final = ["accept", "reject", "refine", "edit-accept"]
_FIXTURES: Final[dict[str, tuple[list[dict[str, Any]], list[dict[str, str]]]]] = {
    "conformance-noop": ([_noop()], []),
    "conformance-idempotent": ([_noop()], []),
    "conformance-delay": (_delay(1000), []),
    "conformance-cancellable": (_delay(30_000), []),
    "conformance-failure": ([{"id": "fail", "type": "core.fail"}], []),
    "conformance-approval": ([_gate()], []),
    "conformance-clarification": (
        [
            {
                "id": "ask",
                "type": "core.clarificationGate",
                "config": {"questions": [{"id": "q1", "question": "Which?"}], "notify": []},
            }
        ],
        [],
    ),
    "conformance-approval-reject-routed": (
        [_gate(), _noop("on-reject"), _noop("on-accept")],
        [_edge("gate", "on-reject", "any_failed"), _edge("gate", "on-accept", "all_success")],
    ),
    "conformance-approval-reject-loopback": (
        [_noop("start"), _gate(), _noop("revise")],
        [
            _edge("start", "gate", "any_success"),
            _edge("gate", "revise", "any_failed"),
            _edge("revise", "gate", "any_success"),
        ],
    ),
    "conformance-approval-timeout": ([_gate(timeoutMs=1500)], []),
    "conformance-approval-timeout-approve": ([_gate(timeoutMs=1500, onTimeout="approve")], []),
    "conformance-agent-low-confidence": (
        [
            {
                "id": "low-conf-decider",
                "type": "core.identity",
                "config": {
                    "mockConfidence": 0.5,
                    "agent": {"agentId": "core.conformance.low-conf-decider"},
                    "notify": [],
                },
            }
        ],
        [],
    ),
    "conformance-approval-approvers": ([_gate(approversList=APPROVERS)], []),
    "conformance-interrupt-quorum": (
        [_gate(requiredApprovals=3, rejectionPolicy="majority", approversList=[])],
        [],
    ),
    "conformance-interrupt-external-event": (
        [
            {
                "id": "wait-for-external",
                "type": "core.interrupt",
                "config": {
                    "kind": "external-event",
                    "timeoutMs": 60_000,
                    "notify": [],
                    "data": {
                        "eventType": "order.updated",
                        "correlation": {"orderId": "fixture-order-1", "status": "completed"},
                    },
                },
            }
        ],
        [],
    ),
    "conformance-interrupt-auth-required": ([_gate()], []),
    "conformance-approval-refine": ([_gate(actions=_ALL_ACTIONS)], []),
    "conformance-approval-edit-accept": ([_gate(actions=_ALL_ACTIONS)], []),
    "conformance-conversation-lifecycle": ([_TALK], []),
    "conformance-conversation-vs-clarification": ([_TALK], []),
    "conformance-conversation-replay": ([_TALK], []),
}


def fixtures() -> list[Workflow]:
    """The fixture workflows."""
    return [
        Workflow.model_validate({"workflowId": name, "nodes": nodes, "edges": edges})
        for name, (nodes, edges) in _FIXTURES.items()
    ]


def check_harmless(settings: Settings) -> None:
    """Refuse to seed a gateway that looks like production. Raises `ValueError` with the reason."""
    looks = {
        "http.public_url": bool(settings.http.public_url),
        "slack.bot_token": settings.slack.bot_token is not None,
        "slack.client_id": bool(settings.slack.client_id),
        "email.smtp_url": settings.email.smtp_url is not None,
        "hooks": bool(settings.hooks),
        "api_keys": bool(settings.api_keys),
        "http.host": settings.http.host not in ("127.0.0.1", "::1", "localhost"),
    }
    found = [name for name, set_ in looks.items() if set_]
    if found:
        raise ValueError(
            "SAYSO_CONFORMANCE_SEED turns on test seams and refuses to run beside a production "
            f"configuration: unset {', '.join(found)}, or unset SAYSO_CONFORMANCE_SEED."
        )
