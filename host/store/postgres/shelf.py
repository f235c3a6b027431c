"""External events in PostgreSQL, matched to waits whichever comes first.

How the match can't be missed is told in functions.sql, at `sayso_shelve`. That an event has its effect once
needs one thing more as soon as there are replicas: between reading an event that is due and resolving its
waits, another replica may apply it, and a new wait of its key may come. So `due` leases what it hands out to
one replica; a replica that dies holds up its events for the length of that lease.
"""

from __future__ import annotations

from typing import Any

import orjson

from host.store.port import ShelvedEvent
from host.store.postgres.database import Database
from host.store.postgres.queues import error_text

_COLUMNS = (
    "source, event_id, tenant, event_type, match_key, payload, received_at, state, matched, "
    "error, correlation"
)
_DUE = (
    "WITH next AS (SELECT source AS s, event_id AS e FROM shelf WHERE state = 'due' "  # noqa: S608
    "AND received_at <= $1 AND (owner = $3 OR leased_until <= $1) "
    "ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED) "
    "UPDATE shelf SET owner = $3, leased_until = $4 FROM next "
    f"WHERE source = s AND event_id = e RETURNING {_COLUMNS}"
)
_LEASE_MS = 30_000


class PostgresShelf:
    """`host.store.port.Shelf`. `owner` names this replica."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    async def hand_back(self) -> None:
        """Let another replica have at once what was leased to this one."""
        await self._db.fetch(
            "UPDATE shelf SET leased_until = 0 WHERE state = 'due' AND owner = $1", self._owner
        )

    async def file(self, event: ShelvedEvent, raw: bytes) -> bool:
        new = await self._db.fetch(
            "INSERT INTO shelf (source, event_id, tenant, event_type, match_key, state, "
            "received_at, correlation, payload, raw) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING 1",
            event.source,
            event.event_id,
            event.tenant,
            event.event_type,
            event.match_key,
            event.state,
            event.received_at,
            orjson.dumps(event.correlation),
            orjson.dumps(event.payload),
            raw,
        )
        return len(new) == 1

    async def due(self, now: int, limit: int) -> list[ShelvedEvent]:
        rows = await self._db.fetch(
            _DUE,
            now,
            limit,
            self._owner,
            now + _LEASE_MS,
        )
        return sorted(
            (_shelved(row) for row in rows), key=lambda event: (event.received_at, event.event_id)
        )

    async def get(self, source: str, event_id: str) -> ShelvedEvent | None:
        row = await self._db.one(
            f"SELECT {_COLUMNS} FROM shelf WHERE source = $1 AND event_id = $2",  # noqa: S608
            source,
            event_id,
        )
        return _shelved(row) if row else None

    async def waits(self, match_key: str) -> list[str]:
        rows = await self._db.fetch(
            "SELECT interrupt_id FROM waits WHERE match_key = $1 ORDER BY interrupt_id", match_key
        )
        return [row[0] for row in rows]

    async def shelve(self, source: str, event_id: str) -> bool:
        row = await self._db.one("SELECT sayso_shelve($1, $2)", source, event_id)
        return bool(row and row[0])

    async def applied(
        self, source: str, event_id: str, matched: list[str], error: str = ""
    ) -> None:
        await self._db.fetch(
            "UPDATE shelf SET state = $3, matched = $4, error = $5, leased_until = 0 "
            "WHERE source = $1 AND event_id = $2",
            source,
            event_id,
            "failed" if error else "applied",
            orjson.dumps(matched),
            error_text(error),
        )


def _shelved(row: Any) -> ShelvedEvent:
    return ShelvedEvent(
        source=row[0],
        event_id=row[1],
        tenant=row[2],
        event_type=row[3],
        match_key=row[4],
        payload=orjson.loads(row[5]),
        received_at=row[6],
        state=row[7],
        matched=tuple(orjson.loads(row[8])),
        error=row[9],
        correlation=orjson.loads(row[10]),
    )
