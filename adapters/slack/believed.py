"""What Slack said, believed for a bounded time, and asked for once however many want to know."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from host.locks import NamedLocks

V = TypeVar("V")

_MOST: Final = 10_000


class Believed(Generic[V]):
    """Values by name. One is never given out `staleness` seconds after it was *asked* for: the answer may
    have been true only then."""

    def __init__(self, staleness: float) -> None:
        self._staleness = staleness
        self._known: OrderedDict[str, tuple[float, V]] = OrderedDict()
        self._locks = NamedLocks()
        self._changes = 0

    def peek(self, name: str) -> V | None:
        """What is known and not too old."""
        found = self._known.get(name)
        if found is None or time.monotonic() - found[0] >= self._staleness:
            return None
        return found[1]

    async def get(self, name: str, ask: Callable[[], Awaitable[V]]) -> V:
        """What is known, else what `ask` says. Raises what `ask` raises, and then knows nothing new."""
        if (known := self.peek(name)) is not None:
            return known
        await self._locks.acquire(name)
        try:
            if (known := self.peek(name)) is not None:
                return known
            asked, changes = time.monotonic(), self._changes
            value = await ask()
            if (
                changes == self._changes
            ):  # else it may be from before a change that was told meanwhile
                self._known[name] = (asked, value)
                self._known.move_to_end(name)
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
            return value
        finally:
            self._locks.release(name)

    def forget(self, ending: str) -> None:
        """Something changed: forget the names that end so."""
        self._changes += 1
        for name in [name for name in self._known if name.endswith(ending)]:
            del self._known[name]
