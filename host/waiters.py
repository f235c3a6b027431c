"""Who in this process waits for what: a run's next event, an interrupt's next change, work to do.

A waiter registers first and then looks at the store, so a change between the two can't be missed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Change:
    """What `asyncio.Event` is, for one who waits: in a third of its memory, since there may be ten thousand.

    `over`: the time to wait is."""

    __slots__ = ("_future", "_set", "over")

    def __init__(self) -> None:
        self.over = False
        self._set = False
        self._future: asyncio.Future[None] | None = None

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def clear(self) -> None:
        self._set = False

    def end(self) -> None:
        self.over = True
        self.set()

    async def wait(self) -> None:
        """Until it is set. One task at a time may wait for it."""
        if self._set:
            return
        assert self._future is None, "somebody else waits for this change"
        self._future = asyncio.get_running_loop().create_future()
        try:
            await self._future
        finally:
            self._future = None


class Waiters:
    """Wake-ups by topic (a run id or an interrupt id)."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Change]] = {}
        self.closed = False

    @contextlib.contextmanager
    def on(self, topic: str) -> Iterator[Change]:
        """What is set at every change of `topic` from now on. Clear it, look, wait."""
        changed = self._join(topic)
        try:
            yield changed
        finally:
            self._leave(topic, changed)

    async def until(
        self, topic: str, seconds: float, look: Callable[[], Awaitable[tuple[T, bool]]]
    ) -> T:
        """What `look` finds once it says that this is enough, or when `seconds` are over or we stop.

        It looks at once, and again at every change of `topic`. While it waits it holds nothing of what it
        found, and no more than it must: this is where programs are parked.
        """
        found, enough = await look()
        if enough or self.closed or seconds <= 0:
            return found
        changed = self._join(topic)
        timer = asyncio.get_running_loop().call_later(seconds, changed.end)
        try:
            while True:
                changed.clear()
                found, enough = await look()
                if enough or self.closed or changed.over:
                    return found
                del found
                await changed.wait()
        finally:
            timer.cancel()
            self._leave(topic, changed)

    def _join(self, topic: str) -> Change:
        changed = Change()
        self._waiting.setdefault(topic, []).append(changed)
        return changed

    def _leave(self, topic: str, changed: Change) -> None:
        waiting = self._waiting[topic]
        waiting.remove(changed)
        if not waiting:
            del self._waiting[topic]

    def wake(self, topic: str) -> None:
        """Tell all who wait on `topic` to look again."""
        for changed in self._waiting.get(topic, ()):
            changed.set()

    def wake_all(self) -> None:
        """After a gap in the news from other replicas: everybody looks again."""
        for waiting in self._waiting.values():
            for changed in waiting:
                changed.set()

    def close(self) -> None:
        """This process stops: whoever waits looks once more, and takes what is there for the answer."""
        self.closed = True
        self.wake_all()

    def __len__(self) -> int:
        return sum(len(w) for w in self._waiting.values())
