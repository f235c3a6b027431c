"""What only a database that several processes share can get wrong, on a real PostgreSQL server."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from host.decisions import request as asking
from host.decisions.evolve import evolve
from host.decisions.state import Policy, State
from host.ids import bound
from host.store.postgres.store import PostgresStore
from host.store.records import Commit, Conflict, Reply
from host.store.shelf import ShelvedEvent
from host.store.webhooks import Subscription, Wish, owed
from schemas.errors import Refusal
from tests.contract.test_store import ADA, NOW, accept, ask, begin, event, wanted
from tests.fakes.postgres import opened, rows, until

RACES = 200


@pytest.fixture(autouse=True)
def every_event_is_checked() -> None:
    """Not here: the runs of these tests are bare, and what is tested is where their events go."""


async def test_of_two_hundred_racing_resolves_one_wins(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    state = await ask(two[0], await begin(two[0]))
    results = await asyncio.gather(
        *(accept(two[n % 2], state) for n in range(RACES)), return_exceptions=True
    )
    kinds = Counter(type(r) for r in results)
    assert kinds == {State: 1, Conflict: RACES - 1}
    events = await two[1].log.events(state.run.run_id, -1, 1000)
    assert [e.type for e in events].count("interrupt.resolved") == 1


async def test_many_runs_at_once_from_two_replicas_do_not_disturb_each_other(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    """Both send large batches that overlap in runs, so their statements wait for each other's rows."""
    states = await asyncio.gather(*(begin(two[n % 2]) for n in range(RACES)))
    asked = await asyncio.gather(*(ask(two[0], state, notify=("web:",)) for state in states))
    forwards, backwards = [*asked], [*reversed(asked)]
    results = await asyncio.gather(
        *(accept(two[0], state) for state in forwards),
        *(accept(two[1], state) for state in backwards),
        return_exceptions=True,
    )
    assert Counter(type(r) for r in results) == {State: RACES, Conflict: RACES}
    for state in asked:
        found = await two[1].log.interrupt(state.interrupt.interrupt_id)
        assert found is not None
        assert found.status == "resolved"


