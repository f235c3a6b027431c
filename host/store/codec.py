"""State to bytes and back, the same for every store.

A row's immutable part (what was asked) and its changing part (votes, outcome) are separate blobs, so that
a resolve rewrites a few hundred bytes whatever the size of the payload.

While replicas are upgraded one after the other, older ones read what newer ones write. So a member that came
after the first schema is written only where it says something, and a row with a member that this program
does not know is refused (`StoreUnavailable`: another replica can), never rewritten without it.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from operator import attrgetter
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
from host.store.records import StoredEvent, StoreUnavailable
from host.store.shelf import ShelvedEvent

_FIRST: Final[dict[type, str]] = {
    Run: "run_id workflow_id status version created_at owner open error inputs configurable tags metadata "
    "outputs nodes replay_of root",
    OpenWait: "interrupt_id node_id kind",
    NodeState: "node_id status visits until",
    Interrupt: "interrupt_id run_id node_id key kind payload requested_at requested_by deadline notify "
    "match_key self_approval trace status version votes questions outcome",
    Vote: "principal name action at",
    Question: "principal name text at",
    Outcome: "value action decision reason by name via at",
    Conversation: "conversation_id run_id title open turns notify",
}
"""The members that every version knows. Nothing is ever added here."""


def later_members(kind: type) -> dict[str, Any]:
    """What came after the first schema, with what its absence means. Raises `TypeError` for one that has no
    default: no older row could be read."""
    known, found = _FIRST[kind].split(), {}
    for one in fields(kind):
        if one.name not in known:
            if one.default is MISSING and one.default_factory is MISSING:
                raise TypeError(f"{kind.__name__}.{one.name} needs a default")
            made = one.default_factory
            found[one.name] = one.default if made is MISSING else made()
    return found


_LATER: Final = {kind: later_members(kind) for kind in _FIRST}
_NAMES: Final = {kind: _FIRST[kind].split() for kind in _FIRST}
_VALUES: Final = {kind: attrgetter(*names) for kind, names in _NAMES.items()}


def _plain(found: Any) -> Any:
    """One of ours, without what says nothing."""
    kind = type(found)
    later = _LATER[kind]
    if not later:
        return found  # as it is, which is faster
    members = dict(zip(_NAMES[kind], _VALUES[kind](found), strict=True))
    for name, default in later.items():
        value = getattr(found, name)
        if value != default:
            members[name] = value
    return members


def _plains(found: tuple[Any, ...]) -> Any:
    return found if not found or not _LATER[type(found[0])] else [_plain(one) for one in found]


def _newer(what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{what} was written by a newer Sayso, and another replica can read it: upgrade this one too."
    )


_STATIC = (
    "payload",
    "requested_at",
    "requested_by",
    "notify",
    "fallback",
    "self_approval",
    "replies",
    "match_key",
    "trace",
)


def dump_run(run: Run) -> bytes:
    """The blob of a run's head."""
    members = _plain(run)
    if members is not run:
        members["open"], members["nodes"] = _plains(run.open), _plains(run.nodes)
    return orjson.dumps(members)


def load_run(blob: bytes) -> Run:
    """Raises `StoreUnavailable` for what a newer Sayso wrote, as the others do."""
    raw = orjson.loads(blob)
    try:
        raw["open"] = tuple([OpenWait(**w) for w in raw["open"]])
        raw["tags"] = tuple(raw["tags"])
        raw["nodes"] = tuple([NodeState(**n) for n in raw["nodes"]])
        return Run(**raw)
    except TypeError:
        raise _newer("A run") from None


def dump_asked(interrupt: Interrupt) -> bytes:
    """What was asked; never changes."""
    members = {name: getattr(interrupt, name) for name in _STATIC}
    for name, default in _LATER[Interrupt].items():
        if name in members and members[name] == default:
            del members[name]
    return orjson.dumps(members)


def dump_progress(interrupt: Interrupt) -> bytes:
    """Votes, questions and outcome."""
    outcome = interrupt.outcome
    return orjson.dumps(
        {
            "votes": _plains(interrupt.votes),
            "questions": _plains(interrupt.questions),
            "outcome": outcome and _plain(outcome),
        }
    )


def load_interrupt(row: Any) -> Interrupt:
    """From (interrupt_id, run_id, node_id, key, kind, status, version, deadline, asked, progress)."""
    asked = orjson.loads(row[8])
    progress = orjson.loads(row[9])
    outcome = progress["outcome"]
    asked["notify"] = tuple(asked["notify"])
    if "fallback" in asked:
        asked["fallback"] = tuple(asked["fallback"])
    try:
        return Interrupt(
            interrupt_id=row[0],
            run_id=row[1],
            node_id=row[2],
            key=row[3],
            kind=row[4],
            status=row[5],
            version=row[6],
            deadline=row[7],
            votes=tuple([_vote(v) for v in progress["votes"]]),
            questions=tuple([Question(**q) for q in progress["questions"]]),
            outcome=Outcome(**outcome) if outcome else None,
            **asked,
        )
    except TypeError:
        raise _newer("An interrupt") from None


def _vote(members: dict[str, Any]) -> Vote:
    if "names" in members:
        members["names"] = tuple(members["names"])
    return Vote(**members)


def dump_events(events: tuple[NewEvent, ...]) -> bytes:
    """One commit's events: `[[type, payload, node_id, record], …]`."""
    return orjson.dumps([(e.type, e.payload, e.node_id, e.record) for e in events])


def load_events(run_id: str, first: int, at: int, blob: bytes) -> list[StoredEvent]:
    return [
        StoredEvent(run_id, first + i, at, kind, payload, node_id, record)
        for i, (kind, payload, node_id, record) in enumerate(orjson.loads(blob))
    ]


def dump_conversation(conversation: Conversation) -> bytes:
    return orjson.dumps(_plain(conversation))


def load_conversation(blob: bytes) -> Conversation:
    raw = orjson.loads(blob)
    raw["notify"] = tuple(raw["notify"])
    try:
        return Conversation(**raw)
    except TypeError:
        raise _newer("A conversation") from None


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
