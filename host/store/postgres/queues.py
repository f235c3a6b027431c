"""Messages, threads, links and remembered replies in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from host.store.codec import ref_key
from host.store.port import Message, MessageStatus
from host.store.postgres.batches import Batches
from host.store.postgres.database import Database
from host.store.records import Reply
from host.store.rows import MESSAGE_STATUS, load_message, load_message_status, message_key

_ERROR_CHARS = 500


class PostgresReplies:
    """`host.store.port.Replies`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._reads: Batches[str, Reply | None] = Batches(self._read)

    async def finish(self) -> None:
        """Wait for what is queued."""
        await self._reads.finish()

    async def find(self, scope: str) -> Reply | None:
        return await self._reads(scope)

    async def remember(self, reply: Reply, now: int) -> None:
        await self._db.fetch(
            "INSERT INTO replies (scope, digest, status, body, at) VALUES ($1, $2, $3, $4, $5) "
            "ON CONFLICT DO NOTHING",
            reply.scope,
            reply.digest,
            reply.status,
            reply.body,
            now,
        )

    async def forget(self, before: int) -> int:
        return await self._db.drain(
            "DELETE FROM replies WHERE scope = ANY (ARRAY(SELECT scope FROM replies "
            "WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1",
            before,
        )

    async def _read(self, scopes: list[str]) -> list[Reply | Exception | None]:
        rows = await self._db.fetch(
            "SELECT scope, digest, status, body FROM replies WHERE scope = ANY ($1::text[])", scopes
        )
        found = {row[0]: Reply(*row) for row in rows}
        return [found.get(scope) for scope in scopes]


