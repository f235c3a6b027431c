"""One SQLite file: one writer thread with group commit, one reader on the event loop.

Every change is a job for the writer. Whatever has queued up while the last commit ran is one
transaction; nothing lingers for more. Each job runs in a savepoint of its own, so that one that conflicts
undoes itself alone, and all waiters are woken only after the commit is on the disk
(`synchronous=FULL`). Reads are point reads of microseconds on a connection of their own; WAL gives them
the last commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from host.store.port import Conflict, StoreUnavailable

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]
_BATCH = 512


class Database:
    """The file and its two connections. Methods other than `write` may only be called on the loop."""

    def __init__(self, path: Path, migrations: list[str]) -> None:
        self._path = path
        self._migrations = migrations
        self._jobs: queue.SimpleQueue[tuple[Job, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._reader: sqlite3.Connection | None = None

    async def start(self) -> None:
        """Open the file, migrate it, start the writer. Raises `StoreUnavailable` with what to do."""
        self._loop = asyncio.get_running_loop()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            writer = self._connect()
            self._migrate(writer)
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = 1")
            os.chmod(self._path, 0o600)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"Cannot open the database {self._path}: {error}") from error
        self._thread = threading.Thread(
            target=self._work, args=(writer,), name="sqlite-writer", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        """Finish what is queued, then close."""
        if self._thread is None:
            return
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)
        self._thread = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

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
        if self._thread is None or self._loop is None:
            raise StoreUnavailable("The database is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((job, future))
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

    def _work(self, connection: sqlite3.Connection) -> None:
        running = True
        while running:
            batch = [self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < _BATCH:
                    batch.append(self._jobs.get_nowait())
            jobs = [entry for entry in batch if entry is not None]
            running = len(jobs) == len(batch)
            if jobs:
                self._finish(self._transaction(connection, jobs))
        connection.close()

    def _transaction(
        self, connection: sqlite3.Connection, jobs: list[tuple[Job, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, BaseException | None]]:
        results: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            results = [(future, *_savepoint(connection, job)) for job, future in jobs]
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            gone = StoreUnavailable(f"The database did not take the change: {error}")
            return [(future, None, gone) for _, future in jobs]
        return results

    def _finish(self, results: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_wake, results)


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
