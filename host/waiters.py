"""Who in this process waits for what: a run's next event, an interrupt's next change, work to do.

A waiter registers first and then looks at the store, so a change between the two can't be missed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


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
