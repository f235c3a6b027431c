"""External events in SQLite, matched to waits whichever comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import orjson

from host.store import codec
from host.store.rows import shelf_conditions
from host.store.shelf import Listed, ShelvedEvent, Wanted
from host.store.sqlite.database import Database

_STANDING: Final = (
    "CASE WHEN state <> 'shelved' THEN state WHEN expires_at <= ?2 THEN 'expired' "
    "WHEN EXISTS (SELECT 1 FROM ended_waits e WHERE e.match_key = shelf.match_key) THEN 'late' "
    "ELSE 'unmatched' END"
)
_AT_REST: Final = "state IN ('shelved', 'parked', 'failed', 'expired')"


class SqliteShelf:
    """`host.store.shelf.Shelf`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def file(self, event: ShelvedEvent, raw: bytes) -> bool:
        row = {
            **codec.dump_mapping(event),
            "raw": raw,
            "state": event.state,
            "received_at": event.received_at,
        }
        filed = await self._change(
            f"INSERT INTO shelf ({', '.join(row)}) VALUES ({', '.join(f':{n}' for n in row)}) "  # noqa: S608
            "ON CONFLICT DO NOTHING",
            row,
        )
        if not filed:
            await self._change(
                "UPDATE shelf SET duplicates = duplicates + 1 "
                "WHERE source = :source AND event_id = :event_id",
                row,
            )
        return filed

    async def due(self, now: int, limit: int) -> list[ShelvedEvent]:
        rows = self._db.read(
            f"SELECT {codec.SHELVED} FROM shelf WHERE state = 'due' AND received_at <= ? "  # noqa: S608
            "ORDER BY received_at LIMIT ?",
            (now, limit),
        )
        return [codec.load_shelved(row) for row in rows]

    async def renew(self, events: Sequence[ShelvedEvent], now: int) -> None:
        """Nothing to do: the file has one owner, and no leases."""

    async def get(self, source: str, event_id: str) -> ShelvedEvent | None:
        row = self._db.one(
            f"SELECT {codec.SHELVED} FROM shelf WHERE source = ? AND event_id = ?",  # noqa: S608
            (source, event_id),
        )
        return codec.load_shelved(row) if row else None

    async def raw(self, source: str, event_id: str) -> bytes | None:
        row = self._db.one(
            "SELECT raw FROM shelf WHERE source = ? AND event_id = ?", (source, event_id)
        )
        return bytes(row[0]) if row else None

    async def waits(self, match_key: str) -> list[str]:
        rows = self._db.read("SELECT interrupt_id FROM waits WHERE match_key = ?", (match_key,))
        return [row[0] for row in rows]

    async def shelve(self, source: str, event_id: str) -> bool:
        return await self._change(
            "UPDATE shelf SET state = 'shelved' WHERE source = :source AND event_id = :event_id "
            "AND state = 'due' "
            "AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.match_key = shelf.match_key)",
            {"source": source, "event_id": event_id},
        )

    async def applied(
        self, source: str, event_id: str, matched: list[str], error: str = ""
    ) -> None:
        await self._change(
            "UPDATE shelf SET state = :state, matched = :matched, error = :error "
            "WHERE source = :source AND event_id = :event_id",
            {
                "state": "failed" if error else "applied",
                "matched": orjson.dumps(matched).decode(),
                "error": error[:500],
                "source": source,
                "event_id": event_id,
            },
        )

    async def set_aside(
        self, source: str, event_id: str, state: Literal["parked", "expired"], reason: str
    ) -> None:
        await self._change(
            "UPDATE shelf SET state = :state, error = :error "
            "WHERE source = :source AND event_id = :event_id AND state = 'due'",
            {"state": state, "error": reason[:500], "source": source, "event_id": event_id},
        )

    async def listing(self, wanted: Wanted, now: int) -> list[Listed]:
        args: list[Any] = [wanted.tenant, now, wanted.limit]
        where = ["tenant = ?1"]
        where += shelf_conditions(wanted, _STANDING, "?", args)
        rows = self._db.read(
            f"SELECT {codec.SHELVED}, {_STANDING} FROM shelf WHERE {' AND '.join(where)} "  # noqa: S608
            "ORDER BY received_at DESC, source DESC, event_id DESC LIMIT ?3",
            args,
        )
        return [Listed(codec.load_shelved(row), row[-1]) for row in rows]

    async def bind(self, source: str, event_id: str, interrupt_id: str) -> bool:
        return await self._change(
            "UPDATE shelf SET state = 'parked', matched = :bound, error = '' "  # noqa: S608
            "WHERE source = :source AND event_id = :event_id "
            f"AND {_AT_REST} AND matched IN ('[]', :bound)",
            {"bound": _bound(interrupt_id), "source": source, "event_id": event_id},
        )

    async def unbind(self, source: str, event_id: str, interrupt_id: str, reason: str) -> None:
        await self._change(
            "UPDATE shelf SET matched = '[]', error = :error WHERE source = :source "
            "AND event_id = :event_id AND state = 'parked' AND matched = :bound",
            {
                "bound": _bound(interrupt_id),
                "error": reason[:500],
                "source": source,
                "event_id": event_id,
            },
        )

    async def again(self, event: ShelvedEvent) -> bool:
        row = codec.dump_mapping(event)
        changes = ", ".join(f"{n} = :{n}" for n in row if n not in ("source", "event_id", "tenant"))
        return await self._change(
            f"UPDATE shelf SET state = 'due', error = '', {changes} "  # noqa: S608
            "WHERE source = :source AND event_id = :event_id "
            f"AND {_AT_REST} AND (matched = '[]' OR state = 'failed')",
            row,
        )

    async def _change(self, sql: str, args: dict[str, Any]) -> bool:
        """Whether the statement changed a row."""
        return await self._db.write(lambda c: c.execute(sql, args).rowcount == 1)


def _bound(interrupt_id: str) -> str:
    return orjson.dumps([interrupt_id]).decode()
