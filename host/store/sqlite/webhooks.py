"""Subscriptions of outbound webhooks in SQLite, and what an append owes them."""

from __future__ import annotations

import sqlite3

import orjson

from host.store.records import Commit, Reply
from host.store.rows import SUBSCRIPTION, load_subscription
from host.store.sqlite.database import Database
from host.store.webhooks import Subscription, Wish, owed


def enqueue(connection: sqlite3.Connection, commit: Commit) -> None:
    """The deliveries of a commit, in its own transaction. One look-up when nobody subscribed."""
    rows = connection.execute(
        "SELECT webhook_id, events, tags FROM subscriptions WHERE tenant = ? AND disabled = ''",
        (commit.run.tenant,),
    ).fetchall()
    if not rows:
        return
    wishes = [
        Wish(row[0], frozenset(orjson.loads(row[1])), frozenset(orjson.loads(row[2])))
        for row in rows
    ]
    connection.executemany(
        "INSERT INTO outbox (delivery_id, webhook_id, run_id, sequence, event_type, due_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (o.delivery_id, o.webhook_id, commit.run.run_id, o.sequence, o.event_type, commit.at)
            for o in owed(commit, wishes)
        ],
    )


class SqliteSubscriptions:
    """`host.store.webhooks.Subscriptions`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, subscription: Subscription, reply: Reply | None = None) -> None:
        one = subscription

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO subscriptions (webhook_id, tenant, url, events, tags, algorithms, "
                "secret, secret_made, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    one.webhook_id,
                    one.tenant,
                    one.url,
                    *(orjson.dumps(x).decode() for x in (one.events, one.tags, one.algorithms)),
                    one.secret,
                    one.secret_made,
                    one.created_at,
                ),
            )
            _keep(connection, reply, one.created_at)

        await self._db.write(job)

    async def get(self, webhook_id: str) -> Subscription | None:
        row = self._db.one(
            f"SELECT {SUBSCRIPTION} FROM subscriptions WHERE webhook_id = ?",  # noqa: S608
            (webhook_id,),
        )
        return load_subscription(row, orjson.loads) if row else None

    async def of(self, tenant: str) -> list[Subscription]:
        rows = self._db.read(
            f"SELECT {SUBSCRIPTION} FROM subscriptions WHERE tenant = ? "  # noqa: S608
            "ORDER BY created_at, webhook_id",
            (tenant,),
        )
        return [load_subscription(row, orjson.loads) for row in rows]

    async def rotate(
        self, webhook_id: str, secret: str, until: int, now: int, reply: Reply | None = None
    ) -> bool:
        def job(connection: sqlite3.Connection) -> bool:
            changed = connection.execute(
                "UPDATE subscriptions SET previous_secret = secret, previous_until = ?, "
                "secret = ?, secret_made = 0 WHERE webhook_id = ?",
                (until, secret, webhook_id),
            )
            if changed.rowcount == 1:
                _keep(connection, reply, now)
            return changed.rowcount == 1

        return await self._db.write(job)

    async def disable(self, webhook_id: str, why: str, now: int) -> int:
        def job(connection: sqlite3.Connection) -> int:
            connection.execute(
                "UPDATE subscriptions SET disabled = ? WHERE webhook_id = ?", (why, webhook_id)
            )
            return connection.execute(
                "UPDATE outbox SET due_at = NULL, leased_until = 0, fence = fence + 1, "
                "died_at = ?, reason = 'retries_exhausted' "
                "WHERE webhook_id = ? AND due_at IS NOT NULL",
                (now, webhook_id),
            ).rowcount

        return await self._db.write(job)

    async def remove(self, webhook_id: str, now: int, reply: Reply | None = None) -> bool:
        def job(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM outbox WHERE webhook_id = ?", (webhook_id,))
            gone = connection.execute(
                "DELETE FROM subscriptions WHERE webhook_id = ?", (webhook_id,)
            )
            if gone.rowcount == 1:
                _keep(connection, reply, now)
            return gone.rowcount == 1

        return await self._db.write(job)


def _keep(connection: sqlite3.Connection, reply: Reply | None, now: int) -> None:
    if reply is not None:
        connection.execute(
            "INSERT INTO replies VALUES (?, ?, ?, ?, ?)",
            (reply.scope, reply.digest, reply.status, reply.body, now),
        )
