"""Outbound webhooks in PostgreSQL: subscriptions, and the outbox that an append fills.

Whoever changes both locks rows of the outbox first and the subscription second.
"""

from __future__ import annotations

from typing import Any

from host.store.postgres.database import Database
from host.store.records import Reply
from host.store.rows import SUBSCRIPTION, load_subscription
from host.store.webhooks import Dead, DeadLetter, DeadLetters, Delivery, Subscription

# A reply is kept in the statement that it answers for: $1 to $5, of which $1 is null where there is none.
_KEPT = (
    "kept AS (INSERT INTO replies (scope, digest, status, body, at) SELECT $1::text, $2::text, "
    "$3::int, $4::bytea, $5::bigint FROM done WHERE $1::text IS NOT NULL) SELECT 1 FROM done"
)
_ADD = (
    "WITH done AS (INSERT INTO subscriptions (webhook_id, tenant, url, events, tags, algorithms, "  # noqa: S608
    "secret, secret_made, created_at) VALUES ($6, $7, $8, $9, $10, $11, $12, $13, $5) "
    f"RETURNING 1), {_KEPT}"
)
_ROTATE = (
    "WITH done AS (UPDATE subscriptions SET previous_secret = secret, previous_until = $8, "  # noqa: S608
    f"secret = $7, secret_made = false WHERE webhook_id = $6 RETURNING 1), {_KEPT}"
)
_REMOVE = f"WITH done AS (DELETE FROM subscriptions WHERE webhook_id = $6 RETURNING 1), {_KEPT}"  # noqa: S608


