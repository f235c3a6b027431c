"""Subscriptions of outbound webhooks, and what becomes of it all over a restart and an upgrade."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from host.store.port import Store
from host.store.records import Conflict, Reply
from host.store.sqlite.store import MIGRATIONS, SqliteStore
from tests.contract.webhook_store import (
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
    subscription,
)

__all__ = ["opening", "postgres", "sqlite", "store"]


# --- subscriptions --------------------------------------------------------------------------------


async def test_a_subscription_is_read_back_whole(store: Store) -> None:
    one = subscription(tags=("a", "b"), algorithms=("v1", "standard-webhooks-1"), secret_made=True)
    await store.subscriptions.add(one)
    assert await store.subscriptions.get(one.webhook_id) == one
    assert one.secret not in repr(one)
    assert await store.subscriptions.get("acme/0123456789abcdef0123") is None


async def test_subscriptions_of_a_tenant_oldest_first(store: Store) -> None:
    late, early = subscription(at=NOW + 5), subscription(at=NOW)
    for one in (late, early, subscription("other")):
        await store.subscriptions.add(one)
    assert await store.subscriptions.of("acme") == [early, late]


async def test_an_answer_is_kept_with_the_change_or_neither(store: Store) -> None:
    reply = Reply("scope", "digest", 201, b"{}")
    first, second = subscription(), subscription()
    await store.subscriptions.add(first, reply)
    assert await store.replies.find("scope") == reply
    with pytest.raises(Conflict):
        await store.subscriptions.add(second, reply)
    assert await store.subscriptions.get(second.webhook_id) is None
    with pytest.raises(Conflict):
        await store.subscriptions.rotate(first.webhook_id, "x" * 20, NOW, NOW, reply)
    with pytest.raises(Conflict):
        await store.subscriptions.remove(first.webhook_id, NOW, reply)
    assert await store.subscriptions.get(first.webhook_id) == first


async def test_a_kept_answer_is_not_forgotten_at_once(store: Store) -> None:
    one = subscription()
    await store.subscriptions.add(one)
    await store.subscriptions.rotate(
        one.webhook_id, "n" * 20, NOW + 9, NOW, Reply("rotated", "d", 200, b"{}")
    )
    await store.subscriptions.remove(one.webhook_id, NOW, Reply("removed", "d", 204, b"{}"))
    assert await store.replies.forget(NOW) == 0


async def test_a_rotated_secret_signs_beside_the_new_one_for_a_while(store: Store) -> None:
    webhook_id = await subscribed(store, secret_made=True)
    assert await store.subscriptions.rotate(webhook_id, "the-new-secret-here", NOW + 10, NOW)
    found = await store.subscriptions.get(webhook_id)
    assert found is not None
    assert (found.secret, found.previous_secret) == ("the-new-secret-here", "a-secret-of-the-test")
    assert (found.previous_until, found.secret_made) == (NOW + 10, False)
    await store.outbox.forget(0, NOW + 9)
    assert (await store.subscriptions.get(webhook_id)) == found
    await store.outbox.forget(0, NOW + 10)
    later = await store.subscriptions.get(webhook_id)
    assert later is not None
    assert later.previous_secret == ""
    assert not await store.subscriptions.rotate("acme/0123456789abcdef0123", "x", 0, 0)


# --- durability -----------------------------------------------------------------------------------


async def test_what_is_owed_survives_a_restart(opening: Callable[[], Store]) -> None:
    first = opening()
    await first.start()
    webhook_id = await subscribed(first)
    state = await begin(first)
    await first.stop()
    second = opening()
    await second.start()
    assert await drain(second, webhook_id) == [(state.run.run_id, 0)]
    await second.stop()


async def test_sqlite_gives_back_the_leases_of_a_process_that_died(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "store.db")
    await first.start()
    webhook_id = await subscribed(first)
    await begin(first)
    assert await claim(first, webhook_id)
    await first.stop()
    second = SqliteStore(tmp_path / "store.db")
    await second.start()
    [again] = await claim(second, webhook_id)
    assert again.attempts == 0
    await second.stop()


async def test_a_database_of_version_1_with_data_is_upgraded(tmp_path: Path) -> None:
    """Made by the first script alone, with a run in it; then opened by this version."""
    path = tmp_path / "store.db"
    script = resources.files("host.store.sqlite").joinpath(MIGRATIONS[0]).read_text("utf-8")
    fresh = SqliteStore(tmp_path / "other.db")
    await fresh.start()
    state = await begin(fresh)
    await fresh.stop()
    old = sqlite3.connect(path)
    old.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = 1;\nCOMMIT;")
    old.execute("ATTACH ? AS other", (str(tmp_path / "other.db"),))
    for table, columns in (
        ("runs", "run_id, version, wake_at, head"),
        ("log", "run_id, sequence, at, events"),
    ):
        old.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM other.{table}")
    old.commit()
    old.close()

    store = SqliteStore(path)
    await store.start()
    run = await store.log.run(state.run.run_id)
    assert run == state.run
    webhook_id = await subscribed(store)
    await note(store, state)
    assert await drain(store, webhook_id) == [(state.run.run_id, 1)]
    await store.stop()
    found = sqlite3.connect(path)
    assert found.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    found.close()


async def test_sqlite_asks_once_per_append_when_nobody_subscribed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.start()
    statements: list[str] = []
    writer = store._db._writer
    assert writer is not None
    writer.set_trace_callback(statements.append)
    await begin(store)
    asked = [s for s in statements if "subscriptions" in s or "outbox" in s]
    assert len(asked) == 1
    plan = writer.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert "USING INDEX subscriptions_by_tenant" in plan[0][3]
    await store.stop()
