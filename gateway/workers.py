"""What happens without anybody asking: deadlines fire, old replies go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from host import cascade
from host.host import Host
from host.timers import Timers

log = structlog.get_logger("sayso.workers")

_HOUR_MS = 3600 * 1000
_DOCUMENTS = 500


async def forever(
    name: str, host: Host, topic: str, seconds: float, once: Callable[[], Awaitable[bool]]
) -> None:
    """Call `once` when `topic` wakes, and every `seconds`; again at once while it finds work.

    An exception is logged and the loop goes on: a worker that dies is a worker nobody misses in time.
    """
    with host.waiters.on(topic) as wake:
        while True:
            wake.clear()
            try:
                more = await once()
            except Exception as error:
                log.error("worker failed", worker=name, error=repr(error))
                more = False
            if not more:
                try:
                    async with asyncio.timeout(seconds):
                        await wake.wait()
                except TimeoutError:
                    continue


class Deadlines:
    """Fires passed deadlines and ended delays, once each, after any downtime."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._timers = Timers(host)

    async def once(self) -> bool:
        due = await self._host.store.log.due(self._host.clock(), 100)
        for interrupt_id in due:
            if await self._timers.expire(interrupt_id):
                log.info("interrupt expired", interrupt=interrupt_id)
        delayed = await self._host.store.log.to_wake(self._host.clock(), 100)
        for run_id in delayed:
            await self._timers.wake(run_id)
        return 100 in (len(due), len(delayed))

    async def run(self) -> None:
        await forever("deadlines", self._host, "deadlines-tick", 0.25, self.once)


class Cascades:
    """Finishes the cancelling of families that a crash broke off."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def once(self) -> bool:
        if ended := await cascade.once(self._host):
            log.info("runs cancelled after their parent", runs=ended)
        return False

    async def run(self) -> None:
        await forever("cascades", self._host, "cascades", 5.0, self.once)


class Housekeeping:
    """Forgets the answers to idempotency keys after their hours, and documents that have expired."""

    def __init__(self, host: Host, key_hours: int) -> None:
        self._host = host
        self._key_life_ms = key_hours * _HOUR_MS

    async def once(self) -> bool:
        now = self._host.clock()
        await self._host.store.replies.forget(now - self._key_life_ms)
        return await self._host.store.documents.forget(now, _DOCUMENTS) == _DOCUMENTS

    async def run(self) -> None:
        await forever("housekeeping", self._host, "housekeeping", 600.0, self.once)
