"""What happens without anybody asking: deadlines fire, shelved events find their waits, old replies go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from host.decisions.resolve import Answer
from host.decisions.state import Principal
from host.host import Host
from host.store.port import ShelvedEvent, StoreUnavailable
from host.timers import Timers
from schemas.errors import Refusal

log = structlog.get_logger("sayso.workers")

_REPLY_LIFE_MS = 26 * 3600 * 1000


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


class ShelfWorker:
    """Brings verified external events to the waits that they match."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def run(self) -> None:
        await forever("shelf", self._host, "shelf", 1.0, self.once)

    async def once(self) -> bool:
        due = await self._host.store.shelf.due(self._host.clock(), 100)
        progress = False
        for event in due:
            progress = await self.apply(event) or progress
        return progress

    async def apply(self, event: ShelvedEvent) -> bool:
        """Resolve all waits of this event, or put it on the shelf. True when its state changed."""
        shelf = self._host.store.shelf
        if event.match_key is None:
            reason = "its mapping failed; see the payload"
            await shelf.applied(event.source, event.event_id, [], reason)
            log.warning("event not mapped", source=event.source, event_id=event.event_id)
            return True
        waits = await shelf.waits(event.match_key)
        if not waits:
            return await shelf.shelve(event.source, event.event_id)
        matched, problems = [], []
        for interrupt_id in waits:
            try:
                await self._resolve(event, interrupt_id)
                matched.append(interrupt_id)
            except Refusal as refusal:
                if refusal.code == "interrupt_already_resolved":
                    continue
                problems.append(f"{interrupt_id}: {refusal.message}")
            except StoreUnavailable:
                return False
        if not matched and not problems:
            return False
        await shelf.applied(event.source, event.event_id, matched, "; ".join(problems))
        log.info("event applied", source=event.source, event_id=event.event_id, waits=len(matched))
        return True

    async def _resolve(self, event: ShelvedEvent, interrupt_id: str) -> None:
        source = Principal(
            id=f"hook:{event.source}", tenant=event.tenant, name=event.source, kind="workload"
        )
        await self._host.resolve(
            interrupt_id, Answer(source, event.payload, f"hook:{event.source}", matched=True)
        )


class Housekeeping:
    """Forgets idempotency replies that are older than a day."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def once(self) -> bool:
        await self._host.store.replies.forget(self._host.clock() - _REPLY_LIFE_MS)
        return False

    async def run(self) -> None:
        await forever("housekeeping", self._host, "housekeeping", 600.0, self.once)