class PostgresSubscriptions:
    """`host.store.webhooks.Subscriptions`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, subscription: Subscription, reply: Reply | None = None) -> None:
        one = subscription
        await self._db.fetch(
            _ADD,
            *_reply(reply, one.created_at),
            one.webhook_id,
            one.tenant,
            one.url,
            list(one.events),
            list(one.tags),
            list(one.algorithms),
            one.secret,
            one.secret_made,
        )

    async def get(self, webhook_id: str) -> Subscription | None:
        row = await self._db.one(
            f"SELECT {SUBSCRIPTION} FROM subscriptions WHERE webhook_id = $1",  # noqa: S608
            webhook_id,
        )
        return load_subscription(row) if row else None

    async def of(self, tenant: str) -> list[Subscription]:
        rows = await self._db.fetch(
            f"SELECT {SUBSCRIPTION} FROM subscriptions WHERE tenant = $1 "  # noqa: S608
            "ORDER BY created_at, webhook_id",
            tenant,
        )
        return [load_subscription(row) for row in rows]

    async def rotate(
        self, webhook_id: str, secret: str, until: int, now: int, reply: Reply | None = None
    ) -> bool:
        rows = await self._db.fetch(
            _ROTATE,
            *_reply(reply, now),
            webhook_id,
            secret,
            until,
        )
        return len(rows) == 1

    async def disable(self, webhook_id: str, why: str, now: int) -> int:
        async def work(connection: Any) -> int:
            async with connection.transaction():
                buried = await connection.fetch(
                    "UPDATE outbox SET due_at = NULL, leased_until = 0, fence = fence + 1, "
                    "died_at = $2, reason = 'retries_exhausted' "
                    "WHERE webhook_id = $1 AND due_at IS NOT NULL RETURNING 1",
                    webhook_id,
                    now,
                )
                await connection.execute(
                    "UPDATE subscriptions SET disabled = $2 WHERE webhook_id = $1", webhook_id, why
                )
                return len(buried)

        return await self._db.call(work)

    async def remove(self, webhook_id: str, now: int, reply: Reply | None = None) -> bool:
        async def work(connection: Any) -> bool:
            async with connection.transaction():
                await connection.execute("DELETE FROM outbox WHERE webhook_id = $1", webhook_id)
                gone = await connection.fetch(_REMOVE, *_reply(reply, now), webhook_id)
                return len(gone) == 1

        return await self._db.call(work)


class PostgresOutbox:
    """`host.store.webhooks.Outbox`. `owner` names this replica; claims of several are disjoint."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    async def hand_back(self) -> None:
        """End the leases of this replica, so that nobody waits for them."""
        await self._db.fetch(
            "UPDATE outbox SET leased_until = 0 WHERE due_at IS NOT NULL AND leased_until > 0 "
            "AND owner = $1",
            self._owner,
        )

    async def ready(self, now: int) -> list[str]:
        rows = await self._db.fetch(
            "SELECT webhook_id FROM subscriptions s WHERE disabled = '' AND EXISTS (SELECT "
            "FROM outbox o WHERE o.webhook_id = s.webhook_id AND o.due_at <= $1)",
            now,
        )
        return [row[0] for row in rows]

    async def claim(self, webhook_id: str, now: int, lease_ms: int, limit: int) -> list[Delivery]:
        rows = await self._db.fetch(
            "WITH first AS (SELECT delivery_id FROM outbox o WHERE webhook_id = $1 "
            "AND due_at <= $2 AND leased_until <= $2 AND NOT EXISTS (SELECT FROM outbox p "
            "WHERE p.webhook_id = o.webhook_id AND p.run_id = o.run_id AND p.due_at IS NOT NULL "
            "AND p.sequence < o.sequence) ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED) "
            "UPDATE outbox o SET leased_until = $3, owner = $5, fence = fence + 1 FROM first f "
            "WHERE o.delivery_id = f.delivery_id RETURNING o.delivery_id, webhook_id, run_id, "
            "sequence, event_type, attempts, fence",
            webhook_id,
            now,
            now + lease_ms,
            limit,
            self._owner,
        )
        return [Delivery(*row) for row in rows]

    async def delivered(self, delivery: Delivery) -> bool:
        rows = await self._db.fetch(
            "WITH done AS (DELETE FROM outbox WHERE delivery_id = $1 AND fence = $2 RETURNING "
            "webhook_id), well AS (UPDATE subscriptions SET failing_since = NULL "
            "WHERE webhook_id IN (SELECT webhook_id FROM done) AND failing_since IS NOT NULL) "
            "SELECT 1 FROM done",
            delivery.delivery_id,
            delivery.fence,
        )
        return len(rows) == 1

    async def retry(self, delivery: Delivery, status: int | None, at: int, now: int) -> int | None:
        return await self._failed(delivery, now, status, at, None, "")

    async def give_up(
        self, delivery: Delivery, reason: Dead, status: int | None, now: int
    ) -> int | None:
        return await self._failed(delivery, now, status, None, now, reason)

    async def dead(self, webhook_id: str, limit: int, cursor: str | None) -> DeadLetters:
        where, args = "", []
        if cursor is not None:
            died_at, _, last = cursor.partition(".")
            where = "AND (died_at, delivery_id) < ($3::bigint, $4::text) "
            args = [int(died_at) if died_at.isdecimal() and len(died_at) < 19 else 0, last]
        rows = await self._db.fetch(
            "SELECT delivery_id, webhook_id, run_id, sequence, event_type, attempts, died_at, "  # noqa: S608
            f"reason, last_status FROM outbox WHERE webhook_id = $1 AND died_at IS NOT NULL {where}"
            "ORDER BY died_at DESC, delivery_id DESC LIMIT $2",
            webhook_id,
            limit + 1,
            *args,
        )
        found = tuple(DeadLetter(*row) for row in rows[:limit])
        more = f"{found[-1].died_at}.{found[-1].delivery_id}" if len(rows) > limit else None
        return DeadLetters(found, more)

    async def redrive(self, webhook_id: str, delivery_id: str, now: int) -> bool:
        rows = await self._db.fetch(
            "WITH done AS (UPDATE outbox SET due_at = $3, died_at = NULL, reason = '', "
            "attempts = 0, last_status = NULL, leased_until = 0, fence = fence + 1 "
            "WHERE delivery_id = $2 AND webhook_id = $1 AND died_at IS NOT NULL RETURNING "
            "webhook_id), active AS (UPDATE subscriptions SET disabled = '', failing_since = NULL "
            "WHERE webhook_id IN (SELECT webhook_id FROM done)) SELECT 1 FROM done",
            webhook_id,
            delivery_id,
            now,
        )
        return len(rows) == 1

    async def forget(self, before: int, now: int) -> int:
        await self._db.fetch(
            "UPDATE subscriptions SET previous_secret = '' "
            "WHERE previous_secret <> '' AND previous_until <= $1",
            now,
        )
        return await self._db.drain(
            "DELETE FROM outbox WHERE delivery_id = ANY (ARRAY(SELECT delivery_id FROM outbox "
            "WHERE died_at < $1 ORDER BY died_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1",
            before,
        )

    async def _failed(
        self,
        delivery: Delivery,
        now: int,
        status: int | None,
        due_at: int | None,
        died_at: int | None,
        reason: str,
    ) -> int | None:
        row = await self._db.one(
            "WITH done AS (UPDATE outbox SET attempts = attempts + 1, leased_until = 0, "
            "last_status = $3, due_at = $4, died_at = $5, reason = $6 "
            "WHERE delivery_id = $1 AND fence = $2 RETURNING webhook_id), "
            "ill AS (UPDATE subscriptions SET failing_since = coalesce(failing_since, $7::bigint) "
            "WHERE $6 <> 'payload_unprojectable' AND webhook_id IN (SELECT webhook_id FROM done) "
            "RETURNING failing_since) "
            "SELECT coalesce((SELECT failing_since FROM ill), $7::bigint) FROM done",
            delivery.delivery_id,
            delivery.fence,
            status,
            due_at,
            died_at,
            reason,
            now,
        )
        return row[0] if row else None


def _reply(reply: Reply | None, now: int) -> tuple[Any, ...]:
    if reply is None:
        return None, None, None, None, now
    return reply.scope, reply.digest, reply.status, reply.body, now
