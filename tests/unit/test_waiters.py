"""Waiting in this process: nothing is missed, nothing is held, and it ends when its time is over."""

from __future__ import annotations

import asyncio
import weakref

from host.waiters import Waiters


class Found:
    """Something that a look found."""


async def _parked(waiters: Waiters) -> None:
    """Until somebody waits. Whoever is about to does so in the next few steps."""
    async with asyncio.timeout(10):
        while not len(waiters):
            await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)


async def test_it_looks_again_at_every_change_until_it_is_enough() -> None:
    waiters, seen = Waiters(), [0]

    async def look() -> tuple[int, bool]:
        seen[0] += 1
        return seen[0], seen[0] == 4

    waiting = asyncio.create_task(waiters.until("topic", 60, look))
    await _parked(waiters)
    for _ in range(2):
        assert not waiting.done()
        waiters.wake("topic")
        waiters.wake("another")
        await _parked(waiters)
    assert await waiting == 4
    assert len(waiters) == 0


async def test_a_change_while_it_looks_is_not_missed() -> None:
    waiters, seen = Waiters(), [0]

    async def look() -> tuple[int, bool]:
        seen[0] += 1
        if seen[0] == 2:  # it has registered by now, and does not wait yet
            waiters.wake("topic")
        return seen[0], seen[0] == 3

    async with asyncio.timeout(10):
        assert await waiters.until("topic", 60, look) == 3


async def test_it_ends_when_its_time_is_over_and_when_we_stop() -> None:
    waiters = Waiters()

    async def look() -> tuple[str, bool]:
        return "as it is", False

    async with asyncio.timeout(10):
        for seconds in (
            0.0,
            0.0004,
            0.003,
        ):  # below a millisecond too, whatever the loop's timers do
            assert await waiters.until("topic", seconds, look) == "as it is"
        waiting = asyncio.create_task(waiters.until("topic", 60, look))
        await _parked(waiters)
        waiters.close()
        assert await waiting == "as it is"
    assert len(waiters) == 0


async def test_who_is_parked_holds_nothing_of_what_was_found() -> None:
    waiters, alive = Waiters(), weakref.WeakSet[Found]()

    async def look() -> tuple[Found, bool]:
        found = Found()
        alive.add(found)
        return found, False

    waiting = asyncio.create_task(waiters.until("topic", 60, look))
    await _parked(waiters)
    assert len(alive) == 0
    waiters.close()
    assert isinstance(await waiting, Found)


async def test_a_waiter_that_goes_leaves_the_others_waiting() -> None:
    waiters = Waiters()

    async def look() -> tuple[None, bool]:
        return None, False

    tasks = [asyncio.create_task(waiters.until("topic", 60, look)) for _ in range(3)]
    await _parked(waiters)
    tasks[1].cancel()
    await asyncio.wait([tasks[1]])
    assert len(waiters) == 2
    with waiters.on("topic") as changed:
        waiters.wake_all()
        await changed.wait()
        assert changed.is_set()
        changed.clear()
        assert not changed.is_set()
    waiters.close()
    await asyncio.gather(tasks[0], tasks[2])
    assert len(waiters) == 0
