"""Deliveries of outbound webhooks: one suite, run against every implementation that has them."""

from __future__ import annotations

import asyncio

from host.decisions.state import NewEvent, Run
from host.store.port import Store
from host.store.records import Commit, Conflict
from host.store.webhooks import Wish, delivery_id, owed
from tests.contract.webhook_store import (
    LEASE,
    NOW,
    begin,
    claim,
    drain,
    note,
    opening,
    postgres,
    sqlite,
    store,
    subscribed,
)

__all__ = ["opening", "postgres", "sqlite", "store"]


# --- what an append owes --------------------------------------------------------------------------


async def test_an_append_owes_what_is_wanted_in_order(store: Store) -> None:
    webhook_id = await subscribed(store)
    state = await begin(store)
    state = await note(store, state, 2)
    await note(store, state, 3, kind="sayso.other")
    run = state.run.run_id
    assert await store.outbox.ready(NOW) == [webhook_id]
    assert await drain(store, webhook_id) == [(run, 0), (run, 1), (run, 2)]
    assert await store.outbox.ready(NOW) == []


async def test_nothing_is_owed_across_tenants(store: Store) -> None:
    alien = await subscribed(store, tenant="other")
    await begin(store)
    assert await store.outbox.ready(NOW) == []
    state = await begin(store, tenant="other")
    assert await drain(store, alien) == [(state.run.run_id, 0)]


async def test_tags_narrow_to_runs_that_carry_one(store: Store) -> None:
    webhook_id = await subscribed(store, tags=("red", "blue"))
    await begin(store)
    await begin(store, tags=("green",))
    red = await begin(store, tags=("green", "red"))
    assert await drain(store, webhook_id) == [(red.run.run_id, 0)]


async def test_a_replay_owes_nothing(store: Store) -> None:
    webhook_id = await subscribed(store)
    source = await begin(store)
    replay = await begin(store, replay_of=source.run.run_id)
    await note(store, replay)
    assert await drain(store, webhook_id) == [(source.run.run_id, 0)]


