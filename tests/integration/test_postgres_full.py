"""A database whose disk is full: what is acknowledged is kept, and it goes on when there is room.

The disk is a small tmpfs under a tablespace, which wants the right to mount. Without it a limit on the size
of the server's files takes its place: the database meets it in the same place, when a table has to grow.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from host.store.records import StoreUnavailable
from tests.contract.test_store import ask, begin, wanted
from tests.fakes.postgres import PostgresServer, opened, rows

_SIZE = 200_000  # characters


@pytest.fixture(autouse=True)
def every_event_is_checked() -> None:
    """Not here: the runs of these tests are bare."""


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of 24 MiB. Raises `PermissionError` where none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="sayso-small-"))
    mount = shutil.which("mount")
    try:
        command = [mount or "mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", str(folder)]
        if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
            raise PermissionError
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def on_a_small_disk(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """The URL of a database on it, or on a server whose files may not grow."""
    try:
        with small_disk() as disk:
            place = disk / "space"
            place.mkdir()
            owner = postgres_server.folder.stat()
            os.chown(place, owner.st_uid, owner.st_gid)
            await postgres_server.command(f"CREATE TABLESPACE small LOCATION '{place}'")
            await postgres_server.command("CREATE DATABASE small TABLESPACE small")
            try:
                yield postgres_server.url("small")
            finally:
                await postgres_server.command("DROP DATABASE small WITH (FORCE)")
                await postgres_server.command("CHECKPOINT")
                await postgres_server.command("DROP TABLESPACE small")
    except PermissionError:
        async with _limited(postgres_server) as url:
            yield url


class _limited:
    """A database of a server that may write no file larger than 24 MiB. (Its WAL's segments are 16.)"""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def __aenter__(self) -> str:
        await asyncio.to_thread(self._server.stop)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (24 * 2**20, hard))
        try:
            await asyncio.to_thread(self._server.start)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await self._server.command("CREATE DATABASE small")
        return self._server.url("small")

    async def __aexit__(self, *_: object) -> None:
        await self._server.command("DROP DATABASE small WITH (FORCE)")
        await asyncio.to_thread(self._server.stop)
        await asyncio.to_thread(self._server.start)


async def test_a_full_disk_refuses_and_forgets_nothing(on_a_small_disk: str) -> None:
    async with opened(on_a_small_disk) as store:
        await rows(
            on_a_small_disk,
            "CREATE TABLE ballast AS SELECT repeat('x', 1000) FROM generate_series(1, 4000)",
        )
        before = await ask(store, await begin(store))
        kept: list[str] = []
        refused = ""
        while not refused:
            state = await begin(store)
            try:
                asked = await ask(store, state, wanted(key="k", description=_noise()))
            except StoreUnavailable as error:
                refused = str(error)
                lost = state.run.run_id
            else:
                assert asked.interrupt is not None
                kept.append(asked.interrupt.interrupt_id)
            assert len(kept) < 1000, "the disk never got full"
        assert len(refused) < 300
        assert kept
        assert await store.healthy()
        for interrupt_id in kept:
            found = await store.log.interrupt(interrupt_id)
            assert found is not None
            assert found.status == "open"
        run = await store.log.run(lost)
        assert run is not None
        assert (run.version, run.open) == (1, ())
        await rows(on_a_small_disk, "DROP TABLE ballast")
        again = await ask(store, await begin(store))
        for state in (before, again):
            assert state.interrupt is not None
            assert await store.log.interrupt(state.interrupt.interrupt_id) is not None


def _noise() -> str:
    """Text that the database can't compress."""
    return os.urandom(_SIZE // 2).hex()
