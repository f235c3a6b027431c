"""The audit chain: what it says, and that nothing can be changed, taken out, put in or moved unseen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host import contracts
from host.audit import GENESIS, Entry, compare, extend, fact_of, seal, verify
from host.decisions import request as asking
from host.decisions.ending import cancelled_events, expired_events
from host.decisions.evolve import evolve
from host.decisions.resolve import Answer, resolve
from host.decisions.state import NewEvent, Policy, Principal, Run, State
from host.store.records import StoredEvent

NOW = 1_789_128_000_000
RUN = "acme/run-0123456789abcdef"
ADA = Principal("ada", "acme", names=frozenset({"ada"}), groups=frozenset({"payments"}))
BOB = Principal("bob", "acme", names=frozenset({"bob"}), roles=frozenset({"lead"}))
ROBOT = Principal("robot", "acme", kind="workload", names=frozenset({"robot"}))


def stored(events: list[NewEvent], first: int = 0, run: str = RUN) -> list[StoredEvent]:
    return [
        StoredEvent(run, first + i, NOW + i, e.type, e.payload, e.node_id, e.record)
        for i, e in enumerate(events)
    ]


def story(end: str = "decided") -> list[StoredEvent]:
    """A run with a gate of two approvals, up to its end."""
    data = {
        "artifactId": "a", "artifactType": "t", "title": "Pay", "actions": ["accept", "ask"],
        "requiredApprovals": 2, "approverGroupRefs": ["payments"], "approverRoleRefs": ["lead"],
    }  # fmt: skip
    payload = {"kind": "approval", "key": "k", "data": data}
    run = Run(RUN, "sayso.external", created_at=NOW)
    events = asking.start_run(run, None)
    state = evolve(State(run), events, NOW)
    ask = asking.Ask("acme/interrupt-0123456789", "gate", payload, (), ROBOT)
    more = asking.request(state, ask, NOW, Policy())
    state, events = evolve(state, more, NOW), events + more
    answers = [
        (ADA, {"action": "ask", "question": "Why?"}, "slack"),
        (ADA, {"action": "accept"}, "slack"),
    ]
    if end == "decided":
        answers.append((BOB, {"action": "accept"}, "email"))
    for who, value, via in answers:
        more = resolve(state, Answer(who, value, via), NOW, Policy(), contracts.validate)
        state, events = evolve(state, more, NOW), events + more
    if end == "expired":
        events += expired_events(state.interrupt, NOW)
    if end == "cancelled":
        events += cancelled_events(state.interrupt, "no longer", "robot", "robot")
    if end == "run-cancelled":
        events += asking.cancel_run(state, "stop", ROBOT)
    return stored(events)


def facts(events: list[StoredEvent]) -> list[Entry]:
    return [fact for fact in map(fact_of, events) if fact is not None]


def chain(events: list[StoredEvent]) -> list[Entry]:
    return extend({}, events)


def test_the_trail_tells_who_did_what_why_and_through_what() -> None:
    told = [(e.number, e.what, e.by, e.via, e.because, e.action) for e in chain(story())]
    assert told == [
        (1, "requested", "robot", "", "", ""),
        (2, "questioned", "ada", "slack", "group:payments", ""),
        (3, "voted", "ada", "slack", "group:payments", "accept"),
        (4, "voted", "bob", "email", "role:lead", "accept"),
        (5, "decided", "bob", "email", "role:lead", "accept"),
    ]


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("expired", [("expired", "")]),
        ("cancelled", [("cancelled", "robot")]),
        ("run-cancelled", [("cancelled", "robot"), ("run-cancelled", "robot")]),
    ],
)
def test_every_end_is_told(end: str, last: list[tuple[str, str]]) -> None:
    entries = chain(story(end))
    assert [(e.what, e.by) for e in entries[3:]] == last


def test_no_content_is_in_the_trail() -> None:
    for entry in chain(story()):
        assert "Pay" not in repr(entry)
        assert "Why?" not in repr(entry)


def test_a_whole_chain_has_no_flaw() -> None:
    events = story()
    entries = chain(events)
    assert entries[0].before == GENESIS
    assert list(verify("acme", entries)) == []
    assert list(verify("acme", entries[2:], entries[1])) == []
    assert list(compare(entries, facts(events))) == []


def test_a_chain_goes_on_where_it_ended() -> None:
    events = story()
    ends: dict[str, Entry | None] = {}
    in_parts = extend(ends, events[:3]) + extend(ends, events[3:])
    assert in_parts == chain(events)


def test_each_tenant_has_a_chain_of_its_own() -> None:
    other = [replace(e, run_id="other/run-0123456789abcdef") for e in story()]
    mixed = [event for pair in zip(story(), other, strict=True) for event in pair]
    entries = chain(mixed)
    for tenant in ("acme", "other"):
        own = [e for e in entries if e.tenant == tenant]
        assert [e.number for e in own] == [1, 2, 3, 4, 5]
        assert list(verify(tenant, own)) == []
    assert list(verify("acme", entries))


def test_every_field_is_sealed() -> None:
    entry = chain(story())[2]
    for field in fields(Entry):
        if field.name == "hash":
            continue
        old = getattr(entry, field.name)
        changed = replace(entry, **{field.name: old + 1 if isinstance(old, int) else old + "x"})
        assert seal(changed) != entry.hash, field.name


Spoil = Callable[[list[Entry], int, int], list[Entry]]


def _resealed(entries: list[Entry], at: int, _: int) -> list[Entry]:
    """Changed with its own hash made right: the next one no longer follows."""
    changed = replace(entries[at], by="mallory")
    changed = replace(changed, hash=seal(changed))
    return [*entries[:at], changed, *entries[at + 1 :]]


def _swapped(entries: list[Entry], at: int, to: int) -> list[Entry]:
    found = list(entries)
    found[at], found[to] = found[to], found[at]
    return found


SPOILS: dict[str, Spoil] = {
    "changed": lambda e, i, _: [*e[:i], replace(e[i], by="mallory"), *e[i + 1 :]],
    "resealed": _resealed,
    "missing": lambda e, i, _: [*e[:i], *e[i + 1 :]],
    "doubled": lambda e, i, _: [*e[: i + 1], *e[i:]],
    "swapped": _swapped,
}


@pytest.mark.parametrize("spoil", SPOILS)
@given(data=st.data())
def test_a_spoilt_chain_is_found_out(spoil: str, data: st.DataObject) -> None:
    entries = chain(story())
    last = len(entries) - 1
    at = data.draw(st.integers(0, last - 1))  # the very end shows against the log alone
    to = data.draw(st.integers(0, last).filter(lambda n: n != at))
    spoilt = SPOILS[spoil](entries, at, to)
    assert spoilt != entries
    assert list(verify("acme", spoilt))


def test_the_flaw_names_the_place() -> None:
    entries = chain(story())
    changed = [*entries[:2], replace(entries[2], by="mallory"), *entries[3:]]
    assert [(f.number, f.sentence) for f in verify("acme", changed)] == [(3, "entry 3 was changed")]
    missing = [f.sentence for f in verify("acme", entries[:2] + entries[3:])]
    assert missing[0] == "entry 3 is missing or out of order: 4 follows"


def test_a_chain_made_anew_differs_from_the_log() -> None:
    """Somebody rewrites the whole chain: only the log tells."""
    events = story()
    forged = [replace(e, record={**e.record, "by": "mallory"}) if e.record else e for e in events]
    entries = chain(forged)
    assert list(verify("acme", entries)) == []
    assert len(list(compare(entries, facts(events)))) == len(entries)


def test_an_end_that_was_cut_off_shows_against_the_log() -> None:
    events = story()
    entries = chain(events)[:-1]
    assert list(verify("acme", entries)) == []
    [flaw] = compare(entries, facts(events))
    assert "has no entry" in flaw.sentence


def test_a_log_that_was_changed_shows() -> None:
    events = story()
    entries = chain(events)
    for place, event in enumerate(events):
        if fact_of(event) is None:
            continue
        for changed in (
            replace(event, payload={**event.payload, "extra": 1}),
            replace(event, record={**(event.record or {}), "extra": 1}),
            replace(event, at=event.at + 1),
        ):
            found = list(compare(entries, facts([*events[:place], changed, *events[place + 1 :]])))
            assert len(found) == 1, event.type
        gone = list(compare(entries, facts(events[:place] + events[place + 1 :])))
        assert "has no event in the log" in gone[0].sentence
