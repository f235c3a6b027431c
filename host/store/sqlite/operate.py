"""What operators keep and ask for in SQLite: API keys, the audit trail, counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final, get_args

import orjson

from host.audit import Entry
from host.store import codec
from host.store.audit import LoggedCommit
from host.store.census import Census
from host.store.keys import StoredKey
from host.store.records import Conflict
from host.store.rows import load_entry
from host.store.sqlite.database import Database
from schemas.payloads import Kind

_KEY: Final = "key_id, sha256, tenant, scopes, created_at, expires_at, revoked_at, used_day"


class SqliteApiKeys:
    """`host.store.keys.ApiKeys`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, key: StoredKey) -> None:
        scopes = orjson.dumps(key.scopes).decode()
        row = (key.key_id, key.sha256, key.tenant, scopes, key.created_at, key.expires_at)
        await self._db.write(
            lambda c: (
                c.execute(
                    "INSERT INTO api_keys (key_id, sha256, tenant, scopes, created_at, expires_at) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    row,
                ).rowcount
            )
        )

    async def find(self, sha256: str) -> StoredKey | None:
        row = self._db.one(f"SELECT {_KEY} FROM api_keys WHERE sha256 = ?", (sha256,))  # noqa: S608
        return _stored_key(row) if row else None

    async def of(self, tenant: str) -> list[StoredKey]:
        sql = f"SELECT {_KEY} FROM api_keys WHERE tenant = ? ORDER BY key_id"  # noqa: S608
        return [_stored_key(row) for row in self._db.read(sql, (tenant,))]

    async def revoke(self, tenant: str, key_id: str, now: int) -> bool:
        return await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) "
                    "WHERE tenant = ? AND key_id = ?",
                    (now, tenant, key_id),
                ).rowcount
                == 1
            )
        )

    async def used(self, sha256: str, day: int) -> None:
        await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE api_keys SET used_day = ?2 WHERE sha256 = ?1 "
                    "AND coalesce(used_day, -1) < ?2",
                    (sha256, day),
                ).rowcount
            )
        )


class SqliteFeed:
    """`host.store.audit.Feed`. One writer commits one after the other, so positions have no gap."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def read(self, after: int, limit: int) -> list[LoggedCommit]:
        rows = self._db.read(
            "SELECT position, run_id, sequence, at, events FROM log WHERE position > ? "
            "ORDER BY position LIMIT ?",
            (after, limit),
        )
        return [LoggedCommit(row[0], tuple(codec.load_events(*row[1:]))) for row in rows]


class SqliteAudit:
    """`host.store.audit.AuditTrail`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def position(self) -> int:
        row = self._db.one("SELECT position FROM audit_position")
        return int(row[0]) if row else 0

    async def last(self, tenant: str) -> Entry | None:
        row = self._db.one(
            "SELECT body FROM audit WHERE tenant = ? ORDER BY number DESC LIMIT 1", (tenant,)
        )
        return load_entry(row) if row else None

    async def extend(self, entries: tuple[Entry, ...], after: int, position: int) -> None:
        def job(connection: sqlite3.Connection) -> None:
            moved = connection.execute(
                "UPDATE audit_position SET position = ? WHERE position = ?", (position, after)
            )
            if moved.rowcount != 1:
                raise Conflict("the audit trail has moved on")
            connection.executemany(
                "INSERT INTO audit VALUES (?, ?, ?)",
                [(e.tenant, e.number, orjson.dumps(e)) for e in entries],
            )

        await self._db.write(job)

    async def entries(self, tenant: str, after: int, limit: int) -> list[Entry]:
        rows = self._db.read(
            "SELECT body FROM audit WHERE tenant = ? AND number > ? ORDER BY number LIMIT ?",
            (tenant, after, limit),
        )
        return [load_entry(row) for row in rows]

    async def tenants(self) -> list[str]:
        # A hop from tenant to tenant through the primary key, and never a scan of all entries.
        rows = self._db.read(
            "WITH RECURSIVE t(tenant) AS (SELECT min(tenant) FROM audit UNION ALL "
            "SELECT (SELECT min(a.tenant) FROM audit a WHERE a.tenant > t.tenant) FROM t "
            "WHERE t.tenant IS NOT NULL) SELECT tenant FROM t WHERE tenant IS NOT NULL"
        )
        return [row[0] for row in rows]


class SqliteStatistics:
    """`host.store.census.Statistics`. Each count reads a partial index."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def census(self, now: int, most: int) -> Census:
        kinds: Iterable[str] = get_args(Kind)
        count = self._count
        pending = "interrupts WHERE status = 'open' AND"
        return Census(
            pending={kind: count(f"{pending} kind = ?", most, kind) for kind in kinds},
            late=count(f"{pending} deadline IS NOT NULL AND deadline <= ?", most, now),
            shelf={
                state: count(f"shelf WHERE state = '{state}'", most)
                for state in ("due", "shelved", "parked", "failed")
            },
            messages={
                "due": count("messages WHERE due_at IS NOT NULL AND due_at <= ?", most, now),
                "dead": count("messages WHERE due_at IS NULL AND shown < wanted", most),
            },
            outbox={
                "due": count("outbox WHERE due_at IS NOT NULL AND due_at <= ?", most, now),
                "dead": count("outbox WHERE died_at IS NOT NULL", most),
            },
            unaudited=count("log WHERE position > (SELECT position FROM audit_position)", most),
        )

    def _count(self, what: str, most: int, *args: object) -> int:
        row = self._db.one(
            f"SELECT count(*) FROM (SELECT 1 FROM {what} LIMIT ?)",  # noqa: S608 - fixed texts
            (*args, most),
        )
        return int(row[0]) if row else 0


def _stored_key(row: Any) -> StoredKey:
    return StoredKey(
        key_id=row[0],
        sha256=row[1],
        tenant=row[2],
        scopes=tuple(orjson.loads(row[3])),
        created_at=row[4],
        expires_at=row[5],
        revoked_at=row[6],
        used_day=row[7],
    )
