"""The real program: a child process with a data folder of its own, started as a user starts it.

    program = Program(tmp_path, "dev", "--no-sample")
    await program.start()
    ...
    await program.kill()  # SIGKILL
    await program.start()  # again, on the same data folder; on another port

Nothing here waits for a length of time: everything waits for a condition, with a deadline after
which the failure says what was waited for and what the program printed.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

import aiohttp
import psutil

T = TypeVar("T")

PATIENCE = float(os.environ.get("SAYSO_TEST_PATIENCE", "120"))
"""Seconds after which a condition that doesn't come is a failure. Never how long a test takes. On a machine
that is busy with something else, more."""

_OURS = ("SAYSO_", "SLACK_")


@overload
async def until(
    look: Callable[[], Awaitable[T]], what: str | Callable[[], str], patience: float = PATIENCE
) -> T: ...


@overload
async def until(
    look: Callable[[], T], what: str | Callable[[], str], patience: float = PATIENCE
) -> T: ...


async def until(
    look: Callable[[], Any], what: str | Callable[[], str], patience: float = PATIENCE
) -> Any:
    """What `look()` returns as soon as it's true. Raises `AssertionError` that says `what`."""
    end = time.monotonic() + patience
    while True:
        found = look()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        if time.monotonic() > end:
            said = what if isinstance(what, str) else what()
            raise AssertionError(f"in vain: waited {patience:g} s for {said}")
        await asyncio.sleep(0.01)


class Program:
    """`sayso <arguments>` on one data folder, over all its starts.

    `settings` are environment variables. Of the environment of the tests the program gets all but
    what configures a Sayso.
    """

    def __init__(
        self,
        home: Path,
        *arguments: str,
        settings: Mapping[str, str] | None = None,
        module: str = "gateway.cli.main",
    ) -> None:
        self.home = home
        self.module = module
        self.data = home / "data"
        self.arguments = arguments
        self.settings = dict(settings or {})
        self.lines: list[str] = []
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._url_before: object = None

    @property
    def url(self) -> str:
        """The base URL of the current start."""
        return (self.data / "url").read_text().strip()

    @property
    def key(self) -> str:
        """The development API key."""
        return (self.data / "dev-api-key").read_text().strip()

    @property
    def output(self) -> str:
        """All that the program printed, over all its starts."""
        return "\n".join(self.lines)

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "the program was not started"
        return self._process

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def launch(self) -> None:
        """Start the process and wait for nothing."""
        assert not self.running, "it runs already"
        self._url_before = self._written()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
        environment |= {
            "SAYSO_HTTP__PORT": "0",
            "SAYSO_DATA_DIR": str(self.data),
            "PYTHONUNBUFFERED": "1",
            **self.settings,
        }
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self.module,
            *self.arguments,
            cwd=self.home,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**22,
        )
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            self._readers.append(asyncio.create_task(self._read(stream)))

    async def start(self, url: str = "") -> None:
        """Start it, and wait until it's ready to serve. `url`: where, if not as it says itself."""
        await self.launch()
        async with aiohttp.ClientSession() as session:

            async def healthy() -> bool:
                assert self.running, f"the program ended by itself:\n{self.output}"
                if self._written() == self._url_before:
                    return False
                try:
                    async with session.get(f"{url or self.url}/healthz") as response:
                        return response.status == 200
                except aiohttp.ClientError:
                    return False

            await until(healthy, lambda: f"the program to be ready; it said:\n{self.output}")

    async def said(self, text: str) -> str:
        """The first line that holds `text`, once it's there."""

        def found() -> str:
            return next((line for line in self.lines if text in line), "")

        return await until(found, lambda: f"the line {text!r} among:\n{self.output}")

    async def ended(self) -> int:
        """The exit code, once the program has ended and all it printed is read."""
        process = self.process
        try:
            async with asyncio.timeout(PATIENCE):
                await process.wait()
                await asyncio.gather(*self._readers)
        except TimeoutError:
            raise AssertionError(f"the program does not end; it said:\n{self.output}") from None
        self._readers.clear()
        assert process.returncode is not None
        return process.returncode

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(number)
        return await self.ended()

    async def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed, nobody is told."""
        self.process.kill()
        assert await self.ended() == -signal.SIGKILL

    async def restart(self) -> None:
        """SIGKILL, and start again on what is left."""
        await self.kill()
        await self.start()

    def children(self) -> list[Any]:
        """The processes that the program started (the private Valkey), now."""
        return list(psutil.Process(self.process.pid).children(recursive=True))

    async def close(self) -> None:
        """For the end of a test: leave nothing running, whatever happened."""
        if self.running:
            await self.kill()
        for line in self.lines:
            print(line)  # shown by pytest when the test failed

    def _written(self) -> object:
        """Which writing of the URL file this is: a killed program leaves its old one behind."""
        try:
            found = (self.data / "url").stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    async def _read(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            self.lines.append(line.decode().rstrip("\n"))
