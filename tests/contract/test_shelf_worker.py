"""The shelf's worker on every store: one effect an event, whatever crashes, however many wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.shelving import ShelfWorker, end_wait
from host.decisions import request as asking
from host.decisions.state import Interrupt, Policy
from host.host import Host
from host.store.port import Store
from host.store.records import StoreUnavailable
from host.store.shelf import ShelvedEvent
from schemas.errors import Refusal
from tests.contract.test_store import ask, begin, wanted

NOW = 1_789_128_000_000
KEY = asking.match_key("acme", "paid", {"orderId": 1})


def event(number: int = 1, **changes: Any) -> ShelvedEvent:
    base = ShelvedEvent("shop", f"evt_{number}", "acme", "paid", KEY, {"n": number}, NOW)
    return replace(base, **changes)


@pytest.fixture
def host(store: Store) -> Host:
    return Host(store, Policy(), lambda: NOW + 10)


async def wait_for(store: Store, **more: Any) -> str:
    payload = wanted("external-event") | more
    return (await ask(store, await begin(store), payload)).interrupt.interrupt_id


async def stored(store: Store, number: int = 1) -> ShelvedEvent:
    found = await store.shelf.get("shop", f"evt_{number}")
    assert found is not None
    return found


async def answered(store: Store, interrupt_id: str) -> Interrupt:
    found = await store.log.interrupt(interrupt_id)
    assert found is not None
    return found


async def value(store: Store, interrupt_id: str) -> Any:
    outcome = (await answered(store, interrupt_id)).outcome
    assert outcome is not None
    return outcome.value


async def test_all_waits_are_ended_by_one_event(store: Store, host: Host) -> None:
    waits = [await wait_for(store) for _ in range(3)]
    await store.shelf.file(event(), b"")
    assert await ShelfWorker(host).once()
    assert sorted((await stored(store)).matched) == sorted(waits)
    for interrupt_id in waits:
        assert await value(store, interrupt_id) == {"n": 1}


async def test_several_waits_park_an_event_that_may_end_one(store: Store, host: Host) -> None:
    waits = [await wait_for(store) for _ in range(2)]
    await store.shelf.file(event(several="exactlyOne"), b"")
    assert await ShelfWorker(host).once()
    found = await stored(store)
    assert found.state == "parked"
    assert found.error.startswith("2 waits match, and exactly one may: ")
    for interrupt_id in waits:
        assert (await answered(store, interrupt_id)).status == "open"


async def test_one_wait_is_ended_where_exactly_one_may_be(store: Store, host: Host) -> None:
    interrupt_id = await wait_for(store)
    await store.shelf.file(event(several="exactlyOne"), b"")
    await ShelfWorker(host).once()
    assert (await stored(store)).matched == (interrupt_id,)


async def test_time_is_checked_when_it_matches(store: Store, host: Host) -> None:
    """Nobody swept: the event is still on the shelf when its wait comes, a moment too late."""
    await store.shelf.file(event(1, expires_at=NOW + 10), b"")
    await store.shelf.file(event(2, expires_at=NOW + 11), b"")
    for number in (1, 2):
        await store.shelf.shelve("shop", f"evt_{number}")
    interrupt_id = await wait_for(store)
    assert await ShelfWorker(host).once()
    assert (await stored(store, 1)).state == "expired"
    assert (await stored(store, 2)).matched == (interrupt_id,)


async def test_a_crash_after_the_answer_leaves_no_second_effect(store: Store, host: Host) -> None:
    first = await wait_for(store)
    await store.shelf.file(event(), b"")
    await end_wait(host, event(), first, mark=True)
    # Here the process died: the event is due still, and another wait of its key has come... and gone.
    assert [one.event_id for one in await store.shelf.due(NOW + 10, 10)] == ["evt_1"]
    assert await ShelfWorker(host).once()
    found = await stored(store)
    assert (found.state, found.matched) == ("applied", (first,))
    later = await wait_for(store)
    assert not await ShelfWorker(host).once()
    assert (await answered(store, later)).status == "open"


async def test_a_crash_between_two_answers_is_taken_up(store: Store, host: Host) -> None:
    waits = [await wait_for(store) for _ in range(3)]
    await store.shelf.file(event(), b"")
    await end_wait(host, event(), waits[0], mark=True)
    assert await ShelfWorker(host).once()
    assert sorted((await stored(store)).matched) == sorted(waits)


async def test_an_event_marks_itself_once(store: Store, host: Host) -> None:
    waits = [await wait_for(store) for _ in range(2)]
    await end_wait(host, event(), waits[0], mark=True)
    with pytest.raises(Refusal) as refused:
        await end_wait(host, event(), waits[1], mark=True)
    assert refused.value.code == "interrupt_already_resolved"
    assert (await answered(store, waits[1])).status == "open"


async def test_a_value_that_does_not_fit_is_a_failure_that_can_be_replayed(
    store: Store, host: Host
) -> None:
    schema = {"type": "object", "required": ["total"]}
    strict = await wait_for(store, resumeSchema=schema)
    await store.shelf.file(event(), b"")
    await ShelfWorker(host).once()
    found = await stored(store)
    assert (found.state, found.matched) == ("failed", ())
    assert strict in found.error
    assert await store.shelf.again(event(payload={"total": 5}))
    await ShelfWorker(host).once()
    assert (await stored(store)).matched == (strict,)
    assert await value(store, strict) == {"total": 5}


async def test_a_replay_after_half_a_failure_ends_only_the_rest(store: Store, host: Host) -> None:
    loose = await wait_for(store)
    strict = await wait_for(store, resumeSchema={"type": "object", "required": ["total"]})
    await store.shelf.file(event(), b"")
    await ShelfWorker(host).once()
    assert (await stored(store)).matched == (loose,)
    assert (await stored(store)).state == "failed"
    assert await store.shelf.again(event(payload={"total": 5}))
    await ShelfWorker(host).once()
    assert sorted((await stored(store)).matched) == sorted([loose, strict])
    assert await value(store, loose) == {"n": 1}


async def test_an_event_that_was_not_mapped_says_why(store: Store, host: Host) -> None:
    payload = {"key": "event_type", "reason": "nothing at 'kind'", "event": {}}
    await store.shelf.file(event(match_key=None, payload=payload), b"")
    await ShelfWorker(host).once()
    found = await stored(store)
    assert (found.state, found.error) == (
        "failed",
        "its mapping failed: event_type: nothing at 'kind'",
    )


async def test_a_store_that_goes_away_leaves_the_event_due(
    store: Store, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_id = await wait_for(store)
    await store.shelf.file(event(), b"")

    async def away(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(host, "resolve", away)
        assert not await ShelfWorker(host).once()
    assert (await stored(store)).state == "due"
    await ShelfWorker(host).once()
    assert (await stored(store)).matched == (interrupt_id,)


async def test_events_of_one_key_queue_in_the_order_of_their_receipt(
    store: Store, host: Host
) -> None:
    """The next wait of a loop gets the next event, and none is used up by a wait that another ended."""
    for number in range(1, 6):
        await store.shelf.file(event(number, received_at=NOW + number), b"")
    for number in range(1, 6):
        interrupt_id = await wait_for(store)
        while await ShelfWorker(host).once():
            pass
        assert await value(store, interrupt_id) == {"n": number}
    assert {(await stored(store, n)).state for n in range(1, 6)} == {"applied"}


async def test_one_broken_event_holds_up_no_other(
    store: Store, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_id = await wait_for(store)
    await store.shelf.file(event(1), b"")
    await store.shelf.file(event(2, match_key="broken"), b"")
    waits = store.shelf.waits

    async def broken(match_key: str) -> list[str]:
        if match_key == "broken":
            raise RuntimeError("a defect")
        return await waits(match_key)

    monkeypatch.setattr(store.shelf, "waits", broken)
    with pytest.raises(RuntimeError, match="a defect"):
        await ShelfWorker(host).once()
    assert await value(store, interrupt_id) == {"n": 1}
