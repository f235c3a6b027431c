"""What this process has claimed for sending, and how sure it may be that it still holds it.

Leases are short and renewed while their messages wait or are sent. So whatever is claimed and forgotten (a
process that was killed, a claim whose answer was lost with the connection, a result that could not be
recorded) is free again within `LEASE_MS`, and a message whose channel is slow stays ours.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog

from host.store.port import Deliveries, Message

log = structlog.get_logger("sayso.pump")

LEASE_MS: Final = 6_000
_RENEW_SECONDS: Final = 1.5
_SURE_SECONDS: Final = LEASE_MS / 1000 - 1.0  # the last one is for clocks that run a little apart

Place = tuple[str, str, str]


class Holding:
    """The claims of one process. `clock` gives milliseconds; leases of replicas are compared by it, and
    how long ago ours was confirmed is measured by a clock that nobody sets."""

    def __init__(self, deliveries: Deliveries, owner: str, clock: Callable[[], int]) -> None:
        self._deliveries = deliveries
        self._owner = owner
        self._clock = clock
        self._held: dict[Place, tuple[Message, float]] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def claim(self, limit: int) -> list[Message]:
        """Take what is stale. Raises `StoreUnavailable`."""
        asked = time.monotonic()
        now = self._clock()
        claimed = await self._deliveries.claim(now, self._owner, LEASE_MS, limit)
        for message in claimed:
            self._held[_place(message)] = message, asked
        return claimed

    def sure(self, message: Message) -> bool:
        """Whether nobody else can have claimed it: it was ours a moment ago."""
        held = self._held.get(_place(message))
        return (
            held is not None
            and held[0].fence == message.fence
            and time.monotonic() - held[1] < _SURE_SECONDS
        )

    def drop(self, message: Message) -> None:
        """It was settled, or is left: its lease is not renewed any more."""
        held = self._held.get(_place(message))
        if held is not None and held[0].fence == message.fence:
            del self._held[_place(message)]

    async def keep(self) -> None:
        """For ever: renew what is held. While the store is away leases run out, and `sure` says so."""
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                await self.renew()
            except Exception as error:
                log.error("leases could not be renewed", error=repr(error))

    async def renew(self) -> None:
        """Once. Raises `StoreUnavailable`."""
        held = [message for message, _ in self._held.values()]
        if not held:
            return
        asked = time.monotonic()
        for message in await self._deliveries.renew(held, self._clock(), LEASE_MS):
            place = _place(message)
            if place in self._held and self._held[place][0].fence == message.fence:
                self._held[place] = message, asked


def _place(message: Message) -> Place:
    return message.interrupt_id, message.channel, message.address
