"""Wake-ups between gateways: what one appends, the others' waiters look at at once.

Announcements may be lost, and nothing depends on them: whoever waits looks again every few seconds, and a
worker at its next tick. After a gap everybody looks at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from host.coordination.port import Coordination
from host.waiters import Waiters

_CHANNEL = "changes"
_LOOK_SECONDS: Final = 5.0


class Wakeups:
    """Announces this gateway's changes, and wakes its waiters at those of the others."""

    def __init__(self, coordination: Coordination) -> None:
        self._coordination = coordination

    async def announce(self, topics: Sequence[str]) -> None:
        """Tell the others what changed, and which work there is, one topic a line. Never raises.

        Work is named where there is some: a worker that is woken for nothing asks the database for nothing,
        at each answer of each other gateway.
        """
        await self._coordination.announce(_CHANNEL, "\n".join(dict.fromkeys(topics)))

    async def run(self, waiters: Waiters) -> None:
        """For ever: wake who waits on what another gateway changed, and whoever sends messages."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen(waiters))
            group.create_task(_look_again(waiters))

    async def _listen(self, waiters: Waiters) -> None:
        async for message in self._coordination.listen(_CHANNEL):
            if not message:
                waiters.wake_all()
                continue
            for topic in message.split("\n"):
                waiters.wake(topic)


async def _look_again(waiters: Waiters) -> None:
    """The announcer may be the one whose Redis is away, and then nobody here would know. Reads that are
    asked for at once share their round trips, so this costs a query for some hundred waiters."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        waiters.wake_all()
