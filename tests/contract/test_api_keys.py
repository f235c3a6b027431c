"""The contract of API keys, the audit trail and the counts: run against every store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from host.audit import Entry, extend, verify
from host.store.keys import StoredKey
from host.store.port import Store
from host.store.postgres.store import PostgresStore
from host.store.records import Conflict
from host.store.sqlite.store import SqliteStore
from tests.contract.test_store import NOW, accept, ask, begin, wanted

Opening = Callable[[], Store]

KEY = StoredKey("shop", "a" * 64, "acme", ("runs:create", "runs:read"), NOW, NOW + 1000)


@pytest.fixture
def sqlite(tmp_path: Path) -> Opening:
    return lambda: SqliteStore(tmp_path / "store.db")


@pytest.fixture
def postgres(postgres_url: str) -> Opening:
    return lambda: PostgresStore(postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
def opening(request: pytest.FixtureRequest) -> Opening:
    chosen: Opening = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
async def store(opening: Opening) -> AsyncIterator[Store]:
    opened = opening()
    await opened.start()
    yield opened
    await opened.stop()


# --- keys -----------------------------------------------------------------------------------------


async def test_a_key_is_found_by_its_digest_alone(store: Store) -> None:
    await store.api_keys.add(KEY)
    assert await store.api_keys.find("a" * 64) == KEY
    assert await store.api_keys.find("b" * 64) is None
    assert await store.api_keys.find("") is None


async def test_a_name_is_a_tenants_own_and_used_once(store: Store) -> None:
    keys = store.api_keys
    await keys.add(KEY)
    with pytest.raises(Conflict):
        await keys.add(replace(KEY, sha256="b" * 64))
    with pytest.raises(Conflict):  # one key is not two
        await keys.add(replace(KEY, key_id="other"))
    await keys.add(replace(KEY, tenant="other", sha256="c" * 64))
    await keys.revoke("acme", "shop", NOW)
    with pytest.raises(Conflict):
        await keys.add(replace(KEY, sha256="d" * 64))


async def test_a_tenant_sees_its_keys_by_name(store: Store) -> None:
    for number, name in enumerate(("zoo", "ant", "mid")):
        await store.api_keys.add(replace(KEY, key_id=name, sha256=f"{number}" * 64))
    await store.api_keys.add(replace(KEY, tenant="other", sha256="f" * 64))
    assert [k.key_id for k in await store.api_keys.of("acme")] == ["ant", "mid", "zoo"]
    assert await store.api_keys.of("nobody") == []


async def test_a_revocation_is_seen_at_once_and_keeps_its_first_time(
    store: Store, opening: Opening
) -> None:
    await store.api_keys.add(KEY)
    assert not await store.api_keys.revoke("other", "shop", NOW)
    assert not await store.api_keys.revoke("acme", "nobody", NOW)
    assert await store.api_keys.revoke("acme", "shop", NOW + 1)
    assert await store.api_keys.revoke("acme", "shop", NOW + 2)
    found = await store.api_keys.find("a" * 64)
    assert found == replace(KEY, revoked_at=NOW + 1)
    assert not found.is_good(NOW)


async def test_the_day_of_use_only_rises(store: Store) -> None:
    await store.api_keys.add(KEY)
    for day in (100, 102, 101):
        await store.api_keys.used("a" * 64, day)
    await store.api_keys.used("b" * 64, 200)  # of no key: nothing happens
    found = await store.api_keys.find("a" * 64)
    assert found == replace(KEY, used_day=102)


async def test_keys_outlive_a_restart(store: Store, opening: Opening) -> None:
    await store.api_keys.add(replace(KEY, expires_at=None))
    await store.stop()
    again = opening()
    await again.start()
    assert await again.api_keys.find("a" * 64) == replace(KEY, expires_at=None)
    await again.stop()
    await store.start()


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"expires_at": NOW + 1}, True),
        ({"expires_at": NOW}, False),
        ({"expires_at": None}, True),
        ({"revoked_at": NOW - 5}, False),
    ],
)
def test_a_key_is_good_until_it_expires_or_is_revoked(
    change: dict[str, int | None], good: bool
) -> None:
    assert replace(KEY, **change).is_good(NOW) is good  # type: ignore[arg-type]


# --- the log in order, and the trail --------------------------------------------------------------


async def test_the_feed_has_every_commit_once_in_order(store: Store) -> None:
    first, second = await begin(store), await begin(store)
    first, second = await ask(store, first), await ask(store, second)
    await accept(store, second)
    whole = await store.feed.read(0, 100)
    assert [c.position for c in whole] == sorted({c.position for c in whole})
    assert [(c.events[0].run_id, c.events[0].type) for c in whole] == [
        (first.run.run_id, "run.started"),
        (second.run.run_id, "run.started"),
        (first.run.run_id, "interrupt.requested"),
        (second.run.run_id, "interrupt.requested"),
        (second.run.run_id, "interrupt.resolved"),
    ]
    for commit in whole:
        run = commit.events[0].run_id
        same = await store.log.events(run, commit.events[0].sequence - 1, 1)
        assert same[0] == commit.events[0]
    assert await store.feed.read(whole[1].position, 2) == whole[2:4]
    assert await store.feed.read(whole[-1].position, 2) == []


async def test_the_trail_is_extended_from_where_it_stands(store: Store) -> None:
    audit = store.audit
    assert (await audit.position(), await audit.last("acme"), await audit.tenants()) == (
        0,
        None,
        [],
    )
    state = await ask(store, await begin(store))
    await accept(store, state)
    commits = await store.feed.read(0, 100)
    ends: dict[str, Entry | None] = {}
    made = tuple(extend(ends, (e for c in commits for e in c.events)))
    await audit.extend(made, 0, commits[-1].position)
    assert await audit.position() == commits[-1].position
    assert await audit.last("acme") == made[-1]
    assert await audit.entries("acme", 0, 100) == list(made)
    assert await audit.entries("acme", 1, 1) == [made[1]]
    assert await audit.tenants() == ["acme"]
    assert list(verify("acme", made)) == []
    with pytest.raises(Conflict):  # somebody else has taken these up
        await audit.extend((replace(made[0], number=9),), 0, commits[-1].position)
    assert await audit.entries("acme", 0, 100) == list(made)
    await audit.extend((), commits[-1].position, commits[-1].position + 1)
    assert await audit.position() == commits[-1].position + 1


async def test_tenants_of_the_trail_are_each_named_once(store: Store) -> None:
    one = Entry("acme", 1, NOW, "requested", "acme/r", 1)
    rows = tuple(
        replace(one, tenant=tenant, number=number)
        for tenant in ("zoo", "acme", "anon:x")
        for number in (1, 2)
    )
    await store.audit.extend(rows, 0, 7)
    assert await store.audit.tenants() == ["acme", "anon:x", "zoo"]


# --- counts ---------------------------------------------------------------------------------------


async def test_what_there_is_to_do_is_counted(store: Store) -> None:
    empty = await store.statistics.census(NOW, 100)
    assert (sum(empty.pending.values()), empty.late, empty.unaudited) == (0, 0, 0)
    late = {**wanted(key="late"), "timeoutMs": 1000}
    await ask(store, await begin(store), late, notify=("web:",))
    await ask(store, await begin(store), wanted("external-event"))
    await accept(store, await ask(store, await begin(store)))
    found = await store.statistics.census(NOW + 500, 100)
    assert found.pending["approval"] == 1
    assert found.pending["external-event"] == 1
    assert found.pending["custom"] == 0
    assert (found.late, found.messages) == (0, {"due": 1, "dead": 0})
    assert found.unaudited == 7
    assert (await store.statistics.census(NOW + 1000, 100)).late == 1
    assert (await store.statistics.census(NOW + 500, 5)).unaudited == 5  # that many or more


async def test_a_dead_message_is_counted_as_dead(store: Store) -> None:
    await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    await store.deliveries.failed(message, "no such channel", None, NOW)
    assert (await store.statistics.census(NOW, 100)).messages == {"due": 0, "dead": 1}
