"""decide: a run asks -> events, or a refusal. Also how a run starts, ends and is cancelled.

conversation.start and conversation.close ask nobody: they are recorded and resolved by the host at once
(OpenWOP: conversations). Everything else suspends its node.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from host.decisions import capture
from host.decisions.ending import cancelled_events, resolved_events
from host.decisions.evolve import evolve
from host.decisions.state import Interrupt, NewEvent, Outcome, Policy, Principal, Run, State
from schemas.errors import Refusal
from schemas.runs import TERMINAL

_ALIAS = {"approval": "approval.requested", "clarification": "clarification.requested"}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for one interrupt. `payload` has been checked; `interrupt_id` was minted by the host."""

    interrupt_id: str
    node_id: str
    payload: dict[str, Any]
    notify: tuple[str, ...]
    principal: Principal
    self_approval: bool | None = None
    replies: str = ""
    fallback: tuple[str, ...] = ()


def request(state: State, ask: Ask, now: int, policy: Policy) -> list[NewEvent]:
    """The events of a new interrupt. The caller has made sure that its key is new to the run.

    Raises `Refusal`: `run_terminal`; `run_state_conflict` when the node waits already;
    `validation_error` for a conversation that is not open, or whose id is taken.
    """
    run = state.run
    if run.status in TERMINAL:
        raise Refusal("run_terminal", f"This run is {run.status}; it can't ask any more.")
    if any(w.node_id == ask.node_id for w in run.open):
        raise Refusal(
            "run_state_conflict",
            f"Node {ask.node_id} waits already: one node asks one thing at a time. Use another "
            "nodeId, or the same key to pick up the open one.",
            runStatus=run.status,
        )
    payload, kind = ask.payload, ask.payload["kind"]
    _check_conversation(state, payload)
    record = _record(ask, now)
    if not policy.capture_requests:
        record["asked"], payload = payload, capture.told(payload)
    requested = NewEvent("interrupt.requested", payload, ask.node_id, record)
    events = [requested]
    if kind in ("conversation.start", "conversation.close"):
        return events + _by_the_host(state, requested, now)
    if policy.aliases and kind in _ALIAS:
        events.append(NewEvent(_ALIAS[kind], payload, ask.node_id))
    suspended = {
        "nodeId": ask.node_id,
        "interruptId": ask.interrupt_id,
        "kind": kind,
        "key": payload["key"],
    }
    if kind == "low-confidence":
        suspended["reason"] = "low-confidence"
    return [*events, NewEvent("node.suspended", suspended, ask.node_id)]


def _record(ask: Ask, now: int) -> dict[str, Any]:
    record: dict[str, Any] = {"opens": ask.interrupt_id, "by": ask.principal.id}
    if ask.payload.get("timeoutMs"):
        record["deadline"] = now + ask.payload["timeoutMs"]
    if ask.notify:
        record["notify"] = list(ask.notify)
    if ask.fallback:
        record["fallback"] = list(ask.fallback)
    if ask.self_approval is not None:
        record["selfApproval"] = ask.self_approval
    if ask.replies:
        record["replies"] = ask.replies
    if ask.payload["kind"] == "external-event":
        data = ask.payload["data"]
        record["matchKey"] = match_key(ask.principal.tenant, data["eventType"], data["correlation"])
    return record


