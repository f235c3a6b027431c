"""Group commit by itself: what shares a statement, what must not, and what becomes of failures."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.store.postgres.batches import Batches
from host.store.records import Conflict


class Sender:
    """Keeps the batches that it was sent; each waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gates: list[asyncio.Event] = []

    async def __call__(self, items: list[str]) -> list[str | Exception]:
        gate = asyncio.Event()
        self.batches.append(items)
        self.gates.append(gate)
        await gate.wait()
        return [Conflict(i) if i.startswith("bad") else i.upper() for i in items]

    def let_go(self) -> None:
        for gate in self.gates:
            gate.set()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_queues_up_while_two_are_under_way_goes_together() -> None:
    sender = Sender()
    batches = Batches(sender)
    tasks = []
    for name in ("a", "b", "c", "d", "e"):
        tasks.append(asyncio.create_task(batches(name)))
        await settle()
    assert sender.batches == [["a"], ["b"]]
    sender.gates[0].set()
    await settle()
    assert sender.batches == [["a"], ["b"], ["c", "d", "e"]]
    sender.let_go()
    assert await asyncio.gather(*tasks) == ["A", "B", "C", "D", "E"]


async def test_what_is_asked_at_once_is_one_batch() -> None:
    sender = Sender()
    batches = Batches(sender)
    tasks = [asyncio.create_task(batches(name)) for name in "abc"]
    await settle()
    assert sender.batches == [["a", "b", "c"]]
    sender.let_go()
    assert await asyncio.gather(*tasks) == ["A", "B", "C"]


async def test_items_that_share_a_name_go_one_after_the_other() -> None:
    sender = Sender()
    batches = Batches(sender, names=lambda item: item[:1])
    tasks = [asyncio.create_task(batches(name)) for name in ("a1", "a2", "b1", "a3")]
    await settle()
    sender.let_go()
    while not all(task.done() for task in tasks):
        await settle()
        sender.let_go()
    assert sorted(map(sorted, sender.batches)) == [["a1", "b1"], ["a2"], ["a3"]]
    assert [b for b in sender.batches if b[0].startswith("a")] == [["a1", "b1"], ["a2"], ["a3"]]


async def test_each_gets_its_own_failure() -> None:
    sender = Sender()
    batches = Batches(sender)
    tasks = [asyncio.create_task(batches(name)) for name in ("a", "bad", "c")]
    await settle()
    sender.let_go()
    good, bad, other = await asyncio.gather(*tasks, return_exceptions=True)
    assert (good, other) == ("A", "C")
    assert isinstance(bad, Conflict)


async def test_a_failed_batch_fails_for_all_and_the_next_goes_on() -> None:
    async def send(items: list[str]) -> list[str | Exception]:
        if "bad" in items:
            raise Conflict("all of it")
        return [*items]

    batches: Batches[str, str] = Batches(send)
    results = await asyncio.gather(batches("a"), batches("bad"), return_exceptions=True)
    assert [type(r) for r in results] == [Conflict, Conflict]
    assert await batches("b") == "b"


async def test_a_sender_that_answers_too_little_leaves_nobody_waiting() -> None:
    async def send(items: list[str]) -> list[str | Exception]:
        return [*items][:1]

    batches: Batches[str, str] = Batches(send)
    first, second = await asyncio.gather(batches("a"), batches("b"), return_exceptions=True)
    assert first == "a"
    assert isinstance(second, ValueError)


async def test_a_name_that_cannot_be_made_fails_for_its_caller_alone() -> None:
    async def send(items: list[str]) -> list[str | Exception]:
        return [*items]

    batches: Batches[str, str] = Batches(send, names=lambda item: [item[0]])
    with pytest.raises(IndexError):
        await batches("")
    assert await batches("a") == "a"


async def test_who_was_cancelled_in_the_queue_is_not_sent() -> None:
    sender = Sender()
    batches = Batches(sender)
    tasks = []
    for name in ("a", "b", "c", "d"):
        tasks.append(asyncio.create_task(batches(name)))
        await settle()
    tasks[2].cancel()
    tasks[0].cancel()
    await settle()
    sender.let_go()
    await settle()
    sender.let_go()
    await batches.finish()
    assert sender.batches == [["a"], ["b"], ["d"]]
    assert await tasks[3] == "D"


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("callers", [1, 2, 5])
async def test_who_asks_again_as_soon_as_it_is_answered_is_answered_again(
    lanes: int, callers: int
) -> None:
    """The last lane has just found the queue empty then, and may not count as working any more."""

    async def send(items: list[str]) -> list[str | Exception]:
        await asyncio.sleep(0)
        return [*items]

    batches: Batches[str, str] = Batches(send, lanes=lanes)

    async def ask() -> None:
        for number in range(50):
            assert await batches(str(number)) == str(number)

    async with asyncio.timeout(60):
        await asyncio.gather(*(ask() for _ in range(callers)))


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=60))
def test_all_are_answered_and_no_batch_has_a_name_twice(items: list[str]) -> None:
    batches_seen: list[list[str]] = []

    async def send(batch: list[str]) -> list[str | Exception]:
        batches_seen.append(batch)
        await asyncio.sleep(0)
        return [*batch]

    async def run() -> list[str]:
        batches: Batches[str, str] = Batches(send, names=lambda item: set(item))
        return list(await asyncio.gather(*(batches(item) for item in items)))

    assert asyncio.run(run()) == items
    for batch in batches_seen:
        names = [name for item in batch for name in set(item)]
        assert len(names) == len(set(names))
    assert sorted(i for b in batches_seen for i in b) == sorted(items)
