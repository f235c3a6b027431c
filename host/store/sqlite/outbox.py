"""Deliveries of outbound webhooks in SQLite: claimed, delivered, put off, given up, redriven."""

from __future__ import annotations

import sqlite3
from typing import Any

from host.store.sqlite.database import Database
from host.store.webhooks import Dead, DeadLetter, DeadLetters, Delivery


class SqliteOutbox:
    """`host.store.webhooks.Outbox`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def release_all(self) -> None:
        """Take back the leases of a process that died: this file has one process at a time."""
        await self._db.write(
            lambda c: (
                c.execute("UPDATE outbox SET leased_until = 0 WHERE leased_until > 0").rowcount
            )
        )

    async def ready(self, now: int) -> list[str]:
        rows = self._db.read(
            "SELECT webhook_id FROM subscriptions s WHERE disabled = '' AND EXISTS (SELECT 1 "
            "FROM outbox o WHERE o.webhook_id = s.webhook_id AND o.due_at <= ?)",
            (now,),
        )
        return [row[0] for row in rows]

    async def claim(self, webhook_id: str, now: int, lease_ms: int, limit: int) -> list[Delivery]:
        # A read first: a line that waits for its first delivery would cost a commit at each look.
        rows = self._db.read(
            "SELECT delivery_id FROM outbox o WHERE webhook_id = ?1 AND due_at <= ?2 "
            "AND leased_until <= ?2 AND NOT EXISTS (SELECT 1 FROM outbox p "
            "WHERE p.webhook_id = o.webhook_id AND p.run_id = o.run_id AND p.due_at IS NOT NULL "
            "AND p.sequence < o.sequence) ORDER BY due_at LIMIT ?3",
            (webhook_id, now, limit),
        )
        if not rows:
            return []

        def job(connection: sqlite3.Connection) -> list[Delivery]:
            found: list[Delivery] = []
            for (one,) in rows:
                row = connection.execute(
                    "UPDATE outbox SET leased_until = ?, fence = fence + 1 WHERE delivery_id = ? "
                    "AND due_at <= ? AND leased_until <= ? RETURNING delivery_id, webhook_id, "
                    "run_id, sequence, event_type, attempts, fence",
                    (now + lease_ms, one, now, now),
                ).fetchone()
                if row is not None:
                    found.append(Delivery(*row))
            return found

        return await self._db.write(job)

    async def delivered(self, delivery: Delivery) -> bool:
        def job(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "DELETE FROM outbox WHERE delivery_id = ? AND fence = ?",
                (delivery.delivery_id, delivery.fence),
            )
            if done.rowcount == 1:
                connection.execute(
                    "UPDATE subscriptions SET failing_since = NULL "
                    "WHERE webhook_id = ? AND failing_since IS NOT NULL",
                    (delivery.webhook_id,),
                )
            return done.rowcount == 1

        return await self._db.write(job)

    async def retry(self, delivery: Delivery, status: int | None, at: int, now: int) -> int | None:
        return await self._failed(delivery, now, "due_at = ?, last_status = ?", (at, status))

    async def give_up(
        self, delivery: Delivery, reason: Dead, status: int | None, now: int
    ) -> int | None:
        return await self._failed(
            delivery,
            now,
            "due_at = NULL, died_at = ?, reason = ?, last_status = ?",
            (now, reason, status),
            ours=reason == "payload_unprojectable",
        )

    async def _failed(
        self,
        delivery: Delivery,
        now: int,
        change: str,
        values: tuple[Any, ...],
        ours: bool = False,
    ) -> int | None:
        def job(connection: sqlite3.Connection) -> int | None:
            changed = connection.execute(
                f"UPDATE outbox SET attempts = attempts + 1, leased_until = 0, {change} "  # noqa: S608
                "WHERE delivery_id = ? AND fence = ?",
                (*values, delivery.delivery_id, delivery.fence),
            )
            if changed.rowcount != 1:
                return None
            if ours:
                return now
            row = connection.execute(
                "UPDATE subscriptions SET failing_since = coalesce(failing_since, ?) "
                "WHERE webhook_id = ? RETURNING failing_since",
                (now, delivery.webhook_id),
            ).fetchone()
            return row[0] if row else None

        return await self._db.write(job)

    async def dead(self, webhook_id: str, limit: int, cursor: str | None) -> DeadLetters:
        where, args = "", [webhook_id]
        if cursor is not None:
            died_at, _, last = cursor.partition(".")
            where = "AND (died_at, delivery_id) < (CAST(? AS INTEGER), ?) "
            args += [died_at, last]
        rows = self._db.read(
            "SELECT delivery_id, webhook_id, run_id, sequence, event_type, attempts, died_at, "  # noqa: S608
            f"reason, last_status FROM outbox WHERE webhook_id = ? AND died_at IS NOT NULL {where}"
            "ORDER BY died_at DESC, delivery_id DESC LIMIT ?",
            (*args, limit + 1),
        )
        found = tuple(DeadLetter(*row) for row in rows[:limit])
        more = f"{found[-1].died_at}.{found[-1].delivery_id}" if len(rows) > limit else None
        return DeadLetters(found, more)

    async def redrive(self, webhook_id: str, delivery_id: str, now: int) -> bool:
        def job(connection: sqlite3.Connection) -> bool:
            changed = connection.execute(
                "UPDATE outbox SET due_at = ?, died_at = NULL, reason = '', attempts = 0, "
                "last_status = NULL, leased_until = 0, fence = fence + 1 "
                "WHERE delivery_id = ? AND webhook_id = ? AND died_at IS NOT NULL",
                (now, delivery_id, webhook_id),
            )
            if changed.rowcount == 1:
                connection.execute(
                    "UPDATE subscriptions SET disabled = '', failing_since = NULL "
                    "WHERE webhook_id = ?",
                    (webhook_id,),
                )
            return changed.rowcount == 1

        return await self._db.write(job)

    async def forget(self, before: int, now: int) -> int:
        def job(connection: sqlite3.Connection) -> int:
            connection.execute(
                "UPDATE subscriptions SET previous_secret = '' "
                "WHERE previous_secret != '' AND previous_until <= ?",
                (now,),
            )
            return connection.execute("DELETE FROM outbox WHERE died_at < ?", (before,)).rowcount

        return await self._db.write(job)