async def test_one_reply_of_two_replicas_is_kept_and_the_others_change_is_not(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    for number in range(50):
        states = [await begin(two[0]), await begin(two[1])]
        reply = Reply(f"scope-{number}", "digest", 201, b"{}")
        results = await asyncio.gather(
            *(ask(two[n], states[n], reply=reply) for n in range(2)), return_exceptions=True
        )
        assert Counter(type(r) for r in results) == {State: 1, Conflict: 1}
        found = [await two[0].log.by_key(s.run.run_id, "k") for s in states]
        assert [f is not None for f in found] == [isinstance(r, State) for r in results]


async def test_one_bad_commit_does_not_take_the_others_with_it(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    """They share a statement: the first fills both lanes, so all others queue up behind it."""
    states = [await begin(two[0]) for _ in range(40)]
    known = await ask(two[0], states[7])
    stale = replace(states[7], run=known.run)  # the right version, and a key that is taken
    results = await asyncio.gather(
        *(ask(two[0], state) for state in states[:7]),
        ask(two[0], stale, node="other"),
        ask(two[0], states[8], wanted(key="no\0good")),
        *(ask(two[0], state) for state in states[9:]),
        return_exceptions=True,
    )
    kinds = Counter(type(r) for r in results)
    assert kinds == {State: 38, Conflict: 1, Refusal: 1}
    assert (await two[0].log.run(states[8].run.run_id)) == states[8].run


async def test_a_commit_leaves_all_or_nothing(two: tuple[PostgresStore, PostgresStore]) -> None:
    await two[0].replies.remember(Reply("taken", "d", 200, b""), NOW)
    state = await begin(two[0])
    with pytest.raises(Conflict):
        await ask(two[0], state, notify=("web:",), reply=Reply("taken", "d", 201, b""))
    assert await two[0].log.run(state.run.run_id) == state.run
    assert await two[0].log.by_key(state.run.run_id, "k") is None
    assert await two[0].deliveries.claim(NOW, "me", 1000, 10) == []
    assert len(await two[0].log.events(state.run.run_id, -1, 10)) == 1


def waiting(number: int) -> tuple[dict[str, Any], str]:
    correlation = {"orderId": str(number)}
    payload = wanted("external-event", f"k{number}", correlation=correlation)
    return payload, asking.match_key("acme", "paid", correlation)


async def test_an_event_and_its_wait_never_miss_each_other(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    """Whoever is second sees the first: the event is due, or it was not shelved."""
    outcomes: Counter[bool] = Counter()
    for number in range(RACES):
        payload, key = waiting(number)
        state = await begin(two[0])
        await two[1].shelf.file(event(key, number), b"raw")
        registering = asyncio.create_task(ask(two[0], state, payload))
        for _ in range(number % 4 * 10):  # so that either side gets its chance to be first
            await asyncio.sleep(0)
        shelved = await two[1].shelf.shelve("shop", f"evt_{number}")
        await registering
        found = await two[0].shelf.get("shop", f"evt_{number}")
        assert found is not None
        assert found.state == "due", f"round {number}: shelved beside its open wait"
        outcomes[shelved] += 1
        await two[0].shelf.applied("shop", f"evt_{number}", ["acme/x"])
    assert set(outcomes) == {True, False}, "the race never went both ways, so it proves nothing"


async def test_registering_a_wait_holds_off_shelving_until_it_is_committed(
    postgres_url: str, two: tuple[PostgresStore, PostgresStore]
) -> None:
    """The very window of the race, held open: a wait is registered and not committed yet."""
    payload, key = waiting(1)
    state = await begin(two[0])
    await two[1].shelf.file(event(key), b"raw")
    other = await asyncpg.connect(postgres_url)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT pg_advisory_xact_lock(1396790879, hashtext($1))", key)
    asked = asyncio.create_task(ask(two[0], state, payload))
    shelving = asyncio.create_task(two[1].shelf.shelve("shop", "evt_1"))

    async def both_wait() -> bool:
        [row] = await rows(
            postgres_url,
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        )
        return bool(row[0] == 2)

    await until(both_wait)
    await transaction.rollback()
    await other.close()
    await asyncio.gather(asked, shelving)
    found = await two[0].shelf.get("shop", "evt_1")
    assert found is not None
    assert found.state == "due"


async def test_an_event_is_worked_on_by_one_replica(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    for number in range(5):
        await two[0].shelf.file(event("key", number), b"raw")
    mine = await two[0].shelf.due(NOW, 3)
    again = await two[0].shelf.due(NOW, 3)
    theirs = await two[1].shelf.due(NOW, 10)
    assert [e.event_id for e in mine] == [e.event_id for e in again]
    assert len(theirs) == 2
    assert not {e.event_id for e in mine} & {e.event_id for e in theirs}
    assert len(await two[1].shelf.due(NOW + 30_001, 10)) == 5  # the other one has died


async def test_an_applied_event_is_not_shelved_by_a_replica_that_is_late(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    await two[0].shelf.file(event("key"), b"raw")
    await two[0].shelf.applied("shop", "evt_1", ["acme/i"])
    assert not await two[1].shelf.shelve("shop", "evt_1")
    found = await two[1].shelf.get("shop", "evt_1")
    assert found is not None
    assert found.state == "applied"


async def test_an_event_without_a_key_is_shelved(two: tuple[PostgresStore, PostgresStore]) -> None:
    unmapped: ShelvedEvent = event(None)
    await two[0].shelf.file(unmapped, b"raw")
    assert await two[1].shelf.shelve("shop", "evt_1")


async def test_claims_of_two_owners_are_disjoint_and_complete(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    for _ in range(60):
        await ask(two[0], await begin(two[0]), notify=("web:", "email:a@example.com"))
    claims = await asyncio.gather(
        *(two[n % 2].deliveries.claim(NOW, f"owner{n % 2}", 1000, 10) for n in range(24))
    )
    found = [(m.interrupt_id, m.channel) for claim in claims for m in claim]
    assert len(found) == len(set(found))
    rest = await two[0].deliveries.claim(NOW, "owner0", 1000, 1000)
    assert len(found) + len(rest) == 120


async def test_a_replica_that_stops_hands_back_what_it_holds(postgres_url: str) -> None:
    async with opened(postgres_url) as staying:
        async with opened(postgres_url) as leaving:
            await ask(staying, await begin(staying), notify=("web:", "email:a@example.com"))
            await staying.shelf.file(event("key"), b"raw")
            [kept] = await staying.deliveries.claim(NOW, "staying", 10**9, 1)
            assert len(await leaving.deliveries.claim(NOW, "leaving", 10**9, 10)) == 1
            assert len(await leaving.shelf.due(NOW, 10)) == 1
            assert await staying.deliveries.claim(NOW, "staying", 1000, 10) == []
            assert await staying.shelf.due(NOW, 10) == []
        [handed] = await staying.deliveries.claim(NOW, "staying", 1000, 10)
        assert handed.channel != kept.channel
        assert len(await staying.shelf.due(NOW, 10)) == 1


async def test_replies_are_forgotten_in_batches(
    postgres_url: str, two: tuple[PostgresStore, PostgresStore]
) -> None:
    await rows(
        postgres_url,
        "INSERT INTO replies SELECT 'old-' || n, '', 200, '', $1 FROM generate_series(1, 2500) n",
        NOW,
    )
    await two[0].replies.remember(Reply("young", "", 200, b""), NOW + 1)
    gone = await asyncio.gather(*(store.replies.forget(NOW + 1) for store in two))
    assert sum(gone) == 2500
    assert await two[0].replies.find("young") is not None


def subscription(name: str, **more: Any) -> Subscription:
    base: dict[str, Any] = {"events": ("interrupt.requested", "interrupt.resolved")}
    return Subscription(f"acme/{name}", "https://example.com/", secret="s" * 32, created_at=NOW,
                        **{**base, **more})  # fmt: skip


async def test_the_outbox_gets_what_owed_says(
    postgres_url: str, two: tuple[PostgresStore, PostgresStore]
) -> None:
    """The rule is written twice, in Python and in SQL. Here they are held against each other."""
    known = [
        subscription("all"),
        subscription("tagged", tags=("red", "blue")),
        subscription("other-tag", tags=("green",)),
        subscription("other-event", events=("run.completed",)),
    ]
    for one in [*known, subscription("off")]:
        await two[0].subscriptions.add(one)
    await two[0].subscriptions.disable("acme/off", "test", NOW)
    alien = Subscription("other/all", "https://example.com/", ("run.started",), "s", NOW)
    await two[0].subscriptions.add(alien)
    wishes = [Wish(s.webhook_id, frozenset(s.events), frozenset(s.tags)) for s in known]
    expected = set()
    for tags, replay_of in (((), None), (("red",), None), (("red",), "acme/source")):
        run = replace((await begin(two[0])).run, run_id=bound("acme", NOW), tags=tags, version=0)
        run = replace(run, replay_of=replay_of)
        command = asking.Ask(bound("acme", NOW), "gate", wanted(), (), ADA)
        first = asking.start_run(run, None)
        state = evolve(State(run), first, NOW)
        events = (*first, *asking.request(state, command, NOW, Policy()))
        after = evolve(State(run), events, NOW)
        commit = Commit(after.run, 0, events, NOW, after.interrupts)
        await two[1].log.append(commit)
        expected |= {
            (o.delivery_id, o.webhook_id, run.run_id, o.sequence, o.event_type, NOW)
            for o in owed(commit, wishes)
        }
    found = await rows(
        postgres_url,
        "SELECT delivery_id, webhook_id, run_id, sequence, event_type, due_at FROM outbox",
    )
    assert len(expected) == 3
    assert {tuple(row) for row in found} == expected


async def test_deliveries_go_in_order_to_one_replica_each(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    await two[0].subscriptions.add(subscription("w"))
    asked = [await ask(two[0], await begin(two[0])) for _ in range(10)]
    for state in asked:
        await accept(two[1], state)
    assert await two[1].outbox.ready(NOW + 5) == ["acme/w"]
    claims = await asyncio.gather(*(s.outbox.claim("acme/w", NOW + 5, 1000, 7) for s in two))
    held = [d for claim in claims for d in claim]
    assert {d.event_type for d in held} == {"interrupt.requested"}
    assert len({d.run_id for d in held}) == len(held) == 10
    first = held[0]
    assert await two[0].outbox.delivered(first)
    assert not await two[1].outbox.delivered(first)
    [following] = await two[1].outbox.claim("acme/w", NOW + 5, 1000, 7)
    assert (following.run_id, following.event_type) == (first.run_id, "interrupt.resolved")


# --- the log as one sequence --------------------------------------------------------------------------


async def test_the_feed_waits_for_whoever_began_before(
    postgres_url: str, two: tuple[PostgresStore, PostgresStore]
) -> None:
    """A transaction with an older id might still commit behind what would be read now."""
    other = await asyncpg.connect(postgres_url)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT pg_current_xact_id()")
    state = await begin(two[0])
    assert await two[1].log.run(state.run.run_id) == state.run
    assert await two[1].feed.read(0, 10) == []
    await transaction.rollback()
    await other.close()
    assert [c.events[0].run_id for c in await two[1].feed.read(0, 10)] == [state.run.run_id]


async def test_positions_go_on_in_a_cluster_into_which_a_dump_was_loaded(
    postgres_url: str,
) -> None:
    """There transaction ids begin below those that the dump's positions were made of."""
    async with opened(postgres_url) as store:
        await begin(store)
        await rows(postgres_url, "UPDATE log SET position = position + 1000000000000")
        [old] = await rows(postgres_url, "SELECT position FROM log")
    async with opened(postgres_url) as store:
        state = await begin(store)
        [commit] = await store.feed.read(old[0], 10)
        assert commit.events[0].run_id == state.run.run_id
        assert len(await store.feed.read(0, 10)) == 2
        [base] = await rows(postgres_url, "SELECT base FROM log_base")
    async with opened(postgres_url):
        assert await rows(postgres_url, "SELECT base FROM log_base") == [base]
