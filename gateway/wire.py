"""State as it goes over the wire: snapshots, events, our own interrupt records."""

from __future__ import annotations

from typing import Any, Final

from gateway.resolvers import resolver
from host.decisions.state import Interrupt, Run, iso
from host.store.port import MessageStatus
from host.store.records import StoredEvent
from schemas.event_names import RESOLVED_TYPES
from schemas.ids import path_segment
from schemas.versions import ProtocolVersion, is_wide

_SEED_RESOLVED: Final = frozenset({"nodeId", "interruptId", "kind", "resumeValue"})
_OF_ACTION: Final = {"refineFeedback": "refine", "editedArtifactData": "edit-accept"}


def event_doc(event: StoredEvent, version: ProtocolVersion) -> dict[str, Any]:
    """A RunEventDoc, as wide as the protocol version. A function of the event alone, so that stream,
    poll and any delivery show the same bytes."""
    payload = event.payload
    if event.type in RESOLVED_TYPES:
        payload = _wide(event) if is_wide(version) else _seed(payload)
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


def _seed(payload: dict[str, Any]) -> dict[str, Any]:
    """The four members that `interrupt.resolved` has at 2.1."""
    return {k: v for k, v in payload.items() if k in _SEED_RESOLVED}


def _wide(event: StoredEvent) -> dict[str, Any]:
    """All members: what belongs to another action than the decided one is left in `resumeValue`."""
    payload = {
        k: v
        for k, v in event.payload.items()
        if k not in _OF_ACTION or event.payload.get("action") == _OF_ACTION[k]
    }
    by = resolver(event)
    if by is not None:
        payload["resolvedBy"] = by
    return payload


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


def interrupt_detail(
    interrupt: Interrupt, messages: list[MessageStatus], notes: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
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
    if notes:
        body["notes"] = [{**note, "at": iso(note["at"])} for note in notes]
    return body
