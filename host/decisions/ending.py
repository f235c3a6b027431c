"""The events by which an interrupt ends: resolved, expired, cancelled. One shape for all rules.

`record.ends` is what the fold reads; the payload is what consumers read (OpenWOP: event payloads).
"""

from __future__ import annotations

from typing import Any

from host.decisions import capture
from host.decisions.copies import replace
from host.decisions.state import Interrupt, NewEvent, Outcome, iso
from schemas.errors import Refusal

_ALIAS = {
    "granted": "approval.granted",
    "rejected": "approval.rejected",
    "overridden": "approval.overridden",
    "refined": "approval.received",
}


def resolved_events(
    interrupt: Interrupt,
    outcome: Outcome,
    *,
    decision: str = "",
    reason: str = "",
    eligible: str = "",
    ends: str = "resolved",
    aliases: bool = True,
    resumes: bool = True,
    captured: bool = True,
) -> list[NewEvent]:
    """`interrupt.resolved`, its legacy alias, and `node.resumed`.

    An object as value is stamped with `decidedAt`, and with `decidedBy` when the caller gave none: every
    resume of an approval carries them (specification, section 'Approval').
    """
    value = outcome.value
    if interrupt.kind == "approval" and isinstance(value, dict):
        value = {"decidedBy": outcome.by, **value, "decidedAt": iso(outcome.at)}
        if not value["decidedBy"]:
            del value["decidedBy"]
    outcome = replace(outcome, value=value)
    payload: dict[str, Any] = {
        "nodeId": interrupt.node_id,
        "interruptId": interrupt.interrupt_id,
        "kind": interrupt.kind,
        "resumeValue": value,
    }
    if outcome.action:
        payload["action"] = outcome.action
    if decision in ("granted", "rejected", "overridden"):
        payload["decision"] = decision
    if reason:
        payload["reason"] = reason
    if isinstance(value, dict):
        for member in ("refineFeedback", "editedArtifactData"):
            if interrupt.kind == "approval" and member in value:
                payload[member] = value[member]
    record = {
        "interruptId": interrupt.interrupt_id,
        "ends": ends,
        "action": outcome.action,
        "decision": decision,
        "reason": reason,
        "by": outcome.by,
        "name": outcome.name,
        "via": outcome.via,
    }
    if eligible:
        record["eligible"] = eligible
    if not captured:
        record["value"] = value
        payload = capture.unsaid(payload)
    who = {"by": outcome.by, "via": outcome.via}
    events = [NewEvent("interrupt.resolved", payload, interrupt.node_id, record)]
    if aliases and interrupt.kind == "approval" and decision in _ALIAS:
        events.append(NewEvent(_ALIAS[decision], payload, interrupt.node_id, who))
    if aliases and interrupt.kind == "clarification":
        events.append(NewEvent("clarification.resolved", payload, interrupt.node_id, who))
    if resumes:
        resumed = {"nodeId": interrupt.node_id, "interruptId": interrupt.interrupt_id}
        events.append(NewEvent("node.resumed", resumed, interrupt.node_id))
    return events


def cancelled_events(interrupt: Interrupt, reason: str, by: str, name: str) -> list[NewEvent]:
    """`node.cancelled`, which takes back the question."""
    payload: dict[str, Any] = {"nodeId": interrupt.node_id}
    if reason:
        payload["reason"] = reason
    record = {
        "interruptId": interrupt.interrupt_id,
        "ends": "cancelled",
        "reason": reason,
        "by": by,
        "name": name,
    }
    return [NewEvent("node.cancelled", payload, interrupt.node_id, record)]


def expired_events(interrupt: Interrupt, now: int, aliases: bool = True) -> list[NewEvent]:
    """What a passed deadline does. Never a grant, whatever `onTimeout` says (OpenWOP: approval timeout).

    An approval is resolved as rejected with action `timeout`; every other kind fails its node, because
    nobody may invent an answer.
    """
    if interrupt.kind == "approval":
        value = {"action": "timeout", "decidedAt": iso(now)}
        outcome = Outcome(value=value, action="timeout", at=now)
        return resolved_events(
            interrupt,
            outcome,
            decision="rejected",
            reason="timeout",
            ends="expired",
            aliases=aliases,
        )
    record = {"interruptId": interrupt.interrupt_id, "ends": "expired", "reason": "timeout"}
    payload = {"nodeId": interrupt.node_id, "error": timed_out()}
    return [NewEvent("node.failed", payload, interrupt.node_id, record)]


def timed_out() -> dict[str, Any]:
    """The error of a node whose question nobody answered in time."""
    return {
        "code": "run_timeout",
        "message": "Nobody answered before the deadline.",
        "retryable": False,
    }


def already_resolved(interrupt: Interrupt) -> Refusal:
    """409: the one answer has been given, or can't be given any more."""
    outcome = interrupt.outcome
    word = {"resolved": "answered", "expired": "past its deadline", "cancelled": "cancelled"}
    by = (
        f" by {outcome.name}" if outcome and outcome.name and interrupt.status == "resolved" else ""
    )
    return Refusal(
        "interrupt_already_resolved", f"This request is already {word[interrupt.status]}{by}."
    )
