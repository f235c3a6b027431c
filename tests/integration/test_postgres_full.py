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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from host.store.records import StoreUnavailable
from schemas.ids import path_segment
from tests.acceptance.program import until
from tests.contract.test_store import ask, begin, wanted
from tests.fakes.postgres import PostgresServer, opened, rows
from tests.integration.conftest import Api, approval

_SIZE = 200_000  # characters
_BALLAST = "CREATE TABLE ballast AS SELECT repeat('x', 1000) FROM generate_series(1, 4000)"


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
        await self._server.command("CREATE DATABASE limited")
        return self._server.url("limited")

    async def __aexit__(self, *_: object) -> None:
        await self._server.command("DROP DATABASE limited WITH (FORCE)")
        await asyncio.to_thread(self._server.stop)
        await asyncio.to_thread(self._server.start)


async def test_a_full_disk_refuses_and_forgets_nothing(on_a_small_disk: str) -> None:
    async with opened(on_a_small_disk) as store:
        await rows(on_a_small_disk, _BALLAST)
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


async def test_readiness_says_that_the_disk_is_full_until_there_is_room(
    on_a_small_disk: str, start: Callable[..., Awaitable[Api]]
) -> None:
    if "/limited" in on_a_small_disk:
        pytest.skip(
            "nothing can be mounted here, and beside a file that is limited others still grow"
        )
    api = await start(store={"url": on_a_small_disk})
    await rows(on_a_small_disk, _BALLAST)
    before = await api.ask(await api.run())
    assert await _readiness(api) == (200, "ready")
    for size in (_SIZE, 2_000):  # at last nothing of any size goes in
        await _fill(api, size)

    async def says(wanted: tuple[int, str]) -> bool:
        return await _readiness(api) == wanted

    full = (200, "degraded: the store takes no changes")
    await until(lambda: says(full), "/readyz to tell of it")
    for _ in range(3):  # and it stays so: what it tries itself is refused too
        assert await api.gateway.host.store.takes_changes() is False
    status, found, _ = await api.call(
        "GET", f"/host/sayso/interrupts/{path_segment(before['interruptId'])}"
    )
    assert (status, found["status"]) == (200, "open")
    await rows(on_a_small_disk, "DROP TABLE ballast")
    await until(lambda: says((200, "ready")), "/readyz to be well again")
    await api.ask(await api.run())


async def _readiness(api: Api) -> tuple[int, str]:
    async with api.session.get(api.gateway.url + "/readyz") as response:
        return response.status, (await response.text()).strip()


async def _fill(api: Api, size: int) -> None:
    """Ask until one is refused."""
    for _ in range(1000):
        body = {"nodeId": "gate", "payload": approval(artifactData=_noise(size)), "notify": []}
        status, answer, headers = await api.call("POST", "/host/sayso/interrupts", body)
        if status == 503:
            assert headers["Retry-After"] == "1"
            return
        assert status == 201, answer
    raise AssertionError("the disk never got full")


def _noise(size: int = _SIZE) -> str:
    """Text that the database can't compress."""
    return os.urandom(size // 2).hex()
