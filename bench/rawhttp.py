"""The thinnest HTTP client that can measure: one request at a time on a connection, on asyncio's protocols.

A full client costs about as much CPU as the gateway it measures, and on a machine with two cores that is in
every figure. This one knows JSON bodies with a Content-Length, and nothing else.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)


class Refused(Exception):
    """An answer of 300 or above. The text is the status and the start of the body."""


class Connection(asyncio.Protocol):
    """One kept-alive connection with one API key."""

    def __init__(self, key: str) -> None:
        self._head = f"HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n".encode()
        self._got = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, url: str, key: str) -> Connection:
        parts = urlsplit(url)
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(lambda: cls(key), parts.hostname, parts.port)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is one by what it does, not by its class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        found = _LENGTH.search(self._got, 0, end + 2) if end >= 0 else None
        if end < 0 or len(self._got) < end + 4 + (int(found[1]) if found else 0):
            return
        body, status = self._got[end + 4 :], int(self._got[9:12])
        self._got = b""
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result((status, body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionError("the gateway hung up"))

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON. Raises `Refused`, `ConnectionError`."""
        assert self._transport is not None
        raw = b"" if body is None else orjson.dumps(body)
        kind = (
            b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(raw) if raw else b""
        )
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(f"{method} {path} ".encode() + self._head + kind + b"\r\n" + raw)
        status, answer = await self._answer
        if status >= 300:
            raise Refused(f"{method} {path}: HTTP {status} {answer[:300]!r}")
        return orjson.loads(answer) if answer else None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