def match_key(tenant: str, event_type: str, correlation: dict[str, Any]) -> str:
    """What an event and a wait must have in common: a digest of tenant, type and correlation.

    Scalars are compared as trimmed text, so that 42 and "42" are one order number; the case counts.
    """
    text = json.dumps(
        [tenant, event_type, _normal(correlation)], sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _normal(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_normal(v) for v in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()


def _check_conversation(state: State, payload: dict[str, Any]) -> None:
    kind = payload["kind"]
    if not kind.startswith("conversation."):
        return
    name = payload["data"]["conversationId"]
    conversation = state.conversation(name)
    if kind == "conversation.start":
        if conversation is not None:
            raise Refusal(
                "validation_error", f"The conversationId {name!r} is taken in this tenant."
            )
        return
    if conversation is None or conversation.run_id != state.run.run_id:
        raise Refusal(
            "validation_error",
            f"No conversation {name!r} in this run: conversation.start comes first.",
        )
    if not conversation.open:
        raise Refusal("validation_error", f"The conversation {name!r} is closed.")
    turn = payload["data"].get("turnIndex")
    if turn is not None and turn <= conversation.turns:
        raise Refusal(
            "validation_error", f"turnIndex must rise: {conversation.turns} has been used already."
        )


def _by_the_host(state: State, requested: NewEvent, now: int) -> list[NewEvent]:
    data = requested.payload["data"]
    conversation_id = data["conversationId"]
    if requested.payload["kind"] == "conversation.start":
        payload: dict[str, Any] = {"conversationId": conversation_id}
        if data.get("initialPrompt"):
            payload["initialTurn"] = {
                "messageId": f"{conversation_id}:0:system"[:256],
                "from": "system",
                "content": data["initialPrompt"],
                "ts": now,
                "role": "system",
                "turnIndex": 0,
            }
        asked = (requested.record or {}).get("asked", requested.payload)
        record = {
            "title": asked["data"].get("title", ""),
            "notify": (requested.record or {}).get("notify", []),
        }
        happened = NewEvent("conversation.opened", payload, requested.node_id, record)
    else:
        conversation = state.conversation(conversation_id)
        turns = conversation.turns if conversation else 0
        closed: dict[str, Any] = {"conversationId": conversation_id, "turnCount": turns}
        if data.get("reason"):
            closed["reason"] = data["reason"]
        happened = NewEvent("conversation.closed", closed, requested.node_id)
    asked = evolve(state, [requested], now).interrupt
    return [happened, *resolved_events(asked, Outcome(at=now, via="host"), resumes=False)]


def start_run(run: Run, inputs: dict[str, Any] | None) -> list[NewEvent]:
    """`run.started`."""
    payload: dict[str, Any] = {"workflowId": run.workflow_id, "owner": run.owner}
    if inputs is not None:
        payload["inputs"] = inputs
    if run.tags:
        payload["tags"] = list(run.tags)
    if run.metadata is not None:
        payload["metadata"] = run.metadata
    return [NewEvent("run.started", payload)]


def complete_run(state: State, outputs: dict[str, Any]) -> list[NewEvent]:
    """`run.completed`. Open interrupts are taken back first. Raises `Refusal` (`run_terminal`)."""
    _check_alive(state.run)
    taken = _take_back(state.interrupts, "run-completed", "", "")
    return [*taken, NewEvent("run.completed", {"outputs": outputs})]


def cancel_run(
    state: State, reason: str, principal: Principal, *, parent: str = ""
) -> list[NewEvent]:
    """`node.cancelled` for each open interrupt, then `run.cancelled`. Raises `Refusal`
    (`run_terminal`). `parent` is the cancelled run that called this one, where that is the reason."""
    _check_alive(state.run)
    payload: dict[str, Any] = {"cancelledBy": principal.id}
    if parent:
        reason = "parent-cancelled"
        payload["parentRunId"] = parent
    if reason:
        payload["reason"] = reason
    taken = _take_back(
        state.interrupts, reason or "run-cancelled", principal.id, principal.name or principal.id
    )
    return [*taken, NewEvent("run.cancelled", payload)]


def _check_alive(run: Run) -> None:
    if run.status in TERMINAL:
        raise Refusal("run_terminal", f"This run is {run.status} already.")


def _take_back(
    interrupts: tuple[Interrupt, ...], reason: str, by: str, name: str
) -> list[NewEvent]:
    return [
        event
        for interrupt in interrupts
        if interrupt.status == "open"
        for event in cancelled_events(interrupt, reason, by, name)
    ]
