"""Messages, threads, links and remembered replies in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from host.store.codec import ref_key
from host.store.port import Message, MessageStatus
from host.store.records import Reply
from host.store.rows import MESSAGE_STATUS, load_message, load_message_status, message_key
from host.store.sqlite.database import Database


class SqliteReplies:
    """`host.store.port.Replies`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def find(self, scope: str) -> Reply | None:
        row = self._db.one(
            "SELECT scope, digest, status, body FROM replies WHERE scope = ?", (scope,)
        )
        return Reply(*row) if row else None

    async def remember(self, reply: Reply, now: int) -> None:
        await self._db.write(
            lambda c: (
                c.execute(
                    "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)",
                    (reply.scope, reply.digest, reply.status, reply.body, now),
                ).rowcount
            )
        )

    async def forget(self, before: int) -> int:
        return await self._db.write(
            lambda c: c.execute("DELETE FROM replies WHERE at < ?", (before,)).rowcount
        )


class SqliteDeliveries:
    """`host.store.port.Deliveries`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def release_all(self) -> None:
        """Take back the leases of a process that died: this file has one process at a time."""
        await self._db.write(
            lambda c: (
                c.execute("UPDATE messages SET leased_until = 0 WHERE leased_until > 0").rowcount
            )
        )

    async def claim(self, now: int, owner: str, lease_ms: int, limit: int) -> list[Message]:
        if not self._db.one(
            "SELECT 1 FROM messages WHERE due_at <= ? AND leased_until <= ? LIMIT 1", (now, now)
        ):
            return []

        def job(connection: sqlite3.Connection) -> list[Message]:
            rows = connection.execute(
                "UPDATE messages SET leased_until = ?, fence = fence + 1 "
                "WHERE (interrupt_id, channel, address) IN (SELECT interrupt_id, channel, address "
                "FROM messages WHERE due_at <= ? AND leased_until <= ? ORDER BY due_at LIMIT ?) "
                "RETURNING interrupt_id, channel, address, thread, wanted, shown, ref, attempts, "
                "fence",
                (now + lease_ms, now, now, limit),
            ).fetchall()
            return [load_message(row) for row in sorted(rows)]

        return await self._db.write(job)

    async def renew(self, messages: Sequence[Message], now: int, lease_ms: int) -> list[Message]:
        def job(connection: sqlite3.Connection) -> list[Message]:
            return [
                message
                for message in messages
                if connection.execute(
                    "UPDATE messages SET leased_until = ? WHERE interrupt_id = ? AND channel = ? "
                    "AND address = ? AND fence = ? AND leased_until > 0",
                    (now + lease_ms, *message_key(message), message.fence),
                ).rowcount
            ]

        return await self._db.write(job)

    async def shown(self, message: Message, ref: dict[str, Any], now: int) -> bool:
        def job(connection: sqlite3.Connection) -> bool:
            changed = connection.execute(
                "UPDATE messages SET shown = ?, ref = ?, attempts = 0, error = '', "
                "leased_until = 0, due_at = CASE WHEN wanted > ? THEN ? END "
                "WHERE interrupt_id = ? AND channel = ? AND address = ? AND fence = ?",
                (
                    message.wanted,
                    orjson.dumps(ref),
                    message.wanted,
                    now,
                    *message_key(message),
                    message.fence,
                ),
            )
            return changed.rowcount == 1

        return await self._db.write(job)

    async def failed(self, message: Message, error: str, retry_at: int | None, now: int) -> None:
        await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE messages SET attempts = attempts + 1, error = ?, leased_until = 0, "
                    "due_at = ? WHERE interrupt_id = ? AND channel = ? AND address = ? AND fence = ?",
                    (error[:500], retry_at, *message_key(message), message.fence),
                ).rowcount
            )
        )

    async def postpone(self, message: Message, until: int, now: int) -> None:
        await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE messages SET leased_until = 0, due_at = ? WHERE interrupt_id = ? "
                    "AND channel = ? AND address = ? AND fence = ? AND due_at IS NOT NULL",
                    (until, *message_key(message), message.fence),
                ).rowcount
            )
        )

    async def note(self, message: Message, ref: dict[str, Any] | None) -> bool:
        return await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE messages SET ref = ? WHERE interrupt_id = ? AND channel = ? "
                    "AND address = ? AND fence = ?",
                    (orjson.dumps(ref) if ref else None, *message_key(message), message.fence),
                ).rowcount
                == 1
            )
        )

    async def add(self, message: Message, channel: str, address: str, now: int) -> bool:
        return await self._db.write(
            lambda c: (
                c.execute(
                    "INSERT INTO messages (interrupt_id, channel, address, tenant, thread, wanted, "
                    "due_at) SELECT interrupt_id, ?, ?, tenant, thread, wanted, ? FROM messages "
                    "WHERE interrupt_id = ? AND channel = ? AND address = ? ON CONFLICT DO NOTHING",
                    (channel, address, now, *message_key(message)),
                ).rowcount
                == 1
            )
        )

    async def recall(self, interrupt_id: str, channel: str, address: str, now: int) -> bool:
        return await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE messages SET shown = min(shown, wanted - 1), due_at = ? "
                    "WHERE interrupt_id = ? AND channel = ? AND address = ?",
                    (now, interrupt_id, channel, address),
                ).rowcount
                == 1
            )
        )

    async def revive(self, now: int) -> int:
        return await self._db.write(
            lambda c: (
                c.execute(
                    "UPDATE messages SET due_at = ?, attempts = 0 WHERE due_at IS NULL "
                    "AND shown < wanted AND interrupt_id IN (SELECT m.interrupt_id FROM messages m "
                    "JOIN interrupts i ON i.interrupt_id = m.interrupt_id WHERE m.due_at IS NULL "
                    "AND m.shown < m.wanted AND i.status = 'open')",
                    (now,),
                ).rowcount
            )
        )

    async def of(self, interrupt_id: str) -> list[MessageStatus]:
        rows = self._db.read(
            f"SELECT {MESSAGE_STATUS} FROM messages "  # noqa: S608
            "WHERE interrupt_id = ? ORDER BY channel, address",
            (interrupt_id,),
        )
        return [load_message_status(row) for row in rows]

    async def thread(self, tenant: str, thread: str, channel: str, address: str) -> Any | None:
        row = self._db.one(
            "SELECT ref FROM threads WHERE tenant = ? AND thread = ? AND channel = ? "
            "AND address = ?",
            (tenant, thread, channel, address),
        )
        return orjson.loads(row[0]) if row else None

    async def put_thread(
        self, tenant: str, thread: str, channel: str, address: str, ref: dict[str, Any]
    ) -> None:
        await self._db.write(
            lambda c: (
                c.execute(
                    "INSERT OR IGNORE INTO threads VALUES (?, ?, ?, ?, ?, ?)",
                    (tenant, thread, channel, address, ref_key(ref), orjson.dumps(ref)),
                ).rowcount
            )
        )

    async def find_thread(self, channel: str, ref: dict[str, Any]) -> tuple[str, str] | None:
        row = self._db.one(
            "SELECT tenant, thread FROM threads WHERE channel = ? AND ref_key = ?",
            (channel, ref_key(ref)),
        )
        return (row[0], row[1]) if row else None


class SqliteLinks:
    """`host.store.port.LinkStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def put(self, digest: str, interrupt_id: str, person: dict[str, str]) -> None:
        await self._db.write(
            lambda c: (
                c.execute(
                    "INSERT OR IGNORE INTO links VALUES (?, ?, ?)",
                    (digest, interrupt_id, orjson.dumps(person)),
                ).rowcount
            )
        )

    async def find(self, digest: str) -> tuple[str, dict[str, str]] | None:
        row = self._db.one("SELECT interrupt_id, person FROM links WHERE digest = ?", (digest,))
        return (row[0], orjson.loads(row[1])) if row else None