async def test_an_append_that_loses_owes_nothing(store: Store) -> None:
    webhook_id = await subscribed(store)
    state = await begin(store)
    outcomes = await asyncio.gather(*(note(store, state) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(o, Conflict) for o in outcomes) == 4
    assert len(await drain(store, webhook_id)) == 2


def test_each_delivery_has_an_id_of_its_own() -> None:
    run = Run("acme/0123456789abcdef", "w")
    commit = Commit(run, 3, (NewEvent("a.b", {}), NewEvent("c.d", {}), NewEvent("a.b", {})), NOW)
    hooks = [Wish(f"acme/hook{n}abcdefghijklmn", frozenset({"a.b"}), frozenset()) for n in (1, 2)]
    rows = owed(commit, hooks)
    assert [(r.webhook_id, r.sequence) for r in rows] == [
        (hook.webhook_id, sequence) for hook in hooks for sequence in (3, 5)
    ]
    assert len({r.delivery_id for r in rows}) == 4
    assert rows == owed(commit, hooks)
    assert rows[0].delivery_id == delivery_id(hooks[0].webhook_id, run.run_id, 3)


# --- claiming -------------------------------------------------------------------------------------


async def test_only_the_first_of_each_run_is_handed_out(store: Store) -> None:
    webhook_id = await subscribed(store)
    first, second = await begin(store), await begin(store)
    await note(store, first, 2)
    claimed = await claim(store, webhook_id)
    assert {(c.run_id, c.sequence) for c in claimed} == {
        (first.run.run_id, 0),
        (second.run.run_id, 0),
    }
    assert await claim(store, webhook_id) == []
    mine = next(c for c in claimed if c.run_id == first.run.run_id)
    assert await store.outbox.delivered(mine)
    [following] = await claim(store, webhook_id)
    assert (following.run_id, following.sequence) == (first.run.run_id, 1)


async def test_two_claimants_never_hold_the_same(store: Store) -> None:
    webhook_id = await subscribed(store)
    for _ in range(6):
        await begin(store)
    rounds = await asyncio.gather(*(claim(store, webhook_id, limit=4) for _ in range(4)))
    held = [c.delivery_id for claimed in rounds for c in claimed]
    assert len(held) == len(set(held)) >= 4


async def test_a_lease_runs_out_and_the_late_one_is_refused(store: Store) -> None:
    webhook_id = await subscribed(store)
    await begin(store)
    [slow] = await claim(store, webhook_id)
    assert await claim(store, webhook_id, NOW + LEASE - 1) == []
    [again] = await claim(store, webhook_id, NOW + LEASE)
    assert again.fence > slow.fence
    assert await store.outbox.retry(slow, 500, NOW, NOW) is None
    assert await store.outbox.give_up(slow, "retries_exhausted", 500, NOW) is None
    assert not await store.outbox.delivered(slow)
    assert await store.outbox.delivered(again)


async def test_a_retry_waits_and_keeps_its_place(store: Store) -> None:
    webhook_id = await subscribed(store)
    state = await begin(store)
    await note(store, state)
    [one] = await claim(store, webhook_id)
    assert await store.outbox.retry(one, 500, NOW + 100, NOW) == NOW
    assert await claim(store, webhook_id, NOW + 99) == []
    [again] = await claim(store, webhook_id, NOW + 100)
    assert (again.sequence, again.attempts) == (0, 1)


async def test_failing_since_is_the_first_of_a_row_of_failures(store: Store) -> None:
    webhook_id = await subscribed(store)
    for _ in range(2):
        await begin(store)
    first, second = await claim(store, webhook_id)
    assert await store.outbox.retry(first, None, NOW + 1, NOW) == NOW
    [first] = await claim(store, webhook_id, NOW + 1)
    assert await store.outbox.retry(first, None, NOW + 2, NOW + 1) == NOW
    assert await store.outbox.delivered(second)
    [first] = await claim(store, webhook_id, NOW + 2)
    assert await store.outbox.retry(first, None, NOW + 3, NOW + 2) == NOW + 2


# --- dead letters ---------------------------------------------------------------------------------


async def die(store: Store, webhook_id: str, at: int) -> None:
    [one] = await claim(store, webhook_id, at, limit=1)
    await store.outbox.give_up(one, "retries_exhausted", 500, at)


async def test_a_dead_letter_makes_way_and_can_be_read(store: Store) -> None:
    webhook_id = await subscribed(store)
    state = await begin(store)
    await note(store, state)
    await die(store, webhook_id, NOW + 7)
    page = await store.outbox.dead(webhook_id, 10, None)
    assert page.cursor is None
    [letter] = page.deliveries
    assert (letter.run_id, letter.sequence, letter.event_type) == (
        state.run.run_id,
        0,
        "run.started",
    )
    assert (letter.attempts, letter.died_at) == (1, NOW + 7)
    assert (letter.reason, letter.last_status) == ("retries_exhausted", 500)
    [following] = await claim(store, webhook_id, NOW + 7)
    assert following.sequence == 1


async def test_dead_letters_by_pages_newest_first(store: Store) -> None:
    webhook_id = await subscribed(store)
    for _ in range(7):
        await begin(store)
    for place in range(7):
        await die(store, webhook_id, NOW + place // 2)
    found, cursor = [], None
    while True:
        page = await store.outbox.dead(webhook_id, 2, cursor)
        assert 1 <= len(page.deliveries) <= 2
        found += page.deliveries
        cursor = page.cursor
        if cursor is None:
            break
    assert len({f.delivery_id for f in found}) == 7
    assert [f.died_at for f in found] == sorted((f.died_at for f in found), reverse=True)
    assert (await store.outbox.dead("acme/0123456789abcdef0123", 2, None)).deliveries == ()


async def test_a_redriven_letter_is_owed_again(store: Store) -> None:
    webhook_id = await subscribed(store)
    await begin(store)
    await die(store, webhook_id, NOW)
    [letter] = (await store.outbox.dead(webhook_id, 10, None)).deliveries
    other = await subscribed(store)
    assert not await store.outbox.redrive(other, letter.delivery_id, NOW)
    assert await store.outbox.redrive(webhook_id, letter.delivery_id, NOW + 1)
    assert not await store.outbox.redrive(webhook_id, letter.delivery_id, NOW + 1)
    assert (await store.outbox.dead(webhook_id, 10, None)).deliveries == ()
    [again] = await claim(store, webhook_id, NOW + 1)
    assert (again.delivery_id, again.attempts) == (letter.delivery_id, 0)


async def test_disabling_ends_all_and_redriving_begins_anew(store: Store) -> None:
    webhook_id = await subscribed(store)
    state = await begin(store)
    state = await note(store, state)
    [held] = await claim(store, webhook_id)
    assert await store.subscriptions.disable(webhook_id, "gone", NOW + 1) == 2
    assert not await store.outbox.delivered(held)
    await note(store, state)
    assert await store.outbox.ready(NOW + 2) == []
    found = await store.subscriptions.get(webhook_id)
    assert found is not None
    assert found.disabled == "gone"
    letters = (await store.outbox.dead(webhook_id, 10, None)).deliveries
    assert {d.sequence for d in letters} == {0, 1}
    assert await store.outbox.redrive(webhook_id, letters[0].delivery_id, NOW + 3)
    assert await store.outbox.ready(NOW + 3) == [webhook_id]
    [again] = await claim(store, webhook_id, NOW + 3)
    assert again.sequence == letters[0].sequence
    assert await store.outbox.delivered(again)
    assert await claim(store, webhook_id, NOW + 3) == []  # nothing was owed while it was disabled


async def test_old_dead_letters_are_forgotten(store: Store) -> None:
    webhook_id = await subscribed(store)
    for _ in range(2):
        await begin(store)
    await die(store, webhook_id, NOW)
    await die(store, webhook_id, NOW + 10)
    assert await store.outbox.forget(NOW + 10, NOW) == 1
    [left] = (await store.outbox.dead(webhook_id, 10, None)).deliveries
    assert left.died_at == NOW + 10


async def test_removal_takes_the_deliveries_along(store: Store) -> None:
    webhook_id = await subscribed(store)
    await begin(store)
    [held] = await claim(store, webhook_id)
    assert await store.subscriptions.remove(webhook_id, NOW)
    assert not await store.subscriptions.remove(webhook_id, NOW)
    assert not await store.outbox.delivered(held)
    assert await store.outbox.ready(NOW) == []
    await begin(store)
    assert await claim(store, webhook_id) == []


async def test_what_cannot_be_projected_is_no_failure_of_the_endpoint(store: Store) -> None:
    webhook_id = await subscribed(store)
    await begin(store)
    [one] = await claim(store, webhook_id)
    assert await store.outbox.give_up(one, "payload_unprojectable", None, NOW) == NOW
    found = await store.subscriptions.get(webhook_id)
    assert found is not None
    assert found.failing_since is None
