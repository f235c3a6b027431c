"""A gateway on a database of each earlier schema, with what the Sayso of that schema wrote into it.

`tests/upgrade/fill.py` says how the files were made. A version between two of them gets the rows of the one
before it, or, before the first, of the first.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from gateway.audit import AuditWorker
from host.audit import compare, fact_of, verify
from host.store.postgres import migrations
from host.store.postgres.store import PostgresStore
from host.store.sqlite.store import MIGRATIONS, SqliteStore, scripts
from schemas.ids import path_segment
from tests.fakes.postgres import opened
from tests.integration.conftest import Api

Start = Callable[..., Awaitable[Api]]

_DATA = Path(__file__).parents[1] / "data" / "upgrade"
_POSTGRES = [
    (Path(migrations.__file__).parent / name).read_text() for name in migrations.MIGRATIONS
]


@pytest.fixture(autouse=True)
def every_event_is_checked() -> None:
    """Not here: the events are those of an older Sayso."""


def tables_of(kind: str, version: int) -> dict[str, list[dict[str, Any]]]:
    """The rows for a database of this schema. Remembered replies are made young again."""
    files = {int(p.stem.partition("-")[2]): p for p in _DATA.glob(f"{kind}-*.json")}
    chosen = max((v for v in files if v <= version), default=min(files))
    tables: dict[str, list[dict[str, Any]]] = json.loads(files[chosen].read_text())["tables"]
    for row in tables["replies"]:
        row["at"] = time.time_ns() // 1_000_000
    return tables


def _value(value: Any) -> Any:
    return value["bytes"].encode() if isinstance(value, dict) else value


def old_sqlite(path: Path, version: int) -> None:
    with sqlite3.connect(path) as connection:
        for script in scripts()[:version]:
            connection.executescript(script)
        for table, rows in tables_of("sqlite", version).items():
            connection.execute(f"DELETE FROM {table}")
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(
                    f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})",
                    [_value(value) for value in row.values()],
                )
        connection.execute(f"PRAGMA user_version = {version}")


async def old_postgres(url: str, version: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "CREATE TABLE sayso_schema "
            "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        for number, script in enumerate(_POSTGRES[:version], start=1):
            await connection.execute(script)
            await connection.execute("INSERT INTO sayso_schema (version) VALUES ($1)", number)
        for table, rows in tables_of("postgres", version).items():
            await connection.execute(f"DELETE FROM {table}")
            for row in rows:
                marks = ", ".join(f"${n}" for n in range(1, len(row) + 1))
                await connection.execute(
                    f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})",
                    *[_value(value) for value in row.values()],
                )
    finally:
        await connection.close()


def sqlite_schema(path: Path) -> set[tuple[str, ...]]:
    with sqlite3.connect(path) as connection:
        found = connection.execute(
            "SELECT m.type, m.name, coalesce(c.name, ''), coalesce(c.type, '') FROM sqlite_schema m "
            "LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table'"
        )
        return set(found.fetchall())


async def postgres_schema(url: str) -> set[tuple[str, ...]]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "SELECT 'column', table_name::text, column_name::text, data_type::text "
            "FROM information_schema.columns WHERE table_schema = 'public' "
            "UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes "
            "WHERE schemaname = 'public' UNION ALL SELECT 'function', proname, "
            "pg_get_function_identity_arguments(oid), md5(prosrc) FROM pg_proc "
            "WHERE pronamespace = 'public'::regnamespace "
            "UNION ALL SELECT 'trigger', tgname, '', '' FROM pg_trigger WHERE NOT tgisinternal"
        )
        return {tuple(row) for row in rows}
    finally:
        await connection.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
async def test_sqlite(version: int, start: Start, tmp_path: Path) -> None:
    data = tmp_path / "old"
    data.mkdir(mode=0o700)
    old_sqlite(data / "sayso.db", version)
    api = await start(data_dir=data, approvals={"unlisted": "anyone"})
    await everything_goes_on(api)
    fresh = SqliteStore(tmp_path / "fresh.db")
    await fresh.start()
    await fresh.stop()
    assert sqlite_schema(data / "sayso.db") == sqlite_schema(tmp_path / "fresh.db")


@pytest.mark.parametrize("version", range(1, len(migrations.MIGRATIONS)))
async def test_postgres(version: int, start: Start, postgres_url: str) -> None:
    async with opened(postgres_url):
        fresh = await postgres_schema(postgres_url)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await connection.close()
    await old_postgres(postgres_url, version)
    api = await start(store={"url": postgres_url}, approvals={"unlisted": "anyone"})
    await everything_goes_on(api)
    assert await postgres_schema(postgres_url) == fresh


async def test_replicas_that_start_at_once_on_an_old_database_upgrade_it_once(
    postgres_url: str,
) -> None:
    await old_postgres(postgres_url, 2)
    starting = [PostgresStore(postgres_url) for _ in range(6)]
    await asyncio.gather(*(store.start() for store in starting))
    found = await starting[0]._db.fetch("SELECT version FROM sayso_schema ORDER BY version")
    assert [row[0] for row in found] == [*range(1, len(migrations.MIGRATIONS) + 1)]
    await asyncio.gather(*(store.stop() for store in starting))


async def everything_goes_on(api: Api) -> None:
    """What was open can be answered, what was decided stays so, what was remembered is said again."""
    _, listed, _ = await api.call("GET", "/host/sayso/interrupts?limit=50")
    found = {one["key"]: one for one in listed["interrupts"]}
    assert {key: one["status"] for key, one in found.items()} == {
        "open": "open",
        "clarify": "open",
        "waiting": "open",
        "resolved": "resolved",
        "cancelled": "cancelled",
    }
    for key, value in (("open", {"action": "accept"}), ("clarify", {"answers": {"q": "this"}})):
        status, body, _ = await _resolve(api, found[key], value)
        assert status == 200, body
    told = await _resolve(
        api, found["resolved"], {"action": "accept"}, "the-idempotency-key-of-resolved"
    )
    assert (told[0], told[2].get("OpenWOP-Idempotent-Replay")) == (200, "true")
    status, body, _ = await _resolve(api, found["resolved"], {"action": "reject"})
    assert (status, body["error"]) == (409, "interrupt_already_resolved")
    _, again, _ = await api.call("GET", _record(found["resolved"]))
    assert again["resumeValue"]["action"] == "accept"
    assert [message["address"] for message in again["messages"]] == [""]
    shelf = api.gateway.host.store.shelf
    kept, failed = await shelf.get("shop", "evt_kept"), await shelf.get("shop", "evt_unmapped")
    assert kept is not None
    assert failed is not None
    assert (kept.state, kept.several, kept.expires_at) == ("shelved", "all", None)
    assert failed.state == "failed"
    await _a_payment_comes(api, found["waiting"])
    await _the_audit_trail_is_whole(api)


async def _resolve(
    api: Api, interrupt: dict[str, Any], value: Any, key: str = ""
) -> tuple[int, Any, Any]:
    path = f"/runs/{path_segment(interrupt['runId'])}/interrupts/gate"
    headers = {"Idempotency-Key": key} if key else {}
    return await api.call("POST", path, {"resumeValue": value}, headers=headers)


def _record(interrupt: dict[str, Any]) -> str:
    return f"/host/sayso/interrupts/{path_segment(interrupt['interruptId'])}"


async def _a_payment_comes(api: Api, waiting: dict[str, Any]) -> None:
    from gateway.shelving import ShelfWorker
    from host.decisions.request import match_key
    from host.store.shelf import ShelvedEvent

    host = api.gateway.host
    event = ShelvedEvent(
        "shop", "evt_paid", "acme", "paid", match_key("acme", "paid", {"order": "7"}), {"ok": 1},
        host.clock(), correlation={"order": "7"},
    )  # fmt: skip
    assert await host.store.shelf.file(event, b"{}")
    async with asyncio.timeout(60):
        while (await api.call("GET", _record(waiting)))[1]["status"] != "resolved":
            await ShelfWorker(host).once()


async def _the_audit_trail_is_whole(api: Api) -> None:
    host = api.gateway.host
    feed, trail = host.store.feed, host.store.audit
    async with asyncio.timeout(60):
        while await feed.read(await trail.position(), 1):
            await AuditWorker(host).once()
    entries = await trail.entries("acme", 0, 1000)
    events = [e for commit in await feed.read(0, 1000) for e in commit.events]
    facts = [fact for fact in map(fact_of, events) if fact is not None]
    assert len(entries) == len(facts) > 8
    assert not [*verify("acme", entries), *compare(entries, facts)]


@pytest.mark.parametrize("name", [*migrations.MIGRATIONS, *MIGRATIONS])
def test_a_migration_takes_nothing_away(name: str) -> None:
    """Replicas of the version before go on while a newer one is started: no script may drop, rename or retype
    what they use, nor demand a value that they don't write."""
    folders = Path(migrations.__file__).parents[1]
    for folder in ("postgres", "sqlite"):
        path = folders / folder / name
        if path.exists():
            assert not taken_away(path.read_text()), path


