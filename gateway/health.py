"""`/healthz`, `/readyz` and `/metrics`: is this process alive, should it get requests, how is it doing.

What costs a query is asked at most once in a few seconds, however often somebody looks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog
from aiohttp import web

from gateway.http import reply
from gateway.metrics import CONTENT_TYPE, Metrics
from host.coordination.port import Coordination
from host.store.port import Store
from host.store.records import StoreUnavailable
from host.waiters import Waiters

log = structlog.get_logger("sayso.health")

MOST_COUNTED: Final = 10_000
_COUNTED_SECONDS: Final = 5.0
_ASKED_SECONDS: Final = 0.5
_LAG_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether to send requests here. `state`: ready, degraded (by `reason`), or unavailable."""

    state: str
    reason: str = ""


class Health:
    """Watches the store and the coordination. `phase` is "starting", "serving" or "stopping"."""

    def __init__(
        self,
        store: Store,
        coordination: Coordination,
        waiters: Waiters,
        metrics: Metrics,
        streams: Callable[[], int],
        clock: Callable[[], int],
    ) -> None:
        self.phase = "starting"
        self._store = store
        self._coordination = coordination
        self._waiters = waiters
        self._metrics = metrics
        self._streams = streams
        self._clock = clock
        self._looking = asyncio.Lock()
        self._found: Condition | None = None
        self._looked_at = self._counted_at = -3600.0

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/healthz", self.alive),
            web.get("/readyz", self.ready),
            web.get("/metrics", self.scrape),
        ]

    async def alive(self, _: web.Request) -> web.Response:
        if self.phase != "serving":
            return web.Response(status=503, text=f"{self.phase}\n", headers={"Retry-After": "1"})
        return web.Response(text="ok\n")

    async def ready(self, request: web.Request) -> web.Response:
        """Text, or JSON for those who accept nothing else."""
        found = await self.condition()
        status, headers = 200, {"Cache-Control": "no-store"}
        if found.state == "unavailable":
            status, headers["Retry-After"] = 503, "1"
        if request.headers.get("Accept", "").startswith("application/json"):
            body = {"status": found.state, **({"reason": found.reason} if found.reason else {})}
            return reply(status, body, headers)
        text = f"{found.state}: {found.reason}" if found.reason else found.state
        return web.Response(status=status, text=text + "\n", headers=headers)

    async def scrape(self, _: web.Request) -> web.Response:
        await self.condition()
        await self._count()
        self._metrics.waiting(len(self._waiters), self._streams())
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    async def condition(self) -> Condition:
        """How it stands. The store and the coordination are asked twice a second at most."""
        if self.phase != "serving":
            return Condition("unavailable", self.phase)
        async with self._looking:
            now = time.monotonic()
            if self._found is None or now - self._looked_at > _ASKED_SECONDS:
                self._found = await self._look()
                self._looked_at = time.monotonic()
        return self._found

    async def _look(self) -> Condition:
        store, redis = await asyncio.gather(self._store.healthy(), self._coordination.healthy())
        self._metrics.up("store", store)
        self._metrics.up("coordination", redis)
        changes = store and await self._store.takes_changes()
        self._metrics.up("store_changes", changes)
        if not store:
            return Condition("unavailable", "the store is away")
        parts = (("the store takes no changes", changes), ("redis", redis))
        reasons = [reason for reason, well in parts if not well]
        return Condition("degraded", ", ".join(reasons)) if reasons else Condition("ready")

    async def _count(self) -> None:
        async with self._looking:
            now = time.monotonic()
            if now - self._counted_at < _COUNTED_SECONDS:
                return
            self._counted_at = now
            try:
                census = await self._store.statistics.census(self._clock(), MOST_COUNTED)
            except StoreUnavailable as away:
                log.warning("counts are old: the store is away", reason=str(away))
                return
            self._metrics.take(census)

    async def watch_loop(self) -> None:
        """For ever: note how late the event loop is. What blocks it delays everybody's answer."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _LAG_SECONDS
            await asyncio.sleep(_LAG_SECONDS)
            self._metrics.late(max(loop.time() - due, 0.0))
