"""The shelf's contract for operators: time, several waits, duplicates, listing, by hand, again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from host.decisions import request as asking
from host.store.port import Store
from host.store.shelf import ShelvedEvent, Wanted
from tests.contract.test_store import accept, ask, begin, wanted

NOW = 1_789_128_000_000
KEY = asking.match_key("acme", "paid", {"orderId": 1})


def event(number: int = 1, **changes: Any) -> ShelvedEvent:
    base = ShelvedEvent("shop", f"evt_{number}", "acme", "paid", KEY, {"n": number}, NOW + number)
    return replace(base, **changes)


async def filed(store: Store, *events: ShelvedEvent) -> None:
    for one in events:
        assert await store.shelf.file(one, f"raw {one.event_id}".encode())


async def listed(store: Store, now: int = NOW, **chosen: Any) -> list[tuple[str, str]]:
    found = await store.shelf.listing(Wanted("acme", **chosen), now)
    return [(one.event.event_id, one.standing) for one in found]


async def test_everything_that_was_filed_is_read_back(store: Store) -> None:
    whole = event(
        correlation={"orderId": "1"},
        expires_at=NOW + 60_000,
        several="exactlyOne",
        headers={"x-github-event": "push"},
    )
    await filed(store, whole)
    assert await store.shelf.get("shop", "evt_1") == whole
    assert await store.shelf.raw("shop", "evt_1") == b"raw evt_1"
    assert await store.shelf.raw("shop", "nothing") is None


async def test_duplicates_are_counted_and_change_nothing(store: Store) -> None:
    await filed(store, event())
    again = event(payload={"n": "another"})
    assert await asyncio.gather(*(store.shelf.file(again, b"x") for _ in range(5))) == [False] * 5
    found = await store.shelf.get("shop", "evt_1")
    assert found == replace(event(), duplicates=5)
    assert await store.shelf.raw("shop", "evt_1") == b"raw evt_1"
    assert await store.shelf.file(event(tenant="other", source="another"), b"")
    assert await listed(store, standing="duplicate") == [("evt_1", "due")]


async def test_a_listing_is_newest_first_in_pages_and_of_one_tenant(store: Store) -> None:
    numbers = range(1, 8)
    await filed(store, *(event(n) for n in numbers), event(9, tenant="other", source="theirs"))
    await filed(store, event(7, source="zoo"))  # at the very same time
    seen: list[tuple[str, str]] = []
    before = None
    while page := await store.shelf.listing(Wanted("acme", limit=3, before=before), NOW):
        seen += [(one.event.source, one.event.event_id) for one in page]
        last = page[-1].event
        before = (last.received_at, last.source, last.event_id)
    assert seen == [("zoo", "evt_7"), *(("shop", f"evt_{n}") for n in reversed(numbers))]
    assert await listed(store, source="zoo") == [("evt_7", "due")]
    assert await listed(store, source="theirs") == []


async def test_standings(store: Store) -> None:
    """One event of each, found by its standing and by no other."""
    await filed(store, *(event(n) for n in range(1, 8)))
    await store.shelf.applied("shop", "evt_2", ["acme/x"])
    await store.shelf.applied("shop", "evt_3", [], "its mapping failed")
    await store.shelf.set_aside("shop", "evt_4", "parked", "two waits match")
    await store.shelf.set_aside("shop", "evt_5", "expired", "over")
    await store.shelf.shelve("shop", "evt_6")
    found = dict(await listed(store))
    expected = {
        "evt_1": "due", "evt_2": "applied", "evt_3": "failed", "evt_4": "parked",
        "evt_5": "expired", "evt_6": "unmatched", "evt_7": "due",
    }  # fmt: skip
    assert found == expected
    for standing in sorted(set(expected.values())):
        names = {name for name, one in expected.items() if one == standing}
        assert {name for name, _ in await listed(store, standing=standing)} == names


async def test_an_event_whose_wait_has_ended_is_late(store: Store) -> None:
    await filed(store, event(1), event(2, match_key="another"))
    await store.shelf.shelve("shop", "evt_2")
    assert await listed(store, standing="late") == []
    state = await ask(store, await begin(store), wanted("external-event"))
    await accept(store, state)
    assert await store.shelf.shelve("shop", "evt_1")
    assert await listed(store, standing="late") == [("evt_1", "late")]
    assert await listed(store, standing="unmatched") == [("evt_2", "unmatched")]


async def test_what_is_too_old_is_listed_as_such_before_anybody_looks_for_it(store: Store) -> None:
    await filed(store, event(expires_at=NOW + 1000))
    await store.shelf.shelve("shop", "evt_1")
    assert await listed(store, NOW + 999) == [("evt_1", "unmatched")]
    assert await listed(store, NOW + 1000) == [("evt_1", "expired")]
    assert await listed(store, NOW + 1000, standing="unmatched") == []


@pytest.mark.parametrize("state", ["parked", "expired"])
async def test_what_was_set_aside_is_out_of_reach(store: Store, state: Any) -> None:
    await filed(store, event())
    await store.shelf.set_aside("shop", "evt_1", state, "why")
    await ask(store, await begin(store), wanted("external-event"))
    assert await store.shelf.due(NOW + 9, 10) == []
    found = await store.shelf.get("shop", "evt_1")
    assert found is not None
    assert (found.state, found.error) == (state, "why")


async def test_only_what_is_due_is_set_aside(store: Store) -> None:
    await filed(store, event())
    await store.shelf.applied("shop", "evt_1", ["acme/x"])
    await store.shelf.set_aside("shop", "evt_1", "parked", "why")
    assert await listed(store) == [("evt_1", "applied")]


async def test_an_event_is_bound_to_one_interrupt_by_hand(store: Store) -> None:
    await filed(store, event())
    assert not await store.shelf.bind("shop", "evt_1", "acme/x")  # it is at work
    await store.shelf.shelve("shop", "evt_1")
    won = await asyncio.gather(*(store.shelf.bind("shop", "evt_1", f"acme/{n}") for n in range(8)))
    assert sum(won) == 1
    chosen = f"acme/{won.index(True)}"
    assert await store.shelf.bind("shop", "evt_1", chosen)  # the same again, after a crash
    await ask(store, await begin(store), wanted("external-event"))
    assert await store.shelf.due(NOW + 9, 10) == []  # no wait takes it away
    assert not await store.shelf.again(event())
    await store.shelf.unbind("shop", "evt_1", "acme/another", "no")
    assert not await store.shelf.bind("shop", "evt_1", "acme/another")
    await store.shelf.unbind("shop", "evt_1", chosen, "it was refused")
    assert await store.shelf.bind("shop", "evt_1", "acme/another")
    await store.shelf.applied("shop", "evt_1", ["acme/another"])
    assert not await store.shelf.bind("shop", "evt_1", "acme/another")


async def test_again_maps_anew_and_makes_due(store: Store) -> None:
    await filed(store, event(match_key=None, event_type="sayso.unmapped"))
    mapped = event(correlation={"orderId": "1"}, payload={"fixed": True}, expires_at=NOW + 5)
    assert not await store.shelf.again(mapped)  # it is at work
    await store.shelf.applied("shop", "evt_1", [], "its mapping failed")
    assert await store.shelf.again(mapped)
    assert await store.shelf.due(NOW + 9, 10) == [mapped]
    assert await store.shelf.raw("shop", "evt_1") == b"raw evt_1"
    await store.shelf.applied("shop", "evt_1", ["acme/x"])
    assert not await store.shelf.again(mapped)
