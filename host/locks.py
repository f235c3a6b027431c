"""Locks by name, for what one process does one after the other. A name that nobody uses costs nothing, and
one that nobody waits for next to nothing."""

from __future__ import annotations

import asyncio
from collections import deque

_Waiting = deque[asyncio.Future[None]]


class NamedLocks:
    """`acquire` and `release` in pairs. Not reentrant; waiters are served in order."""

    def __init__(self) -> None:
        self._held: dict[str, _Waiting | None] = {}

    async def acquire(self, name: str) -> None:
        if name not in self._held:
            self._held[name] = None
            return
        waiting = self._held[name]
        if waiting is None:
            waiting = self._held[name] = deque()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it had just become ours: to the next
                self.release(name)
            raise

    def release(self, name: str) -> None:
        waiting = self._held[name]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._held[name]

    def __len__(self) -> int:
        return len(self._held)
