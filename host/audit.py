"""The audit trail: who asked, voted, decided, expired and cancelled, as a chain of hashes per tenant.

Pure: facts are made from events of the log, and each entry's hash covers the entry before it, so an entry
that was changed, taken out, put in or moved breaks the chain from there on. Each entry also carries the
digest of the event that it was made from: payload and record too, so a changed answer in the log is found
although the trail holds no content. What a chain can't show by itself, that its end was cut off, shows
against the log, and against an end that was written down elsewhere. See docs/decisions/audit.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final

import orjson

from host.decisions.copies import quick, replace
from host.retention import REMOVED
from host.store.records import StoredEvent
from schemas.ids import tenant_of

GENESIS: Final = "0" * 64
"""What the first entry of a chain names as the one before it."""


@quick
@dataclass(frozen=True, slots=True)
class Entry:
    """One fact, sealed. `number` counts from 1 within the tenant; `at` is ms.

    `what`: requested, voted, questioned, decided, expired, cancelled, run-cancelled, replayed, or
    removed (the log of a run, by retention). `by` is a
    principal id ("" for the host itself), `via` the channel, `because` why the rules let them
    ("group:payments"), or "copied:" and the run that a fork took the event from. `event` is the SHA-256 of
    the whole event, `before` the hash of the entry before.
    """

    tenant: str
    number: int
    at: int
    what: str
    run_id: str
    sequence: int
    interrupt_id: str = ""
    by: str = ""
    via: str = ""
    because: str = ""
    action: str = ""
    decision: str = ""
    event: str = ""
    before: str = GENESIS
    hash: str = ""


_SEALED: Final = tuple(field.name for field in fields(Entry) if field.name != "hash")
_values: Final = attrgetter(*_SEALED)


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong at one place of a chain."""

    number: int
    sentence: str


def seal(entry: Entry) -> str:
    """The hash of an entry: SHA-256 over its canonical JSON, everything but the hash itself."""
    return _seal(dict(zip(_SEALED, _values(entry), strict=True)))


def _seal(body: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _sealed(fact: Entry, end: Entry | None) -> Entry:
    """The entry that this fact is, after `end` of its tenant's chain."""
    body = dict(zip(_SEALED, _values(fact), strict=True))
    body["number"], body["before"] = (end.number + 1, end.hash) if end else (1, GENESIS)
    return Entry(**body, hash=_seal(body))


def digest_of(event: StoredEvent) -> str:
    """SHA-256 of all that the log holds of an event."""
    body = {
        "runId": event.run_id,
        "sequence": event.sequence,
        "at": event.at,
        "type": event.type,
        "nodeId": event.node_id,
        "payload": event.payload,
        "record": event.record,
    }
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def extend(ends: dict[str, Entry | None], events: Iterable[StoredEvent]) -> list[Entry]:
    """The entries that these events add. `ends` holds the end of each tenant's chain and is moved on."""
    found = []
    for event in events:
        fact = fact_of(event)
        if fact is None:
            continue
        entry = ends[fact.tenant] = _sealed(fact, ends.get(fact.tenant))
        found.append(entry)
    return found


def fact_of(event: StoredEvent) -> Entry | None:
    """The unsealed entry of an event, or None when the trail has nothing to say of it."""
    record = event.record
    if record is None and event.type not in _BY_TYPE:
        return None
    record = record or {}
    what = _what(event, record)
    if what is None:
        return None
    payload = event.payload
    return Entry(
        tenant=tenant_of(event.run_id),
        number=0,
        at=event.at,
        what=what,
        run_id=event.run_id,
        sequence=event.sequence,
        interrupt_id=record.get("opens") or record.get("interruptId", ""),
        by=record.get("by") or payload.get("cancelledBy", ""),
        via=record.get("via", ""),
        because=_because(record),
        action=str(record.get("action") or payload.get("action", "")),
        decision=record.get("decision", ""),
        event=digest_of(event),
    )


def _because(record: dict[str, Any]) -> str:
    """Why the rules let them; of what a fork took over from another run, which run that was."""
    copied = record.get("copied")
    return f"copied:{copied}" if copied else str(record.get("eligible", ""))


def removed(tenant: str, run_id: str, version: int, at: int, end: Entry | None) -> Entry:
    """The sealed entry that says that a run's log was removed, after `end` of its tenant's chain. `version`:
    how many events there were; `at` in ms."""
    return _sealed(Entry(tenant, 0, at, REMOVED, run_id, version, via="retention"), end)


_BY_TYPE: Final = {
    "interrupt.requested": "requested",
    "sayso.interrupt-replayed": "replayed",
    "sayso.vote-recorded": "voted",
    "sayso.question-asked": "questioned",
    "run.cancelled": "run-cancelled",
}
_BY_END: Final = {"resolved": "decided", "expired": "expired", "cancelled": "cancelled"}


def _what(event: StoredEvent, record: dict[str, Any]) -> str | None:
    named = _BY_TYPE.get(event.type)
    if named is not None:
        return named
    return _BY_END.get(record.get("ends", "")) if "interruptId" in record else None


def verify(tenant: str, entries: Iterable[Entry], start: Entry | None = None) -> Iterator[Flaw]:
    """What is wrong with a chain by itself: a changed, missing, added or reordered entry.

    `entries` are in the order in which they are kept; `start` is the entry before the first of them.
    """
    number, before = (start.number, start.hash) if start else (0, GENESIS)
    for entry in entries:
        number += 1
        if entry.tenant != tenant:
            yield Flaw(entry.number, f"entry {entry.number} is of another tenant")
        if entry.number != number:
            yield Flaw(number, f"entry {number} is missing or out of order: {entry.number} follows")
            number = entry.number
        if entry.before != before:
            yield Flaw(number, f"entry {number} does not follow the one before it")
        if seal(entry) != entry.hash:
            yield Flaw(number, f"entry {number} was changed")
        before = entry.hash


def compare(entries: Iterable[Entry], facts_of_log: Iterable[Entry]) -> Iterator[Flaw]:
    """What differs between a tenant's chain and the facts (`fact_of`) of the log it was made from. A run that
    the chain itself says was removed needs none."""
    entries = list(entries)
    gone = {entry.run_id for entry in entries if entry.what == REMOVED}
    facts = {(fact.run_id, fact.sequence): fact for fact in facts_of_log}
    gone -= {run_id for run_id, _ in facts}  # said, and not done yet
    last = 0
    for entry in entries:
        last = entry.number
        if entry.run_id in gone or entry.what == REMOVED:
            continue
        fact = facts.pop((entry.run_id, entry.sequence), None)
        if fact is None:
            yield Flaw(
                last, f"entry {last} has no event in the log: {entry.run_id} {entry.sequence}"
            )
        elif replace(fact, number=last, before=entry.before, hash=entry.hash) != entry:
            yield Flaw(
                last, f"entry {last} differs from its event: {entry.run_id} {entry.sequence}"
            )
    for run_id, sequence in facts:
        yield Flaw(last + 1, f"the event {run_id} {sequence} has no entry")
