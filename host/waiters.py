"""Who in this process waits for what: a run's next event, an interrupt's next change, work to do.

A waiter registers first and then looks at the store, so a change between the two can't be missed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Waiters:
    """Wake-ups by topic (a run id or an interrupt id)."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.closed = False

    @contextlib.contextmanager
    def on(self, topic: str) -> Iterator[asyncio.Event]:
        """An event that is set at every change of `topic` from now on. Clear it, look, wait."""
        event = asyncio.Event()
        waiting = self._waiting.setdefault(topic, set())
        waiting.add(event)
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting and self._waiting.get(topic) is waiting:
                del self._waiting[topic]

    async def until(
        self, topic: str, seconds: float, look: Callable[[], Awaitable[tuple[T, bool]]]
    ) -> T:
        """What `look` finds once it says that this is enough, or when `seconds` are over or we stop.

        It looks at once, and again at every change of `topic`.
        """
        found, enough = await look()
        if enough or self.closed or seconds <= 0:
            return found
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        with self.on(topic) as changed:
            while True:
                changed.clear()
                found, enough = await look()
                left = end - loop.time()
                if enough or left <= 0 or self.closed:
                    return found
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await changed.wait()

    def wake(self, topic: str) -> None:
        """Tell all who wait on `topic` to look again."""
        for event in self._waiting.get(topic, ()):
            event.set()

    def wake_all(self) -> None:
        """After a gap in the news from other replicas: everybody looks again."""
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()

    def close(self) -> None:
        """This process stops: whoever waits looks once more, and takes what is there for the answer."""
        self.closed = True
        self.wake_all()

    def __len__(self) -> int:
        return sum(len(w) for w in self._waiting.values())
