"""A TCP proxy between a program and a server's Unix socket, which can be cut, slow, or a black hole."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Literal

State = Literal["open", "cut", "hole"]


class Link:
    """One way from one program to one server, on a port of its own.

    open   passes bytes on, each chunk after `delay` seconds
    cut    connections are reset, and new ones too
    hole   connections stay and are accepted, and nothing comes through: what a lost network looks like
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._passing = asyncio.Event()
        self._passing.set()
        self.state: State = "open"
        self.delay = 0.0
        self.port = 0

    async def start(self) -> None:
        """Listen on a free port of this machine."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close all of it."""
        if self._server is not None:
            self._server.close()
        self.cut()

    def cut(self) -> None:
        """Reset every connection, and refuse new ones until `heal`."""
        self.state = "cut"
        self._passing.set()
        for writer in list(self._connections):
            writer.transport.abort()

    def swallow(self) -> None:
        """Let nothing through from now on, either way."""
        self.state = "hole"
        self._passing.clear()

    def heal(self) -> None:
        """Pass bytes on again, at once. What a hole held back comes through now: TCP sends again."""
        self.state = "open"
        self.delay = 0.0
        self._passing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            await self._passing.wait()
            if self.state == "cut":
                return
            there_reader, there = await asyncio.open_unix_connection(self._target)
            self._connections.add(there)
            try:
                await self._both(reader, writer, there_reader, there)
            finally:
                self._connections.discard(there)
                there.transport.abort()
        except OSError:
            return
        finally:
            self._connections.discard(writer)
            writer.transport.abort()

    async def _both(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there_reader: asyncio.StreamReader,
        there: asyncio.StreamWriter,
    ) -> None:
        ways = (
            asyncio.create_task(self._pass(reader, there)),
            asyncio.create_task(self._pass(there_reader, writer)),
        )
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(2**16):
                if self.delay:
                    await asyncio.sleep(self.delay)  # the fault itself, not a wait for something
                await self._passing.wait()
                writer.write(chunk)
                await writer.drain()
