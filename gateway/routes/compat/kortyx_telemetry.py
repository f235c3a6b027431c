"""The lifecycle of questions as kortyx' telemetry tells it. Pure.

Structure, ids and times are always there; what was asked needs `requests` of the capture settings (their
captureContent.output), what was answered needs `answers` (their captureContent.input). Never a token, never
an option's value. Expiry is not an event of theirs: a reader derives it, and `standing` is that reading.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway.routes.compat.kortyx_prompts import prompt_of, request_id_of
from host.decisions.contracts import interaction_mode
from host.decisions.state import Interrupt, iso

Standing = Literal["pending", "resolved", "expired", "cancelled"]
_EVENTS: Final = uuid.UUID("0b9ad7a4-6d0e-5d55-8f2a-1d9b0c1f7e52")


@dataclass(frozen=True, slots=True)
class Capture:
    """Which direction of content may be told."""

    requests: bool = True
    answers: bool = True


def lifecycle(
    interrupt: Interrupt, workflow: str, session_id: str, capture: Capture
) -> list[dict[str, Any]]:
    """`interrupt.created`, and how it ended if it has; [] for a pause that no person answers. The same
    interrupt always has the same event ids, so that telling them twice is harmless."""
    asked = prompt_of(interrupt)
    if asked is None:
        return []
    events = [
        _event(interrupt, workflow, session_id, "created", _created(interrupt, asked, capture))
    ]
    outcome = interrupt.outcome
    if interrupt.status == "resolved" and outcome is not None:
        payload = {
            "interruptId": request_id_of(interrupt.interrupt_id),
            "resolvedAt": iso(outcome.at),
            "resumeOutcome": "resumed",
            "responseCaptured": capture.answers,
        }
        if capture.answers:
            payload["response"] = outcome.value
        events.append(_event(interrupt, workflow, session_id, "resolved", payload))
    if interrupt.status == "cancelled" and outcome is not None:
        payload = {
            "interruptId": request_id_of(interrupt.interrupt_id),
            "reason": outcome.reason or "cancelled",
        }
        events.append(_event(interrupt, workflow, session_id, "cancelled", payload))
    return events


def _created(interrupt: Interrupt, asked: dict[str, Any], capture: Capture) -> dict[str, Any]:
    name = request_id_of(interrupt.interrupt_id)
    payload: dict[str, Any] = {
        "interruptId": name,
        "requestId": name,
        "kind": asked["kind"],
        "interactionMode": interaction_mode(asked),
        "optionCount": len(asked["options"]),
        "nodeId": interrupt.node_id,
    }
    for member in ("schemaId", "schemaVersion", "contract"):
        if member in asked:
            payload[member] = asked[member]
    if interrupt.deadline is not None:
        payload["expiresAt"] = iso(interrupt.deadline)
    if capture.requests:
        for member in ("question", "options", "request"):
            if member in asked:
                payload[member] = asked[member]
    return payload


def _event(
    interrupt: Interrupt, workflow: str, session_id: str, what: str, payload: dict[str, Any]
) -> dict[str, Any]:
    at = interrupt.requested_at
    if what != "created" and interrupt.outcome is not None:
        at = interrupt.outcome.at
    correlation = {
        "runId": interrupt.run_id,
        "workflowId": workflow,
        "nodeId": interrupt.node_id,
    }
    if session_id:
        correlation["sessionId"] = session_id
    return {
        "schemaVersion": 1,
        "eventId": str(uuid.uuid5(_EVENTS, f"{interrupt.interrupt_id}#{what}")),
        "occurredAt": iso(at),
        "environment": "production",
        "service": {"name": "sayso"},
        "correlation": correlation,
        "type": f"interrupt.{what}",
        "payload": payload,
    }


def standing(interrupt: Interrupt, now: int) -> Standing:
    """How a reader takes a question at `now` (ms). How it is stored to have ended goes before any clock."""
    if interrupt.status == "open":
        return "pending" if interrupt.is_open(now) else "expired"
    return interrupt.status


def wait_ms(interrupt: Interrupt) -> int | None:
    """How long a question waited for its answer; None while it has none."""
    outcome = interrupt.outcome
    if interrupt.status != "resolved" or outcome is None:
        return None
    return outcome.at - interrupt.requested_at