_TAKES = re.compile(
    r"\b(drop|truncate|rename)\b|\balter\s+column\b"
    r"|\balter\s+table\b.*\badd\s+(constraint|check|unique|foreign)\b",
    re.I | re.S,
)
_ADDS = re.compile(r"\badd\s+column\b[^,;]*", re.I)


def taken_away(script: str) -> list[str]:
    """What in a script an older replica would not survive."""
    plain = re.sub(r"--[^\n]*|\$\$.*?\$\$|'[^']*'", "''", script, flags=re.S)
    bad = [statement for statement in plain.split(";") if _TAKES.search(statement)]
    for column in _ADDS.findall(plain):
        words = column.lower().split()
        if "not" in words and "default" not in words:
            bad.append(column)
    return bad


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("ALTER TABLE runs DROP COLUMN head;", 1),
        ("ALTER TABLE runs RENAME TO walks;", 1),
        ("ALTER TABLE runs ALTER COLUMN version TYPE text;", 1),
        ("ALTER TABLE runs ADD COLUMN a int NOT NULL, ADD COLUMN b int;", 1),
        ("ALTER TABLE runs ADD CONSTRAINT c CHECK (version > 0);", 1),
        ("DROP FUNCTION sayso_append;", 1),
        (
            "ALTER TABLE runs ADD COLUMN a int NOT NULL DEFAULT 0; CREATE TABLE t (a int NOT NULL);",
            0,
        ),
        ("-- DROP TABLE runs;\nCREATE INDEX i ON runs (version);", 0),
    ],
)
def test_what_takes_away_is_seen(script: str, count: int) -> None:
    assert len(taken_away(script)) == count
