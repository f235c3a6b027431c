"""The store for several gateways: one PostgreSQL database, 14 or newer."""

from __future__ import annotations

import contextlib
import secrets

from host.store import room
from host.store.postgres.database import Database
from host.store.postgres.documents import PostgresDocuments
from host.store.postgres.log import PostgresLog
from host.store.postgres.migrations import MIGRATIONS, migrate, version_of
from host.store.postgres.operate import (
    PostgresApiKeys,
    PostgresAudit,
    PostgresFeed,
    PostgresStatistics,
)
from host.store.postgres.queues import PostgresDeliveries, PostgresLinks, PostgresReplies
from host.store.postgres.shelf import PostgresShelf
from host.store.postgres.webhooks import PostgresOutbox, PostgresSubscriptions
from host.store.records import StoreUnavailable


class PostgresStore:
    """`host.store.port.Store` on a `postgresql://` URL. Any number of processes may write to it.

    `deadline` (seconds) is for each call. Tables are made in the first schema of the role's search path.
    """

    def __init__(self, url: str, deadline: float = 5.0) -> None:
        self._db = Database(url, deadline)
        self.log = PostgresLog(self._db)
        self.replies = PostgresReplies(self._db)
        self.deliveries = PostgresDeliveries(self._db)
        owner = secrets.token_hex(8)
        self.shelf = PostgresShelf(self._db, owner)
        self.links = PostgresLinks(self._db)
        self.subscriptions = PostgresSubscriptions(self._db)
        self.outbox = PostgresOutbox(self._db, owner)
        self.api_keys = PostgresApiKeys(self._db)
        self.feed = PostgresFeed(self._db)
        self.audit = PostgresAudit(self._db)
        self.documents = PostgresDocuments(self._db)
        self.statistics = PostgresStatistics(self._db)

    async def start(self) -> None:
        await self._db.start()
        try:
            await migrate(self._db)
        except BaseException:
            await self._db.stop()
            raise

    async def start_beside(self, *, make: bool = False) -> None:
        """Open it for a command, beside gateways that may run: their schema stays as it is.

        `make`: an empty database gets its tables. Raises `StoreUnavailable` with what to do.
        """
        await self._db.start()
        try:
            found, known = await version_of(self._db), len(MIGRATIONS)
            if found == 0 and make:
                await migrate(self._db)
            elif found > known:
                raise StoreUnavailable(
                    f"The database has schema {found}, and this Sayso knows {known}: upgrade this Sayso."
                )
            elif found < known:
                raise StoreUnavailable(
                    f"The database has schema {found}, and this Sayso needs {known}: run `sayso db "
                    "upgrade`, or start a gateway of this version."
                )
        except BaseException:
            await self._db.stop()
            raise

    async def schema(self) -> tuple[int, int]:
        """The schema of the database, 0 for none, and the one that this program knows; opens and closes
        it. Raises `StoreUnavailable`."""
        await self._db.start()
        try:
            return await version_of(self._db), len(MIGRATIONS)
        finally:
            await self._db.stop()

    async def stop(self) -> None:
        """Finish what is queued, hand back what is leased, close. Leases end by themselves otherwise."""
        for part in (self.log, self.replies, self.api_keys):
            await part.finish()
        with contextlib.suppress(StoreUnavailable):
            await self.deliveries.hand_back()
            await self.shelf.hand_back()
            await self.outbox.hand_back()
        await self._db.stop()

    async def healthy(self) -> bool:
        try:
            return await self._db.one("SELECT 1") is not None
        except StoreUnavailable:
            return False

    async def takes_changes(self) -> bool:
        return await room.takes_changes(self._db, self.documents)
