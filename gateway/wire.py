"""State as it goes over the wire: snapshots, events, our own interrupt records."""

from __future__ import annotations

from typing import Any, Final

from host.decisions.state import Interrupt, Run, iso
from host.store.port import MessageStatus, StoredEvent
from schemas.ids import path_segment

_SEED_RESOLVED: Final = frozenset({"nodeId", "interruptId", "kind", "resumeValue"})
_RESOLVED_TYPES: Final = frozenset(
    {
        "interrupt.resolved",
        "approval.received",
        "approval.granted",
        "approval.rejected",
        "approval.overridden",
        "clarification.resolved",
    }
)


def event_doc(event: StoredEvent) -> dict[str, Any]:
    """A RunEventDoc. `interrupt.resolved` has the four members of protocol 2.1 and no more."""
    payload = event.payload
    if event.type in _RESOLVED_TYPES:
        payload = {k: v for k, v in payload.items() if k in _SEED_RESOLVED}
    doc: dict[str, Any] = {
        "eventId": event.event_id,
        "runId": event.run_id,
        "type": event.type,
        "payload": payload,
        "timestamp": iso(event.at),
        "sequence": event.sequence,
        "schemaVersion": 1,
    }
    if event.node_id is not None:
        doc["nodeId"] = event.node_id
    return doc


def snapshot(run: Run) -> dict[str, Any]:
    """A RunSnapshot: closed, with no interrupt and no token in it."""
    body: dict[str, Any] = {
        "runId": run.run_id,
        "workflowId": run.workflow_id,
        "status": run.status,
        "owner": run.owner,
        "eventLogSchemaVersion": 3,
    }
    if run.current_node is not None:
        body["currentNodeId"] = run.current_node
    for name, value in (
        ("error", run.error),
        ("configurable", run.configurable),
        ("tags", list(run.tags) or None),
        ("metadata", run.metadata),
    ):
        if value is not None:
            body[name] = value
    return body


def created(run: Run) -> dict[str, Any]:
    """Answer of `POST /runs`. Links are relative: they stay on the request's origin."""
    segment = path_segment(run.run_id)
    return {
        "runId": run.run_id,
        "status": run.status,
        "eventsUrl": f"/runs/{segment}/events",
        "statusUrl": f"/runs/{segment}",
    }


def interrupt_record(interrupt: Interrupt) -> dict[str, Any]:
    """Ours: `{interruptId, runId, nodeId, key, kind, status, expiresAt?, resumeValue?}`."""
    body: dict[str, Any] = {
        "interruptId": interrupt.interrupt_id,
        "runId": interrupt.run_id,
        "nodeId": interrupt.node_id,
        "key": interrupt.key,
        "kind": interrupt.kind,
        "status": interrupt.status,
    }
    if interrupt.deadline is not None:
        body["expiresAt"] = iso(interrupt.deadline)
    if interrupt.status == "resolved" and interrupt.outcome is not None:
        body["resumeValue"] = interrupt.outcome.value
    return body


def interrupt_detail(interrupt: Interrupt, messages: list[MessageStatus]) -> dict[str, Any]:
    """The record, and what an operator asks next: payload, votes, who decided, where it was shown."""
    body = interrupt_record(interrupt)
    body["payload"] = interrupt.payload
    body["requestedAt"] = iso(interrupt.requested_at)
    body["requestedBy"] = interrupt.requested_by
    if interrupt.votes:
        body["votes"] = [
            {"principal": v.principal, "name": v.name, "action": v.action, "at": iso(v.at)}
            for v in interrupt.votes
        ]
    if interrupt.questions:
        body["questions"] = [
            {"principal": q.principal, "name": q.name, "text": q.text, "at": iso(q.at)}
            for q in interrupt.questions
        ]
    outcome = interrupt.outcome
    if outcome is not None:
        ended = {
            "at": iso(outcome.at),
            "by": outcome.by,
            "name": outcome.name,
            "via": outcome.via,
            "action": outcome.action,
            "decision": outcome.decision,
            "reason": outcome.reason,
        }
        body["outcome"] = {k: v for k, v in ended.items() if v}
    body["messages"] = [
        {
            "channel": m.channel,
            "address": m.address,
            "state": m.state,
            "attempts": m.attempts,
            **({"error": m.error} if m.error else {}),
        }
        for m in messages
    ]
    return body
