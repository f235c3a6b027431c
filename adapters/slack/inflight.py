"""Work that goes on after Slack was answered, held by a strong reference until it's done.

The event loop keeps only weak references to tasks, and a runner that stops cancels what it finds:
so what has been acknowledged is kept here and waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger(__name__)


class InFlight:
    """A set of running tasks that can be drained."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` now. What it raises is logged: nobody waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def drain(self, patience: float) -> int:
        """Wait up to `patience` seconds for all of it, then cancel. Returns how many were
        cancelled.
        """
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(set(self._tasks), timeout=patience)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return len(late)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("slack: work after the answer failed", exc_info=error)
