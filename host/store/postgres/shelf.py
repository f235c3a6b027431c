"""External events in PostgreSQL, matched to waits whichever comes first.

How the match can't be missed is told in functions.sql, at `sayso_shelve`. That an event has its effect once
needs one thing more as soon as there are replicas: between reading an event that is due and resolving its
waits, another replica may apply it, and a new wait of its key may come. So `due` leases what it hands out to
one replica; a replica that dies holds up its events for the length of that lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import orjson

from host.store import codec
from host.store.postgres.database import Database
from host.store.postgres.queues import error_text
from host.store.rows import shelf_conditions
from host.store.shelf import Listed, ShelvedEvent, Wanted

_DUE: Final = (
    "WITH next AS (SELECT source AS s, event_id AS e FROM shelf WHERE state = 'due' "  # noqa: S608
    "AND received_at <= $1 AND (owner = $3 OR leased_until <= $1) "
    "ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED) "
    "UPDATE shelf SET owner = $3, leased_until = $4 FROM next "
    f"WHERE source = s AND event_id = e RETURNING {codec.SHELVED}"
)
_STANDING: Final = (
    "CASE WHEN state <> 'shelved' THEN state WHEN expires_at <= $2 THEN 'expired' "
    "WHEN EXISTS (SELECT FROM ended_waits e WHERE e.match_key = shelf.match_key) THEN 'late' "
    "ELSE 'unmatched' END"
)
_AT_REST: Final = "state IN ('shelved', 'parked', 'failed', 'expired')"
_NOTHING: Final = b"[]"
_LEASE_MS: Final = 6_000  # as of what is sent: what is claimed and forgotten is free again soon


class PostgresShelf:
    """`host.store.shelf.Shelf`. `owner` names this replica."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    async def hand_back(self) -> None:
        """Let another replica have at once what was leased to this one."""
        await self._db.fetch(
            "UPDATE shelf SET leased_until = 0 WHERE state = 'due' AND owner = $1", self._owner
        )

    async def file(self, event: ShelvedEvent, raw: bytes) -> bool:
        row = {
            **codec.dump_mapping(event),
            "raw": raw,
            "state": event.state,
            "received_at": event.received_at,
        }
        numbers = ", ".join(f"${n}" for n in range(1, len(row) + 1))
        filed = await self._changed(
            f"INSERT INTO shelf ({', '.join(row)}) VALUES ({numbers}) "  # noqa: S608
            "ON CONFLICT DO NOTHING RETURNING 1",
            *row.values(),
        )
        if not filed:
            await self._db.fetch(
                "UPDATE shelf SET duplicates = duplicates + 1 WHERE source = $1 AND event_id = $2",
                event.source,
                event.event_id,
            )
        return filed

    async def due(self, now: int, limit: int) -> list[ShelvedEvent]:
        rows = await self._db.fetch(_DUE, now, limit, self._owner, now + _LEASE_MS)
        return sorted(
            (codec.load_shelved(row) for row in rows),
            key=lambda event: (event.received_at, event.event_id),
        )

    async def renew(self, events: Sequence[ShelvedEvent], now: int) -> None:
        await self._db.fetch(
            "UPDATE shelf SET leased_until = $3 "
            "FROM unnest($1::text[], $2::text[]) AS held(s, e) "
            "WHERE source = s AND event_id = e AND state = 'due' AND owner = $4",
            [event.source for event in events],
            [event.event_id for event in events],
            now + _LEASE_MS,
            self._owner,
        )

    async def get(self, source: str, event_id: str) -> ShelvedEvent | None:
        row = await self._db.one(
            f"SELECT {codec.SHELVED} FROM shelf WHERE source = $1 AND event_id = $2",  # noqa: S608
            source,
            event_id,
        )
        return codec.load_shelved(row) if row else None

    async def raw(self, source: str, event_id: str) -> bytes | None:
        row = await self._db.one(
            "SELECT raw FROM shelf WHERE source = $1 AND event_id = $2", source, event_id
        )
        return bytes(row[0]) if row else None

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

    async def set_aside(
        self, source: str, event_id: str, state: Literal["parked", "expired"], reason: str
    ) -> None:
        await self._db.fetch(
            "UPDATE shelf SET state = $3, error = $4, leased_until = 0 "
            "WHERE source = $1 AND event_id = $2 AND state = 'due'",
            source,
            event_id,
            state,
            error_text(reason),
        )

    async def listing(self, wanted: Wanted, now: int) -> list[Listed]:
        args: list[Any] = [wanted.tenant, now, wanted.limit]
        where = ["tenant = $1", "$2::bigint IS NOT NULL"]
        where += shelf_conditions(wanted, _STANDING, "$", args)
        rows = await self._db.fetch(
            f"SELECT {codec.SHELVED}, {_STANDING} FROM shelf WHERE {' AND '.join(where)} "  # noqa: S608
            "ORDER BY received_at DESC, source DESC, event_id DESC LIMIT $3",
            *args,
        )
        return [Listed(codec.load_shelved(row), row[-1]) for row in rows]

    async def bind(self, source: str, event_id: str, interrupt_id: str) -> bool:
        return await self._changed(
            "UPDATE shelf SET state = 'parked', matched = $3, error = '' "  # noqa: S608
            "WHERE source = $1 AND event_id = $2 "
            f"AND {_AT_REST} AND matched IN ($4, $3) RETURNING 1",
            source,
            event_id,
            orjson.dumps([interrupt_id]),
            _NOTHING,
        )

    async def unbind(self, source: str, event_id: str, interrupt_id: str, reason: str) -> None:
        await self._db.fetch(
            "UPDATE shelf SET matched = $4, error = $5 WHERE source = $1 "
            "AND event_id = $2 AND state = 'parked' AND matched = $3",
            source,
            event_id,
            orjson.dumps([interrupt_id]),
            _NOTHING,
            error_text(reason),
        )

    async def again(self, event: ShelvedEvent) -> bool:
        row = codec.dump_mapping(event)
        keep = ("source", "event_id", "tenant")
        changes = ", ".join(f"{n} = ${i}" for i, n in enumerate(row, 1) if n not in keep)
        return await self._changed(
            f"UPDATE shelf SET state = 'due', error = '', leased_until = 0, {changes} "  # noqa: S608
            f"WHERE source = $1 AND event_id = $2 AND tenant = $3 "
            f"AND {_AT_REST} AND (matched = ${len(row) + 1} OR state = 'failed') RETURNING 1",
            *row.values(),
            _NOTHING,
        )

    async def _changed(self, sql: str, *args: Any) -> bool:
        """Whether the statement, which returns the rows it changed, changed one."""
        return len(await self._db.fetch(sql, *args)) == 1
