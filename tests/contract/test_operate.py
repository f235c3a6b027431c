"""What operators keep and count: one suite for every store."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from host.audit import Entry
from host.store.keys import StoredKey
from host.store.port import Store
from host.store.records import Conflict
from tests.contract.test_store import NOW, accept, ask, begin, event, wanted

KEY = StoredKey("robot", "a" * 64, "acme", ("runs:read", "runs:create"), NOW, NOW + 1000)


async def test_a_key_is_found_by_its_digest(store: Store) -> None:
    other = replace(KEY, tenant="other", sha256="b" * 64, expires_at=None)
    for key in (KEY, other):
        await store.api_keys.add(key)
    assert await store.api_keys.find(KEY.sha256) == KEY
    assert await store.api_keys.find("c" * 64) is None
    assert await store.api_keys.of("other") == [other]


@pytest.mark.parametrize("taken", [{"sha256": "b" * 64}, {"key_id": "other"}])
async def test_a_key_is_added_once(store: Store, taken: dict[str, str]) -> None:
    await store.api_keys.add(KEY)
    with pytest.raises(Conflict):
        await store.api_keys.add(replace(KEY, **taken))  # type: ignore[arg-type]
    assert await store.api_keys.of("acme") == [KEY]


async def test_a_revoked_key_stays_and_keeps_its_first_time(store: Store) -> None:
    await store.api_keys.add(KEY)
    assert await store.api_keys.revoke("acme", "robot", NOW + 1)
    assert await store.api_keys.revoke("acme", "robot", NOW + 2)
    assert not await store.api_keys.revoke("other", "robot", NOW)
    assert await store.api_keys.find(KEY.sha256) == replace(KEY, revoked_at=NOW + 1)


async def test_the_last_day_of_use(store: Store) -> None:
    await store.api_keys.add(KEY)
    for day in (20_000, 20_002, 20_001):
        await store.api_keys.used(KEY.sha256, day)
    assert await store.api_keys.find(KEY.sha256) == replace(KEY, used_day=20_002)


async def test_the_feed_is_the_log_of_all_runs_in_the_order_of_commits(store: Store) -> None:
    first, second = await begin(store), await begin(store)
    first = await ask(store, first)
    second = await ask(store, second)
    await accept(store, first)
    commits = await store.feed.read(0, 100)
    runs = [c.events[0].run_id for c in commits]
    one, other = first.run.run_id, second.run.run_id
    assert runs == [one, other, one, other, one]
    positions = [c.position for c in commits]
    assert positions == sorted(set(positions))
    assert [e for c in commits for e in c.events if e.run_id == one] == await store.log.events(
        one, -1, 100
    )
    assert await store.feed.read(positions[1], 2) == commits[2:4]
    assert await store.feed.read(positions[-1], 100) == []


async def test_the_feed_misses_nothing_while_many_append(store: Store) -> None:
    seen: list[int] = []
    runs: set[str] = set()
    finished = asyncio.Event()

    async def follow() -> None:
        while True:
            done = finished.is_set()
            commits = await store.feed.read(seen[-1] if seen else 0, 7)
            seen.extend(c.position for c in commits)
            runs.update(e.run_id for c in commits for e in c.events)
            if done and not commits:
                return
            await asyncio.sleep(0)

    following = asyncio.create_task(follow())
    begun = await asyncio.gather(*(begin(store) for _ in range(300)))
    finished.set()
    await following
    assert runs == {state.run.run_id for state in begun}
    assert seen == sorted(set(seen))


def entry(number: int, tenant: str = "acme") -> Entry:
    return Entry(tenant, number, NOW, "decided", f"{tenant}/run", number, hash=f"hash-{number}")


async def test_the_trail_and_its_position_move_together(store: Store) -> None:
    assert await store.audit.position() == 0
    assert await store.audit.last("acme") is None
    await store.audit.extend((entry(1), entry(2), entry(1, "other")), 0, 5)
    assert await store.audit.position() == 5
    assert await store.audit.last("acme") == entry(2)
    with pytest.raises(Conflict):
        await store.audit.extend((entry(3),), 0, 9)
    with pytest.raises(Conflict):
        await store.audit.extend((entry(2),), 5, 9)
    assert await store.audit.position() == 5
    await store.audit.extend((), 5, 7)
    assert await store.audit.position() == 7
    assert await store.audit.entries("acme", 0, 10) == [entry(1), entry(2)]
    assert await store.audit.entries("acme", 1, 10) == [entry(2)]
    assert await store.audit.entries("acme", 0, 1) == [entry(1)]
    assert await store.audit.tenants() == ["acme", "other"]


async def test_the_census(store: Store) -> None:
    empty = await store.statistics.census(NOW, 10)
    assert set(empty.pending.values()) == {0}
    for key in ("k1", "k2", "k3"):
        state = await ask(store, await begin(store), {**wanted(key=key), "timeoutMs": 100},
                          notify=("web:",))  # fmt: skip
    await accept(store, state)
    await ask(store, await begin(store), wanted("external-event"))
    await store.shelf.file(event("key", 1), b"")
    await store.shelf.file(event("key", 2), b"")
    await store.shelf.shelve("shop", "evt_2")
    await store.shelf.file(event("key", 3), b"")
    await store.shelf.set_aside("shop", "evt_3", "parked", "several waits")
    [message, *_] = await store.deliveries.claim(NOW, "me", 1000, 1)
    await store.deliveries.failed(message, "gone", None, NOW)
    census = await store.statistics.census(NOW + 100, 10)
    assert (census.pending["approval"], census.pending["external-event"]) == (2, 1)
    assert census.late == 2
    assert census.shelf == {"due": 1, "shelved": 1, "parked": 1, "failed": 0}
    assert census.messages == {"due": 2, "dead": 1}
    assert census.outbox == {"due": 0, "dead": 0}
    assert census.unaudited == 9
    assert (await store.statistics.census(NOW + 100, 1)).pending["approval"] == 1
    assert set(empty.pending) == set(census.pending)
