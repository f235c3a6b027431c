"""A worker of sessions on loopback: answers decision requests by a function, as its author would write it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

PATIENCE = 60.0
Decide = Callable[[dict[str, Any]], Any]


@dataclass
class Worker:
    """`decide(request)` gives the answer: a dict, or a `web.Response`. Requests wait while `held` is not
    set."""

    decide: Decide
    requests: list[dict[str, Any]] = field(default_factory=list)
    raw: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)
    held: asyncio.Event | None = None
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    origin: str = ""

    @property
    def url(self) -> str:
        return f"{self.origin}/worker"

    @property
    def triggers(self) -> list[str]:
        return [r["trigger"]["type"] for r in self.requests]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The triggers of this type."""
        return [r["trigger"] for r in self.requests if r["trigger"]["type"] == kind]

    async def start(self) -> None:
        app = web.Application(client_max_size=8 * 2**20)
        app.router.add_post("/worker", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self.held is not None:
            self.held.set()
        await self._runner.cleanup()

    async def wait(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """The triggers of this type, once there are `count` of them."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(self.of(kind)) >= count)
        return self.of(kind)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with self._news:
            self.raw.append((body, dict(request.headers)))
            self.requests.append(orjson.loads(body))
            self._news.notify_all()
        if self.held is not None:
            await self.held.wait()
        answer = self.decide(self.requests[-1])
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)
