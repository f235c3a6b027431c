"""Brings a database's schema up to date: each script once, in order, by one process at a time."""

from __future__ import annotations

from importlib import resources
from typing import Any

import asyncpg

from host.store.postgres.database import Database
from host.store.records import StoreUnavailable

MIGRATIONS = (
    "schema.sql",
    "functions.sql",
    "003_shelf.sql",
    "004_documents.sql",
    "005_retention.sql",
)
"""Scripts in the order in which they were written. `sayso_schema` lists the numbers of those applied.

A replica of the version before goes on working while a newer one is started, so a script adds and does
not take away; a function that needs other arguments gets another name.
"""

_LOCK = (1396790879, 1)
_SECONDS = 300.0
_OLDEST = 14


async def migrate(database: Database) -> None:
    """Apply what is missing. Several replicas may start at once: one works and the others wait for it.

    Raises `StoreUnavailable` with what to do, also for a schema that is newer than this program.
    """
    folder = resources.files("host.store.postgres")
    scripts = [folder.joinpath(name).read_text(encoding="utf-8") for name in MIGRATIONS]
    await database.call(lambda connection: _migrate(connection, scripts), _SECONDS)


async def version_of(database: Database) -> int:
    """How many scripts the database has seen; 0 for none. Changes nothing. Raises `StoreUnavailable`."""
    found = await database.one("SELECT to_regclass('sayso_schema') IS NOT NULL")
    if found is None or not found[0]:
        return 0
    row = await database.one("SELECT coalesce(max(version), 0) FROM sayso_schema")
    return int(row[0]) if row else 0


async def _migrate(connection: asyncpg.Connection[Any], scripts: list[str]) -> None:
    await _check_server(connection)
    async with connection.transaction():
        await connection.execute(f"SET LOCAL statement_timeout = {round(_SECONDS * 1000)}")
        # Two ints: the locks of two other parties that also number theirs from 1 don't meet ours. CREATE
        # TABLE IF NOT EXISTS is itself not safe against another one, so it comes after the lock.
        await connection.execute("SELECT pg_advisory_xact_lock($1::int, $2::int)", *_LOCK)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS sayso_schema "
            "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        have = await connection.fetchval("SELECT coalesce(max(version), 0) FROM sayso_schema")
        if have > len(scripts):
            raise StoreUnavailable(
                f"The database was written by a newer Sayso (schema {have}; this one knows "
                f"{len(scripts)}). Upgrade Sayso, or restore a backup."
            )
        for number, script in enumerate(scripts[have:], start=have + 1):
            await connection.execute(script)
            await connection.execute("INSERT INTO sayso_schema (version) VALUES ($1)", number)
        # In a cluster into which a dump was loaded, transaction ids (and with them the positions of the
        # log) would begin below those that are there.
        await connection.execute(
            "UPDATE log_base SET base = l.last FROM (SELECT max(position) AS last FROM log) AS l "
            "WHERE l.last >= base + pg_current_xact_id()::text::bigint * 1024"
        )


async def _check_server(connection: asyncpg.Connection[Any]) -> None:
    version = connection.get_server_version().major
    if version < _OLDEST:
        raise StoreUnavailable(f"This is PostgreSQL {version}. Sayso needs {_OLDEST} or newer.")
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"The database's encoding is {encoding}, which can't keep every text. Create it with "
            "ENCODING 'UTF8' TEMPLATE template0."
        )
