"""The embedded store: one SQLite file in the data folder."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from host.store.port import StoreUnavailable
from host.store.sqlite.database import Database
from host.store.sqlite.log import SqliteLog
from host.store.sqlite.queues import SqliteDeliveries, SqliteLinks, SqliteReplies, SqliteShelf

MIGRATIONS = ("schema.sql",)
"""Scripts in the order in which they were written. The number of those applied is `user_version`."""


class SqliteStore:
    """`host.store.port.Store` on one file. One process at a time writes to it."""

    def __init__(self, path: Path) -> None:
        folder = resources.files("host.store.sqlite")
        scripts = [folder.joinpath(name).read_text(encoding="utf-8") for name in MIGRATIONS]
        self._db = Database(path, scripts)
        self.log = SqliteLog(self._db)
        self.replies = SqliteReplies(self._db)
        self.deliveries = SqliteDeliveries(self._db)
        self.shelf = SqliteShelf(self._db)
        self.links = SqliteLinks(self._db)

    async def start(self) -> None:
        await self._db.start()
        await self.deliveries.release_all()

    async def stop(self) -> None:
        await self._db.stop()

    async def healthy(self) -> bool:
        try:
            return self._db.one("SELECT 1") is not None
        except StoreUnavailable:
            return False
