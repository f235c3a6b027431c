"""The embedded store: one SQLite file in the data folder."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from host.store import room
from host.store.records import StoreUnavailable
from host.store.sqlite.database import Database
from host.store.sqlite.documents import SqliteDocuments
from host.store.sqlite.log import SqliteLog
from host.store.sqlite.operate import SqliteApiKeys, SqliteAudit, SqliteFeed, SqliteStatistics
from host.store.sqlite.outbox import SqliteOutbox
from host.store.sqlite.queues import SqliteDeliveries, SqliteLinks, SqliteReplies
from host.store.sqlite.shelf import SqliteShelf
from host.store.sqlite.webhooks import SqliteSubscriptions

MIGRATIONS = (
    "schema.sql",
    "002_webhooks.sql",
    "003_operate.sql",
    "004_shelf.sql",
    "005_documents.sql",
    "006_retention.sql",
)
"""Scripts in the order in which they were written. The number of those applied is `user_version`."""


def scripts() -> list[str]:
    """The texts of `MIGRATIONS`."""
    folder = resources.files("host.store.sqlite")
    return [folder.joinpath(name).read_text(encoding="utf-8") for name in MIGRATIONS]


class SqliteStore:
    """`host.store.port.Store` on one file. One process at a time writes to it."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, scripts())
        self.log = SqliteLog(self._db)
        self.replies = SqliteReplies(self._db)
        self.deliveries = SqliteDeliveries(self._db)
        self.shelf = SqliteShelf(self._db)
        self.links = SqliteLinks(self._db)
        self.subscriptions = SqliteSubscriptions(self._db)
        self.outbox = SqliteOutbox(self._db)
        self.api_keys = SqliteApiKeys(self._db)
        self.feed = SqliteFeed(self._db)
        self.audit = SqliteAudit(self._db)
        self.documents = SqliteDocuments(self._db)
        self.statistics = SqliteStatistics(self._db)

    async def start(self) -> None:
        await self._db.start()
        await self.deliveries.release_all()
        await self.outbox.release_all()

    async def stop(self) -> None:
        await self._db.stop()

    async def healthy(self) -> bool:
        try:
            return self._db.one("SELECT 1") is not None
        except StoreUnavailable:
            return False

    async def takes_changes(self) -> bool:
        return await room.takes_changes(self._db, self.documents)
