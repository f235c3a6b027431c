"""The event envelope, the registry of event types, and the check that every emitted event passes.

The envelope and the names are the protocol's (OpenWOP: event envelope). `check_event` is strict: it is what
this host holds itself to, not what a consumer does. A consumer must tolerate types that it doesn't know.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from schemas import event_payloads as payloads
from schemas import interrupt_events as interrupts
from schemas.event_names import REQUESTED_TYPES, RESOLVED_TYPES, TIMESTAMP, TYPE
from schemas.ids import BoundId, EventId, NodeId
from schemas.model import Exact
from schemas.payloads import InterruptPayload, problems
from schemas.session_events import SESSION_EVENTS
from schemas.versions import ProtocolVersion, is_wide


class RunEventDoc(Exact):
    """One event of a run's log. `sequence` is the one ordering: the first event has 0."""

    event_id: EventId
    run_id: BoundId
    type: Annotated[str, StringConstraints(pattern=TYPE)]
    payload: Any
    timestamp: Annotated[
        str,
        StringConstraints(pattern=TIMESTAMP),
        Field(json_schema_extra={"format": "date-time"}),
    ]
    sequence: Annotated[int, Field(ge=0)]
    schema_version: Annotated[int, Field(ge=1)]
    node_id: NodeId | None = None
    engine_version: Annotated[int, Field(ge=0)] | None = None
    causation_id: EventId | None = None


class EventInvalid(ValueError):
    """An event that must not leave the gateway. The text lists what is wrong, never a value."""


_FIXED: Final[dict[str, type[Exact]]] = {
    "run.started": payloads.RunStarted,
    "run.completed": payloads.RunCompleted,
    "run.failed": payloads.RunFailed,
    "run.cancelled": payloads.RunCancelled,
    "run.paused": payloads.RunPaused,
    "run.resumed": payloads.RunPaused,
    "node.started": payloads.NodeStarted,
    "node.completed": payloads.NodeCompleted,
    "node.failed": payloads.NodeFailed,
    "node.suspend-failed": payloads.NodeSuspendFailed,
    "node.resumed": payloads.NodeResumed,
    "node.cancelled": payloads.NodeCancelled,
    "conversation.opened": payloads.ConversationOpened,
    "conversation.exchanged": payloads.ConversationExchanged,
    "conversation.closed": payloads.ConversationClosed,
    "agent.decided": payloads.AgentDecided,
    "sayso.vote-recorded": payloads.VoteRecorded,
    "sayso.question-asked": payloads.QuestionAsked,
    "sayso.interrupt-replayed": payloads.InterruptReplayed,
}


@cache
def registry(version: ProtocolVersion) -> dict[str, TypeAdapter[Any]]:
    """The payload of every type that this host may emit, at a protocol version."""
    wide = is_wide(version)
    resolved = interrupts.InterruptResolvedWide if wide else interrupts.InterruptResolved
    suspended = interrupts.NodeSuspendedWide if wide else interrupts.NodeSuspended
    fixed = _FIXED | SESSION_EVENTS
    found: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(m) for name, m in fixed.items()}
    found |= dict.fromkeys(REQUESTED_TYPES, TypeAdapter(InterruptPayload))
    found |= dict.fromkeys(RESOLVED_TYPES, TypeAdapter(resolved))
    found["node.suspended"] = TypeAdapter(suspended)
    return found


def check_event(doc: Any, version: ProtocolVersion) -> None:
    """Raise `EventInvalid` unless `doc` is an event that this host may emit at `version`."""
    try:
        event = RunEventDoc.model_validate(doc, strict=True)
    except ValidationError as error:
        raise EventInvalid(f"the envelope: {_sentence(error)}") from None
    adapter = registry(version).get(event.type)
    if adapter is None:
        raise EventInvalid(f"the type {event.type!r} is not registered")
    try:
        adapter.validate_python(event.payload, strict=True)
    except ValidationError as error:
        raise EventInvalid(f"{event.type} at {version}: {_sentence(error)}") from None
    _check_node(event)
    _check_alias(event)


def _check_node(event: RunEventDoc) -> None:
    """Events of a node name it in the envelope, and never another one than their payload does."""
    scoped = event.type.partition(".")[0] in ("node", "interrupt", "approval", "clarification")
    named = event.payload.get("nodeId", event.node_id)
    if scoped and (event.node_id is None or named != event.node_id):
        raise EventInvalid(f"{event.type}: the envelope does not name the node of the payload")


def _check_alias(event: RunEventDoc) -> None:
    kind = event.type.partition(".")[0]
    if kind in ("approval", "clarification") and event.payload.get("kind") != kind:
        raise EventInvalid(f"{event.type}: the kind of its payload is not {kind!r}")


def _sentence(error: ValidationError) -> str:
    found = problems(error)
    return "; ".join(f"{'.'.join(map(str, p['path'])) or 'root'}: {p['message']}" for p in found)
