"""State to bytes and back, the same for every store.

A row's immutable part (what was asked) and its changing part (votes, outcome) are separate blobs, so that
a resolve rewrites a few hundred bytes whatever the size of the payload.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from host.decisions.state import (
    Conversation,
    Interrupt,
    NewEvent,
    NodeState,
    OpenWait,
    Outcome,
    Question,
    Run,
    Vote,
)
from host.store.records import StoredEvent
from host.store.shelf import ShelvedEvent

_STATIC = (
    "payload",
    "requested_at",
    "requested_by",
    "notify",
    "self_approval",
    "replies",
    "match_key",
    "trace",
)


def dump_run(run: Run) -> bytes:
    """The blob of a run's head."""
    return orjson.dumps(run)


def load_run(blob: bytes) -> Run:
    raw = orjson.loads(blob)
    raw["open"] = tuple(OpenWait(**w) for w in raw["open"])
    raw["tags"] = tuple(raw["tags"])
    raw["nodes"] = tuple(NodeState(**n) for n in raw["nodes"])
    return Run(**raw)


def dump_asked(interrupt: Interrupt) -> bytes:
    """What was asked; never changes."""
    return orjson.dumps({name: getattr(interrupt, name) for name in _STATIC})


def dump_progress(interrupt: Interrupt) -> bytes:
    """Votes, questions and outcome."""
    return orjson.dumps(
        {
            "votes": interrupt.votes,
            "questions": interrupt.questions,
            "outcome": interrupt.outcome,
        }
    )


def load_interrupt(row: Any) -> Interrupt:
    """From (interrupt_id, run_id, node_id, key, kind, status, version, deadline, asked, progress)."""
    asked = orjson.loads(row[8])
    progress = orjson.loads(row[9])
    outcome = progress["outcome"]
    asked["notify"] = tuple(asked["notify"])
    return Interrupt(
        interrupt_id=row[0],
        run_id=row[1],
        node_id=row[2],
        key=row[3],
        kind=row[4],
        status=row[5],
        version=row[6],
        deadline=row[7],
        votes=tuple(Vote(**v) for v in progress["votes"]),
        questions=tuple(Question(**q) for q in progress["questions"]),
        outcome=Outcome(**outcome) if outcome else None,
        **asked,
    )


def dump_events(events: tuple[NewEvent, ...]) -> bytes:
    """One commit's events: `[[type, payload, node_id, record], …]`."""
    return orjson.dumps([(e.type, e.payload, e.node_id, e.record) for e in events])


def load_events(run_id: str, first: int, at: int, blob: bytes) -> list[StoredEvent]:
    return [
        StoredEvent(run_id, first + i, at, kind, payload, node_id, record)
        for i, (kind, payload, node_id, record) in enumerate(orjson.loads(blob))
    ]


def dump_conversation(conversation: Conversation) -> bytes:
    return orjson.dumps(conversation)


def load_conversation(blob: bytes) -> Conversation:
    raw = orjson.loads(blob)
    raw["notify"] = tuple(raw["notify"])
    return Conversation(**raw)


def ref_key(ref: dict[str, Any]) -> str:
    """The members of a thread's ref that identify it, as text."""
    return orjson.dumps(ref, option=orjson.OPT_SORT_KEYS).decode()


SHELVED: Final = (
    "source, event_id, tenant, event_type, match_key, payload, received_at, state, matched, error, "
    "correlation, expires_at, several, headers, duplicates"
)
"""The columns of the shelf that `load_shelved` reads, in its order."""


def dump_mapping(event: ShelvedEvent) -> dict[str, Any]:
    """What the mapping of an event decides, by column; source, id and tenant first."""
    return {
        "source": event.source,
        "event_id": event.event_id,
        "tenant": event.tenant,
        "event_type": event.event_type,
        "match_key": event.match_key,
        "correlation": orjson.dumps(event.correlation),
        "payload": orjson.dumps(event.payload),
        "expires_at": event.expires_at,
        "several": event.several,
        "headers": orjson.dumps(event.headers),
    }


def load_shelved(row: Any) -> ShelvedEvent:
    """From a row of the columns `SHELVED`."""
    return ShelvedEvent(
        source=row[0],
        event_id=row[1],
        tenant=row[2],
        event_type=row[3],
        match_key=row[4],
        payload=orjson.loads(row[5]),
        received_at=row[6],
        state=row[7],
        matched=tuple(orjson.loads(row[8])),
        error=row[9],
        correlation=orjson.loads(row[10]),
        expires_at=row[11],
        several=row[12],
        headers=orjson.loads(row[13]),
        duplicates=row[14],
    )
