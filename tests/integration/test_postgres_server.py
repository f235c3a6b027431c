"""PostgreSQL: the schema, wrong settings, and a server that is away."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

import asyncpg
import pytest

from host.store.postgres import migrations
from host.store.postgres.store import PostgresStore
from host.store.records import StoreUnavailable
from tests.contract.test_store import NOW, accept, ask, begin
from tests.fakes.postgres import PostgresServer, opened, rows, until


@pytest.fixture(autouse=True)
def every_event_is_checked() -> None:
    """Not here: the runs of these tests are bare, and what is tested is where their events go."""


async def test_two_that_start_at_once_on_an_empty_database(postgres_url: str) -> None:
    starting = [PostgresStore(postgres_url) for _ in range(6)]
    await asyncio.gather(*(store.start() for store in starting))
    versions = await rows(postgres_url, "SELECT version FROM sayso_schema ORDER BY version")
    assert [row[0] for row in versions] == [*range(1, len(migrations.MIGRATIONS) + 1)]
    state = await begin(starting[0])
    assert await starting[5].log.run(state.run.run_id) == state.run
    await asyncio.gather(*(store.stop() for store in starting))


async def test_a_newer_schema_is_refused_with_what_to_do(postgres_url: str) -> None:
    async with opened(postgres_url):
        await rows(postgres_url, "INSERT INTO sayso_schema (version) VALUES (99)")
    with pytest.raises(StoreUnavailable, match=r"newer Sayso \(schema 99.*Upgrade Sayso"):
        await PostgresStore(postgres_url).start()


async def test_a_migration_that_fails_leaves_nothing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", ("schema.sql", "schema.sql"))
    with pytest.raises(StoreUnavailable, match="DuplicateTable"):
        await PostgresStore(postgres_url).start()
    left = await rows(postgres_url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")
    assert left == []


async def test_another_encoding_is_refused(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    await postgres_server.command("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    try:
        with pytest.raises(StoreUnavailable, match=r"encoding is LATIN1.*UTF8"):
            await PostgresStore(postgres_server.url("latin")).start()
    finally:
        await postgres_server.command("DROP DATABASE latin")


@pytest.mark.parametrize(
    "url", ["postgresql://u:hunter2@[::/d", "mysql://u:hunter2@h/d", "hunter2"]
)
async def test_a_wrong_url_is_not_repeated(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="must look like postgresql://") as caught:
        await PostgresStore(url).start()
    assert "hunter2" not in str(caught.value)


async def test_a_database_that_does_not_exist_is_named(postgres_server: PostgresServer) -> None:
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        await PostgresStore(postgres_server.url("nowhere")).start()


async def test_the_tables_are_made_where_the_search_path_says(postgres_url: str) -> None:
    await rows(postgres_url, "CREATE SCHEMA elsewhere")
    async with opened(postgres_url + "&search_path=elsewhere") as store:
        state = await accept(store, await ask(store, await begin(store)))
        assert await store.log.run(state.run.run_id) == state.run
    found = await rows(postgres_url, "SELECT schemaname FROM pg_tables WHERE tablename = 'runs'")
    assert [row[0] for row in found] == ["elsewhere"]


async def test_a_role_that_may_not_create_tables_is_told_so(postgres_url: str) -> None:
    await rows(postgres_url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    await rows(postgres_url, "CREATE ROLE bare LOGIN")
    try:
        with pytest.raises(StoreUnavailable, match="permission denied for schema public"):
            await PostgresStore(postgres_url.replace("postgres@", "bare@")).start()
    finally:
        await rows(postgres_url, "DROP ROLE bare")


async def test_what_is_acknowledged_is_on_the_disk_whatever_the_default_says(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    name = postgres_url.partition("@/")[2].partition("?")[0]
    await postgres_server.command(f"ALTER DATABASE {name} SET synchronous_commit = off")
    await postgres_server.command(
        f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
    )
    async with opened(postgres_url) as store:
        for setting, value in (
            ("synchronous_commit", "on"),
            ("transaction_isolation", "read committed"),
        ):
            row = await store._db.one(f"SELECT current_setting('{setting}')")
            assert row is not None
            assert row[0] == value


async def test_every_statement_of_the_hot_path_goes_through_an_index(postgres_url: str) -> None:
    """Plans that are made on empty tables stay in the cache while the tables grow."""
    async with opened(postgres_url) as store:
        for sql, arg in (
            ("SELECT head FROM runs WHERE run_id = ANY ($1::text[])", ["a"]),
            ("SELECT 1 FROM messages WHERE due_at <= $1 ORDER BY due_at LIMIT 5", 1),
            ("SELECT 1 FROM shelf WHERE state = 'due' AND received_at <= $1", 1),
            ("SELECT scope FROM replies WHERE at < $1 ORDER BY at LIMIT 5", 1),
        ):
            plan = "\n".join(row[0] for row in await store._db.fetch("EXPLAIN " + sql, arg))
            assert "Index" in plan
            assert "Seq Scan" not in plan


async def test_a_server_that_stops_and_comes_back(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    async with opened(postgres_url) as store:
        state = await ask(store, await begin(store))
        assert await store.healthy()
        await asyncio.to_thread(postgres_server.stop)
        try:
            assert not await store.healthy()
            for call in (
                lambda: store.log.run(state.run.run_id),
                lambda: store.log.interrupt(state.interrupt.interrupt_id),
                lambda: accept(store, state),
                lambda: store.deliveries.claim(NOW, "me", 1000, 10),
                lambda: store.shelf.shelve("shop", "evt_1"),
            ):
                with pytest.raises(StoreUnavailable):
                    await call()
            with pytest.raises(StoreUnavailable, match="Cannot open the PostgreSQL database"):
                await PostgresStore(postgres_url).start()
        finally:
            await asyncio.to_thread(postgres_server.start)
        await until(store.healthy)
        assert (await accept(store, state)).interrupt.status == "resolved"


async def test_a_backend_that_is_killed_costs_its_callers_one_error(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        state = await ask(store, await begin(store))
        blocker = await asyncpg.connect(postgres_url)
        transaction = blocker.transaction()
        await transaction.start()
        await blocker.execute("SELECT 1 FROM runs FOR UPDATE")
        accepting = asyncio.create_task(accept(store, state))

        async def killed() -> bool:
            return bool(
                await rows(
                    postgres_url,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'sayso' AND wait_event_type = 'Lock'",
                )
            )

        await until(killed)
        with pytest.raises(StoreUnavailable):
            await accepting
        await transaction.rollback()
        await blocker.close()
        assert (await accept(store, state)).interrupt.status == "resolved"


async def test_a_statement_that_waits_too_long_is_given_up_and_changes_nothing(
    postgres_url: str,
) -> None:
    async with opened(postgres_url, deadline=0.5) as store:
        state = await ask(store, await begin(store))
        blocker = await asyncpg.connect(postgres_url)
        transaction = blocker.transaction()
        await transaction.start()
        await blocker.execute("SELECT 1 FROM runs FOR UPDATE")
        with pytest.raises(StoreUnavailable):
            await accept(store, state)
        await transaction.rollback()
        await blocker.close()
        assert await store.log.run(state.run.run_id) == state.run
        assert (await accept(store, state)).interrupt.status == "resolved"


async def test_a_server_that_hangs_does_not_hang_its_callers(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    """Stopped processes keep their sockets open and never answer, as a dead network does."""
    async with opened(postgres_url, deadline=0.5) as store:
        state = await begin(store)
        pids = [postgres_server.postmaster]
        pids += [row[0] for row in await rows(postgres_url, "SELECT pid FROM pg_stat_activity")]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(60):
                with pytest.raises(StoreUnavailable):
                    await store.log.run(state.run.run_id)
                assert not await store.healthy()
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        await until(store.healthy)
        assert await store.log.run(state.run.run_id) == state.run


async def test_after_stop_every_call_says_closed(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    await store.start()
    await store.stop()
    await store.stop()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.log.run("acme/x")


async def test_stopping_lets_what_is_queued_be_committed(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    await store.start()
    states = [asyncio.create_task(begin(store)) for _ in range(50)]
    await asyncio.sleep(0)  # they have queued up now, and none is answered
    assert not any(task.done() for task in states)
    await store.stop()
    begun = await asyncio.gather(*states)
    async with opened(postgres_url) as again:
        for state in begun:
            assert await again.log.run(state.run.run_id) == state.run
