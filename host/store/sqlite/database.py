"""One SQLite file: group commit, statements on the event loop and the disk on a thread.

Whatever has queued up while the last commit ran is one transaction; nothing lingers for more. Its
statements run on the event loop (microseconds each, and no second Python thread fights for the
interpreter lock); its COMMIT, which waits for the disk (`synchronous=FULL`), runs on a thread while the
loop goes on. A job that conflicts undoes itself alone (by savepoints, once one of a batch has failed),
and a waiter is woken only after the commit is on the disk. Reads are point reads on a connection of
their own; WAL gives them the last commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from host.store.records import Conflict, StoreUnavailable

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]
_BATCH = 512


class Database:
    """The file and its two connections. All methods are called on the event loop.

    `refused`: a change was not taken, as by a disk that is full (`host.store.room`)."""

    def __init__(self, path: Path, migrations: list[str]) -> None:
        self._path = path
        self._migrations = migrations
        self._jobs: deque[tuple[Job, asyncio.Future[Any]]] = deque()
        self._committing: asyncio.Task[None] | None = None
        self._disk: ThreadPoolExecutor | None = None
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self.refused = False

    async def start(self) -> None:
        """Open the file and migrate it. Raises `StoreUnavailable` with what to do."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Before SQLite opens it: the files of the write-ahead log take over its mode.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            os.chmod(self._path, 0o600)
            self._writer = self._connect()
            self._migrate(self._writer)
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = 1")
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"Cannot open the database {self._path}: {error}") from error
        self._disk = ThreadPoolExecutor(1, "sqlite-commit")

    async def stop(self) -> None:
        """Finish what is queued, then close."""
        while self._committing is not None:
            await asyncio.wait([self._committing])
        if self._disk is not None:
            self._disk.shutdown()
            self._disk = None
        for connection in (self._writer, self._reader):
            if connection is not None:
                connection.close()
        self._writer = self._reader = None

    def read(self, sql: str, args: Iterable[Any] = ()) -> list[Any]:
        """All rows. Raises `StoreUnavailable`."""
        if self._reader is None:
            raise StoreUnavailable("The database is closed.")
        try:
            return self._reader.execute(sql, tuple(args)).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error

    def one(self, sql: str, args: Iterable[Any] = ()) -> Any | None:
        """The first row or None."""
        rows = self.read(sql, args)
        return rows[0] if rows else None

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run `job` in the next group commit; returns what it returned, once that is on the disk.

        Raises `Conflict` when the job did or a unique index refused it; `StoreUnavailable`.
        """
        if self._writer is None:
            raise StoreUnavailable("The database is closed.")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, future))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        return await future

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "wal_autocheckpoint = 2000",
            "busy_timeout = 5000",
            "cache_size = -32768",
            "temp_store = MEMORY",
            "journal_size_limit = 67108864",
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        have = connection.execute("PRAGMA user_version").fetchone()[0]
        if have > len(self._migrations):
            raise StoreUnavailable(
                f"The database {self._path} was written by a newer Sayso (schema {have}; this one "
                f"knows {len(self._migrations)}). Upgrade Sayso, or restore a backup."
            )
        for number, script in enumerate(self._migrations[have:], start=have + 1):
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;"
            )

    async def _commit_all(self) -> None:
        """Commit batch after batch until nothing is queued."""
        try:
            while self._jobs:
                batch = [self._jobs.popleft() for _ in range(min(len(self._jobs), _BATCH))]
                await self._transaction(batch)
        finally:
            self._committing = None

    async def _transaction(self, batch: list[tuple[Job, asyncio.Future[Any]]]) -> None:
        connection = self._writer
        assert connection is not None
        loop = asyncio.get_running_loop()
        try:
            results = _together(connection, batch)
            await loop.run_in_executor(self._disk, connection.execute, "COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self.refused = True
            gone = StoreUnavailable(f"The database did not take the change: {error}")
            results = [(future, None, gone) for _, future in batch]
        _wake(results)


def _together(
    connection: sqlite3.Connection, batch: list[tuple[Job, asyncio.Future[Any]]]
) -> list[tuple[asyncio.Future[Any], Any, BaseException | None]]:
    """All jobs in one open transaction. Almost always every one of them succeeds, so the first try sets no
    savepoints; when one fails, all are undone and done again with one each."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        return [(future, job(connection), None) for job, future in batch]
    except Exception as error:
        if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
            raise  # the database itself: nobody's job would fare better
    # The second try meets the failure again, and gives it to the job that it belongs to.
    connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    return [(future, *_savepoint(connection, job)) for job, future in batch]


def _savepoint(connection: sqlite3.Connection, job: Job) -> tuple[Any, BaseException | None]:
    connection.execute("SAVEPOINT job")
    try:
        result = job(connection)
    except sqlite3.IntegrityError as error:
        connection.execute("ROLLBACK TO job")
        return None, Conflict(str(error))
    except sqlite3.Error:
        raise
    except Exception as error:
        connection.execute("ROLLBACK TO job")
        return None, error
    finally:
        connection.execute("RELEASE job")
    return result, None


def _wake(results: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, result, error in results:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
