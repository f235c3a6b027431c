"""A subscriber's endpoint on loopback: keeps what it is sent, and answers as it was told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

PATIENCE = 60.0
"""Seconds after which a test that waits has failed."""


@dataclass(frozen=True)
class Received:
    """One request, byte for byte."""

    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return orjson.loads(self.raw)

    @property
    def event(self) -> Any:
        return self.body["event"]


@dataclass
class Receiver:
    """`answers` are given one after the other, then 204. `held` requests wait until it is set."""

    answers: list[web.Response] = field(default_factory=list)
    always: int = 204
    verifies: bool = True
    received: list[Received] = field(default_factory=list)
    held: asyncio.Event | None = None
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    origin: str = ""

    @property
    def url(self) -> str:
        return f"{self.origin}/hook?key=in-the-url"

    @property
    def deliveries(self) -> list[Received]:
        return [r for r in self.received if "event" in r.body]

    async def start(self) -> None:
        app = web.Application(client_max_size=8 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self.held is not None:
            self.held.set()
        await self._runner.cleanup()

    async def wait(self, count: int) -> list[Received]:
        """The deliveries, once there are `count` of them."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.deliveries) >= count)
        return self.deliveries

    async def _take(self, request: web.Request) -> web.Response:
        got = Received(dict(request.headers), await request.read())
        async with self._news:
            self.received.append(got)
            self._news.notify_all()
        if self.held is not None:
            await self.held.wait()
        if self.verifies and "challenge" in got.body:
            return web.json_response({"challenge": got.body["challenge"]})
        return self.answers.pop(0) if self.answers else web.Response(status=self.always)
