"""The database of a gateway that may be running, for commands: keys, the audit trail, the log read in order.

Only what is safe beside the one process that owns the file: nothing here touches a run, an interrupt or a
lease, whose owner holds them in memory. A file of another version is left alone, since its owner would not
survive a migration under its feet.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from host.decisions.state import Interrupt
from host.store.audit import AuditTrail, Feed
from host.store.documents import Documents
from host.store.keys import ApiKeys
from host.store.records import StoreUnavailable
from host.store.shelf import Shelf
from host.store.sqlite.database import Database
from host.store.sqlite.documents import SqliteDocuments
from host.store.sqlite.log import SqliteLog
from host.store.sqlite.operate import SqliteApiKeys, SqliteAudit, SqliteFeed
from host.store.sqlite.shelf import SqliteShelf
from host.store.sqlite.store import MIGRATIONS, scripts


@dataclass(frozen=True, slots=True)
class Beside:
    """The parts of the store that a command may use."""

    api_keys: ApiKeys
    feed: Feed
    audit: AuditTrail
    shelf: Shelf
    documents: Documents
    interrupt: Callable[[str], Awaitable[Interrupt | None]]
    """One interrupt as it is now. A look, and nothing is kept of it."""


@asynccontextmanager
async def beside(path: Path) -> AsyncIterator[Beside]:
    """Open the file, made if there is none yet. Raises `StoreUnavailable` with what to do."""
    found = version_of(path)
    if found not in (0, len(MIGRATIONS)):
        older = found < len(MIGRATIONS)
        what = "run `sayso db upgrade`, or start this Sayso" if older else "upgrade this Sayso"
        raise StoreUnavailable(
            f"The database {path} has schema {found}, and this Sayso knows {len(MIGRATIONS)}: {what}, "
            "then try again."
        )
    database = Database(path, scripts())
    await database.start()
    try:
        yield Beside(
            SqliteApiKeys(database),
            SqliteFeed(database),
            SqliteAudit(database),
            SqliteShelf(database),
            SqliteDocuments(database),
            SqliteLog(database).interrupt,
        )
    finally:
        await database.stop()


def version_of(path: Path) -> int:
    """How many migrations the file has seen; 0 for none. Raises `StoreUnavailable`."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise StoreUnavailable(f"Cannot open the database {path}: {error}") from error
