"""Locks by name: one at a time, in order, and a waiter that gives up passes its turn on."""

from __future__ import annotations

import asyncio

import pytest

from host.locks import NamedLocks


async def test_waiters_are_served_one_by_one_and_in_order() -> None:
    locks, order = NamedLocks(), []
    inside = 0

    async def work(number: int) -> None:
        nonlocal inside
        await locks.acquire("a")
        try:
            inside += 1
            assert inside == 1
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1
        finally:
            locks.release("a")

    await asyncio.gather(*(work(number) for number in range(10)))
    assert order == list(range(10))
    assert len(locks) == 0


async def test_names_do_not_wait_for_each_other() -> None:
    locks = NamedLocks()
    await locks.acquire("a")
    await asyncio.wait_for(locks.acquire("b"), 5)
    assert len(locks) == 2


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "when its turn has come"])
async def test_a_waiter_that_is_cancelled_leaves_the_lock_to_the_next(late: bool) -> None:
    locks = NamedLocks()
    await locks.acquire("a")
    first = asyncio.create_task(locks.acquire("a"))
    second = asyncio.create_task(locks.acquire("a"))
    await asyncio.sleep(0)
    if late:
        locks.release("a")  # the first's turn has come, and it hasn't run yet
        first.cancel()
    else:
        first.cancel()
        await asyncio.sleep(0)
        locks.release("a")
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.wait_for(second, 5)
    locks.release("a")
    assert len(locks) == 0