class PostgresDeliveries:
    """`host.store.port.Deliveries`. Claims of several replicas are disjoint (SKIP LOCKED)."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._owners: set[str] = set()

    async def hand_back(self) -> None:
        """End the leases of all owners that claimed through this object, so nobody waits for them."""
        if self._owners:
            await self._db.fetch(
                "UPDATE messages SET leased_until = 0 WHERE due_at IS NOT NULL "
                "AND leased_until > 0 AND owner = ANY ($1::text[])",
                list(self._owners),
            )

    async def claim(self, now: int, owner: str, lease_ms: int, limit: int) -> list[Message]:
        self._owners.add(owner)
        rows = await self._db.fetch(
            "WITH stale AS (SELECT interrupt_id, channel, address FROM messages "
            "WHERE due_at <= $1 AND leased_until <= $1 ORDER BY due_at LIMIT $4 "
            "FOR UPDATE SKIP LOCKED) "
            "UPDATE messages m SET leased_until = sayso_by_now($1 + $3::bigint, $3), owner = $2, "
            "fence = fence + 1 FROM stale s "
            "WHERE m.interrupt_id = s.interrupt_id AND m.channel = s.channel "
            "AND m.address = s.address "
            "RETURNING m.interrupt_id, m.channel, m.address, thread, wanted, shown, ref, attempts, "
            "fence",
            now,
            owner,
            lease_ms,
            limit,
        )
        return [load_message(row) for row in sorted(rows, key=lambda row: (row[0], row[1], row[2]))]

    async def renew(self, messages: Sequence[Message], now: int, lease_ms: int) -> list[Message]:
        # Rows are locked in the order of their ids, as everywhere: two renewals can't wait in a circle.
        rows = await self._db.fetch(
            "WITH held AS (SELECT interrupt_id, channel, address FROM messages "
            "JOIN unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) "
            "AS g(interrupt_id, channel, address, fence) "
            "USING (interrupt_id, channel, address, fence) WHERE leased_until > 0 "
            "ORDER BY interrupt_id, channel, address FOR UPDATE OF messages) "
            "UPDATE messages m SET leased_until = sayso_by_now($5::bigint + $6::bigint, $6) FROM held h "
            "WHERE m.interrupt_id = h.interrupt_id AND m.channel = h.channel "
            "AND m.address = h.address RETURNING m.interrupt_id, m.channel, m.address",
            [m.interrupt_id for m in messages],
            [m.channel for m in messages],
            [m.address for m in messages],
            [m.fence for m in messages],
            now,
            lease_ms,
        )
        held = {tuple(row) for row in rows}
        return [message for message in messages if message_key(message) in held]

    async def shown(self, message: Message, ref: dict[str, Any], now: int) -> bool:
        changed = await self._db.fetch(
            "UPDATE messages SET shown = $5, ref = $6, attempts = 0, error = '', leased_until = 0, "
            "due_at = CASE WHEN wanted > $5 THEN sayso_by_now($7) END "
            "WHERE interrupt_id = $1 AND channel = $2 AND address = $3 AND fence = $4 RETURNING 1",
            *message_key(message),
            message.fence,
            message.wanted,
            orjson.dumps(ref),
            now,
        )
        return len(changed) == 1

    async def failed(self, message: Message, error: str, retry_at: int | None, now: int) -> None:
        await self._db.fetch(
            "UPDATE messages SET attempts = attempts + 1, error = $5, leased_until = 0, "
            "due_at = sayso_by_now($6, $7) "
            "WHERE interrupt_id = $1 AND channel = $2 AND address = $3 AND fence = $4",
            *message_key(message),
            message.fence,
            error_text(error),
            retry_at,
            0 if retry_at is None else max(retry_at - now, 0),
        )

    async def postpone(self, message: Message, until: int, now: int) -> None:
        await self._db.fetch(
            "UPDATE messages SET leased_until = 0, due_at = sayso_by_now($5, $6) "
            "WHERE interrupt_id = $1 AND channel = $2 AND address = $3 AND fence = $4 "
            "AND due_at IS NOT NULL",
            *message_key(message),
            message.fence,
            until,
            max(until - now, 0),
        )

    async def note(self, message: Message, ref: dict[str, Any] | None) -> bool:
        changed = await self._db.fetch(
            "UPDATE messages SET ref = $5 WHERE interrupt_id = $1 AND channel = $2 "
            "AND address = $3 AND fence = $4 RETURNING 1",
            *message_key(message),
            message.fence,
            orjson.dumps(ref) if ref else None,
        )
        return len(changed) == 1

    async def add(self, message: Message, channel: str, address: str, now: int) -> bool:
        added = await self._db.fetch(
            "INSERT INTO messages (interrupt_id, channel, address, tenant, thread, wanted, due_at) "
            "SELECT interrupt_id, $4, $5, tenant, thread, wanted, sayso_by_now($6) FROM messages "
            "WHERE interrupt_id = $1 AND channel = $2 AND address = $3 "
            "ON CONFLICT DO NOTHING RETURNING 1",
            *message_key(message),
            channel,
            address,
            now,
        )
        return len(added) == 1

    async def recall(self, interrupt_id: str, channel: str, address: str, now: int) -> bool:
        changed = await self._db.fetch(
            "UPDATE messages SET shown = least(shown, wanted - 1), due_at = sayso_by_now($4) "
            "WHERE interrupt_id = $1 AND channel = $2 AND address = $3 RETURNING 1",
            interrupt_id,
            channel,
            address,
            now,
        )
        return len(changed) == 1

    async def revive(self, now: int) -> int:
        return len(
            await self._db.fetch(
                "UPDATE messages m SET due_at = sayso_by_now($1), attempts = 0 FROM interrupts i "
                "WHERE m.due_at IS NULL AND m.shown < m.wanted "
                "AND i.interrupt_id = m.interrupt_id AND i.status = 'open' RETURNING 1",
                now,
            )
        )

    async def of(self, interrupt_id: str) -> list[MessageStatus]:
        rows = await self._db.fetch(
            f"SELECT {MESSAGE_STATUS} FROM messages "  # noqa: S608
            "WHERE interrupt_id = $1 ORDER BY channel, address",
            interrupt_id,
        )
        return [load_message_status(row) for row in rows]

    async def thread(self, tenant: str, thread: str, channel: str, address: str) -> Any | None:
        row = await self._db.one(
            "SELECT ref FROM threads WHERE tenant = $1 AND thread = $2 AND channel = $3 "
            "AND address = $4",
            tenant,
            thread,
            channel,
            address,
        )
        return orjson.loads(row[0]) if row else None

    async def put_thread(
        self, tenant: str, thread: str, channel: str, address: str, ref: dict[str, Any]
    ) -> None:
        await self._db.fetch(
            "INSERT INTO threads (tenant, thread, channel, address, ref_key, ref) "
            "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            tenant,
            thread,
            channel,
            address,
            ref_key(ref),
            orjson.dumps(ref),
        )

    async def find_thread(self, channel: str, ref: dict[str, Any]) -> tuple[str, str] | None:
        row = await self._db.one(
            "SELECT tenant, thread FROM threads WHERE channel = $1 AND ref_key = $2",
            channel,
            ref_key(ref),
        )
        return (row[0], row[1]) if row else None


class PostgresLinks:
    """`host.store.port.LinkStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def put(self, digest: str, interrupt_id: str, person: dict[str, str]) -> None:
        await self._db.fetch(
            "INSERT INTO links (digest, interrupt_id, person) VALUES ($1, $2, $3) "
            "ON CONFLICT DO NOTHING",
            digest,
            interrupt_id,
            orjson.dumps(person),
        )

    async def find(self, digest: str) -> tuple[str, dict[str, str]] | None:
        row = await self._db.one("SELECT interrupt_id, person FROM links WHERE digest = $1", digest)
        return (row[0], orjson.loads(row[1])) if row else None


def error_text(error: str) -> str:
    """What a channel or a provider said went wrong, as far as PostgreSQL keeps it (no U+0000)."""
    return error[:_ERROR_CHARS].replace("\0", "\N{SYMBOL FOR NULL}")
