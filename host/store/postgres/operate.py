"""What operators keep and ask for in PostgreSQL: API keys, the audit trail, counts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, get_args

import orjson

from host.audit import Entry
from host.store import codec
from host.store.audit import LoggedCommit
from host.store.census import Census
from host.store.keys import StoredKey
from host.store.postgres.batches import Batches
from host.store.postgres.database import Database
from host.store.records import Conflict
from host.store.rows import load_entry
from schemas.payloads import Kind

_KEY: Final = "key_id, sha256, tenant, scopes, created_at, expires_at, revoked_at, used_day"
_OPEN: Final = "interrupts WHERE status = 'open' AND"
_COUNTED: Final = {
    **{f"pending.{kind}": f"{_OPEN} kind = '{kind}'" for kind in get_args(Kind)},
    "late": f"{_OPEN} deadline IS NOT NULL AND deadline <= $1",
    **{
        f"shelf.{state}": f"shelf WHERE state = '{state}'"
        for state in ("due", "shelved", "parked", "failed")
    },
    "messages.due": "messages WHERE due_at IS NOT NULL AND due_at <= $1",
    "messages.dead": "messages WHERE due_at IS NULL AND shown < wanted",
    "outbox.due": "outbox WHERE due_at IS NOT NULL AND due_at <= $1",
    "outbox.dead": "outbox WHERE died_at IS NOT NULL",
    "unaudited": "log WHERE position > (SELECT position FROM audit_position)",
}
_COUNTS: Final = (
    f"(SELECT count(*) FROM (SELECT FROM {what} LIMIT $2) AS found)"  # noqa: S608 - fixed texts
    for what in _COUNTED.values()
)
_CENSUS: Final = "SELECT " + ", ".join(_COUNTS)


class PostgresApiKeys:
    """`host.store.keys.ApiKeys`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._reads: Batches[str, StoredKey | None] = Batches(self._read)

    async def finish(self) -> None:
        """Wait for what is queued."""
        await self._reads.finish()

    async def add(self, key: StoredKey) -> None:
        await self._db.fetch(
            "INSERT INTO api_keys (key_id, sha256, tenant, scopes, created_at, expires_at) "
            "VALUES ($1, $2, $3, $4, $5, $6)",
            key.key_id,
            key.sha256,
            key.tenant,
            list(key.scopes),
            key.created_at,
            key.expires_at,
        )

    async def find(self, sha256: str) -> StoredKey | None:
        return await self._reads(sha256)

    async def of(self, tenant: str) -> list[StoredKey]:
        rows = await self._db.fetch(
            f"SELECT {_KEY} FROM api_keys WHERE tenant = $1 ORDER BY key_id",  # noqa: S608
            tenant,
        )
        return [_stored_key(row) for row in rows]

    async def revoke(self, tenant: str, key_id: str, now: int) -> bool:
        rows = await self._db.fetch(
            "UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3) "
            "WHERE tenant = $1 AND key_id = $2 RETURNING 1",
            tenant,
            key_id,
            now,
        )
        return len(rows) == 1

    async def used(self, sha256: str, day: int) -> None:
        await self._db.fetch(
            "UPDATE api_keys SET used_day = $2 WHERE sha256 = $1 AND coalesce(used_day, -1) < $2",
            sha256,
            day,
        )

    async def _read(self, digests: list[str]) -> list[StoredKey | Exception | None]:
        rows = await self._db.fetch(
            f"SELECT {_KEY} FROM api_keys WHERE sha256 = ANY ($1::text[])",  # noqa: S608
            digests,
        )
        found = {row[1]: _stored_key(row) for row in rows}
        return [found.get(digest) for digest in digests]


class PostgresFeed:
    """`host.store.audit.Feed`. What it says of positions is in functions.sql, at `sayso_append`.

    A transaction that writes and stays open for long, anyone's in the whole cluster, holds it up.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def read(self, after: int, limit: int) -> list[LoggedCommit]:
        rows = await self._db.fetch(
            "SELECT position, run_id, sequence, at, events FROM log WHERE position > $1 "
            "AND position < (SELECT base FROM log_base) "
            "+ pg_snapshot_xmin(pg_current_snapshot())::text::bigint * 1024 "
            "ORDER BY position LIMIT $2",
            after,
            limit,
        )
        return [
            LoggedCommit(row[0], tuple(codec.load_events(*row[1:]))) for row in map(tuple, rows)
        ]


class PostgresAudit:
    """`host.store.audit.AuditTrail`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def position(self) -> int:
        row = await self._db.one("SELECT position FROM audit_position")
        return int(row[0]) if row else 0

    async def last(self, tenant: str) -> Entry | None:
        row = await self._db.one(
            "SELECT body FROM audit WHERE tenant = $1 ORDER BY number DESC LIMIT 1", tenant
        )
        return load_entry(row) if row else None

    async def extend(self, entries: tuple[Entry, ...], after: int, position: int) -> None:
        moved = await self._db.fetch(
            "WITH moved AS (UPDATE audit_position SET position = $2 WHERE position = $1 RETURNING 1),"
            " kept AS (INSERT INTO audit (tenant, number, body) SELECT tenant, number, body "
            "FROM unnest($3::text[], $4::bigint[], $5::bytea[]) AS e(tenant, number, body), moved) "
            "SELECT 1 FROM moved",
            after,
            position,
            [e.tenant for e in entries],
            [e.number for e in entries],
            [orjson.dumps(asdict(e)) for e in entries],
        )
        if not moved:
            raise Conflict("the audit trail has moved on")

    async def entries(self, tenant: str, after: int, limit: int) -> list[Entry]:
        rows = await self._db.fetch(
            "SELECT body FROM audit WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3",
            tenant,
            after,
            limit,
        )
        return [load_entry(row) for row in rows]

    async def tenants(self) -> list[str]:
        # A hop from tenant to tenant through the primary key, and never a scan of all entries.
        rows = await self._db.fetch(
            "WITH RECURSIVE t(tenant) AS (SELECT min(tenant) FROM audit UNION ALL "
            "SELECT (SELECT min(a.tenant) FROM audit a WHERE a.tenant > t.tenant) FROM t "
            "WHERE t.tenant IS NOT NULL) SELECT tenant FROM t WHERE tenant IS NOT NULL"
        )
        return [row[0] for row in rows]


class PostgresStatistics:
    """`host.store.census.Statistics`. One round trip; each count reads a partial index."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def census(self, now: int, most: int) -> Census:
        row = await self._db.one(_CENSUS, now, most)
        counts: dict[str, int] = dict(zip(_COUNTED, row or (), strict=True))

        def group(name: str) -> dict[str, int]:
            start = f"{name}."
            return {k.removeprefix(start): n for k, n in counts.items() if k.startswith(start)}

        return Census(
            pending=group("pending"),
            late=counts["late"],
            shelf=group("shelf"),
            messages=group("messages"),
            outbox=group("outbox"),
            unaudited=counts["unaudited"],
        )


def _stored_key(row: Any) -> StoredKey:
    return StoredKey(
        key_id=row[0],
        sha256=row[1],
        tenant=row[2],
        scopes=tuple(row[3]),
        created_at=row[4],
        expires_at=row[5],
        revoked_at=row[6],
        used_day=row[7],
    )
