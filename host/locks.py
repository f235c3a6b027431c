"""Locks by name, for what one process does one after the other. A name that nobody uses costs nothing."""

from __future__ import annotations

import asyncio


class NamedLocks:
    """`acquire` and `release` in pairs. Not reentrant; waiters are served in order."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[asyncio.Lock, list[int]]] = {}

    async def acquire(self, name: str) -> None:
        entry = self._held.get(name)
        if entry is None:
            entry = self._held[name] = (asyncio.Lock(), [0])
        lock, users = entry
        users[0] += 1
        try:
            await lock.acquire()
        except BaseException:
            self._leave(name, users)
            raise

    def release(self, name: str) -> None:
        lock, users = self._held[name]
        lock.release()
        self._leave(name, users)

    def _leave(self, name: str, users: list[int]) -> None:
        users[0] -= 1
        if not users[0]:
            del self._held[name]

    def __len__(self) -> int:
        return len(self._held)
