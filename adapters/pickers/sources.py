"""Asking whoever has a picker's options: over HTTP, or a command. Bounded in time and in bytes.

Both are told the same: `q` (what was typed), `limit`, the `ids` to be checked, the tenant. Both answer JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import aiohttp
import orjson

from adapters.egress import AddressRefused, Egress, UrlRejected
from host.options import OptionsUnavailable

MAX_BYTES: Final = 2**20
_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to a source. With `ids` only those are wanted, else at most `limit` that match `q`."""

    tenant: str
    q: str = ""
    limit: int = 100
    ids: tuple[str, ...] = ()


class Source(Protocol):
    """Somebody who has options."""

    async def fetch(self, asked: Asked) -> Any:
        """The JSON that it answers. Raises `OptionsUnavailable`."""


@dataclass(frozen=True, slots=True)
class HttpSource:
    """`GET url?q=…&limit=…&tenant=…`, or with `id=…` for each option that is to be checked.

    No redirect is followed and no proxy used; where it may lead is the egress guard's to say. Values go into
    the query, so that a cache or a log of the source can tell requests apart.
    """

    url: str
    egress: Egress
    timeout: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def fetch(self, asked: Asked) -> Any:
        query = [("tenant", asked.tenant), *(("id", one) for one in asked.ids)]
        if not asked.ids:
            query += [("q", asked.q), ("limit", str(asked.limit))]
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", **self.headers}
        try:
            async with asyncio.timeout(self.timeout):
                session = self.egress.session(self.url)
                async with session.get(
                    self.url, params=query, headers=headers, allow_redirects=False
                ) as response:
                    if response.status != 200:
                        raise OptionsUnavailable(f"the source answered {response.status}")
                    return _parsed(await _bounded(response.content))
        except (UrlRejected, AddressRefused):
            raise OptionsUnavailable("the source's address may not be reached from here") from None
        except TimeoutError:
            raise OptionsUnavailable(f"no answer within {self.timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise OptionsUnavailable(type(error).__name__) from None


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    async for chunk in stream.iter_any():
        body += chunk
        if len(body) > MAX_BYTES:
            raise OptionsUnavailable(f"its answer is larger than {MAX_BYTES:,} bytes")
    return bytes(body)


class CommandSource:
    """A program of the operator's: a line of JSON in, the options out. At most four run at once.

    It is started without a shell, in a process group of its own that is killed when its time is over, and
    sees nothing of our environment but PATH, HOME and the locale.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._command = tuple(command)
        self._timeout = timeout
        self._seats = asyncio.Semaphore(_AT_ONCE)

    async def fetch(self, asked: Asked) -> Any:
        told = {"q": asked.q, "limit": asked.limit, "ids": list(asked.ids), "tenant": asked.tenant}
        try:
            async with asyncio.timeout(self._timeout), self._seats:
                return _parsed(await self._run(json.dumps(told).encode() + b"\n"))
        except TimeoutError:
            raise OptionsUnavailable(f"no answer within {self._timeout:g} s") from None
        except OSError as error:
            raise OptionsUnavailable(f"it can't be started: {type(error).__name__}") from None

    async def _run(self, line: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL")},
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(line)
                await process.stdin.drain()
            process.stdin.close()
            out = await _bounded_pipe(process.stdout)
            if await process.wait() != 0:
                raise OptionsUnavailable(f"it ended with {process.returncode}")
            return out
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _bounded_pipe(stream: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while chunk := await stream.read(65_536):
        body += chunk
        if len(body) > MAX_BYTES:
            raise OptionsUnavailable(f"its answer is larger than {MAX_BYTES:,} bytes")
    return bytes(body)


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise OptionsUnavailable("its answer is not JSON") from None
