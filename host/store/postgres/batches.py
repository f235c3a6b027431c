"""Many callers, one statement: whatever queued up while the last one ran goes with the next.

Nothing lingers for a fuller batch. What is asked for now never joins a statement that is already under way,
so a read sees everything that was committed before it was asked for. The same shape serves appends (a
group commit) and point reads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_MOST = 256  # below 1024, the places that one transaction's positions have (functions.sql)
_LANES = 2


def _no_names(_: object) -> Iterable[Hashable]:
    return ()


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T, R]):
    item: T
    names: frozenset[Hashable]
    future: asyncio.Future[R]


class Batches(Generic[T, R]):
    """Call it with one item; it answers with that item's result, or raises it.

    `send` takes a batch and answers with a result or an exception for each item, in order; what it raises
    is raised to all. `names` gives what an item claims: no two items of one batch share a name. At most
    `lanes` batches are under way.
    """

    def __init__(
        self,
        send: Callable[[list[T]], Awaitable[list[R | Exception]]],
        names: Callable[[T], Iterable[Hashable]] = _no_names,
        lanes: int = _LANES,
    ) -> None:
        self._send = send
        self._names = names
        self._queue: deque[_Entry[T, R]] = deque()
        self._most_lanes = lanes
        self._working = 0
        self._starting = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, item: T) -> R:
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queue.append(_Entry(item, frozenset(self._names(item)), future))
        self._start_lane()
        return await future

    async def finish(self) -> None:
        """Wait until nothing is queued or under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start_lane(self) -> None:
        """Unless one is about to start, which takes all that is queued by then."""
        if not self._starting and self._working < self._most_lanes:
            self._starting = True
            self._working += 1
            lane = asyncio.create_task(self._lane())
            self._tasks.add(lane)
            lane.add_done_callback(self._tasks.discard)

    async def _lane(self) -> None:
        """Send batch after batch until nothing is queued.

        It is counted out in the same step in which it found the queue empty: a task that has ended and
        is still counted would leave the next item waiting for ever.
        """
        self._starting = False
        try:
            await self._send_all()
        finally:
            self._working -= 1

    async def _send_all(self) -> None:
        while batch := self._take():
            try:
                results = await self._send([entry.item for entry in batch])
                for entry, result in zip(batch, results, strict=True):
                    _answer(entry.future, result)
            except Exception as error:  # whatever it is: nobody may be left waiting
                for entry in batch:
                    _answer(entry.future, error)
            except asyncio.CancelledError:
                for entry in batch:
                    entry.future.cancel()
                raise

    def _take(self) -> list[_Entry[T, R]]:
        """The next batch, in order; what shares a name with it stays queued, as the first."""
        batch: list[_Entry[T, R]] = []
        later: list[_Entry[T, R]] = []
        taken: set[Hashable] = set()
        while self._queue and len(batch) < _MOST and len(later) < _MOST:
            entry = self._queue.popleft()
            if entry.future.done():
                continue
            if taken.isdisjoint(entry.names):
                taken |= entry.names
                batch.append(entry)
            else:
                later.append(entry)
        self._queue.extendleft(reversed(later))
        if self._queue and batch:
            self._start_lane()
        return batch


def _answer(future: asyncio.Future[R], result: R | Exception) -> None:
    if future.done():  # answered already, or its caller was cancelled
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
