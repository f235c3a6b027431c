"""What every implementation of the coordination port promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from host.coordination.embedded import EmbeddedValkey
from host.coordination.port import Allowance, Coordination
from host.coordination.redis import RedisCoordination
from tests.fakes.valkeys import Cluster, Watched

T = TypeVar("T", Watched, Cluster)


@dataclass(frozen=True)
class Reached:
    """Servers that are there, by the URL that a gateway would be given."""

    url: str


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    yield from _held(Watched(tmp_path_factory.mktemp("sentinel")))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from _held(Cluster(tmp_path_factory.mktemp("cluster")))


def _held(servers: T) -> Iterator[T]:
    async def start() -> None:
        for server in servers.servers:
            await server.start()
        await servers.ready()

    try:
        asyncio.run(start())
        yield servers
    finally:
        for server in servers.servers:
            server.kill()


@pytest.fixture(params=["embedded", "watched", "cluster"])
def shape(request: pytest.FixtureRequest) -> Watched | Cluster | None:
    if request.param == "embedded":
        return None
    found: Watched | Cluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def valkey(shape: Watched | Cluster | None, tmp_path: Path) -> AsyncIterator[Reached]:
    """Each shape of server, empty."""
    if shape is None:
        embedded = EmbeddedValkey(tmp_path)
        await embedded.start()
        yield Reached(embedded.url)
        await embedded.stop()
        return
    primaries = shape.servers[:1] if isinstance(shape, Watched) else shape.servers[:3]
    for server in primaries:
        await server.say("FLUSHALL")
    yield Reached(shape.url)


@pytest.fixture
async def replicas(valkey: Reached) -> AsyncIterator[tuple[Coordination, Coordination]]:
    """Two gateways that share their servers."""
    one, two = RedisCoordination(valkey.url, deadline=2), RedisCoordination(valkey.url, deadline=2)
    await one.start()
    await two.start()
    yield one, two
    await one.stop()
    await two.stop()


Replicas = tuple[Coordination, Coordination]


async def gone(check: Callable[[], object]) -> None:
    """Wait for a condition of the server, for as long as a test may take."""
    async with asyncio.timeout(60):
        while not await check():  # type: ignore[misc]
            await asyncio.sleep(0.005)


async def test_healthy(replicas: Replicas) -> None:
    assert await replicas[0].healthy()


async def test_a_claim_is_won_once_until_it_is_released(replicas: Replicas) -> None:
    one, two = replicas
    assert await one.claim("k" * 500, 30) == "won"
    assert await two.claim("k" * 500, 30) == "taken"
    assert await one.claim("k" * 500, 30) == "taken"
    assert await two.claim("other", 30) == "won"
    await one.release("k" * 500)
    assert await two.claim("k" * 500, 30) == "won"


async def test_only_the_winner_releases(replicas: Replicas) -> None:
    one, two = replicas
    assert await one.claim("k", 30) == "won"
    await two.release("k")
    assert await two.claim("k", 30) == "taken"


async def test_a_claim_ends_by_itself(replicas: Replicas) -> None:
    one, two = replicas
    assert await one.claim("k", 0.05) == "won"

    async def won() -> bool:
        return await two.claim("k", 30) == "won"

    await gone(won)


async def test_a_race_of_100_has_one_winner(replicas: Replicas) -> None:
    answers = await asyncio.gather(*(replicas[n % 2].claim("race", 30) for n in range(100)))
    assert sorted(answers) == ["taken"] * 99 + ["won"]


async def test_first(replicas: Replicas) -> None:
    one, two = replicas
    assert await one.first("event-1", 30)
    assert not await two.first("event-1", 30)
    assert await two.first("event-2", 0.05)
    await gone(lambda: one.first("event-2", 30))


async def test_first_and_claim_do_not_share_keys(replicas: Replicas) -> None:
    assert await replicas[0].claim("k", 30) == "won"
    assert await replicas[0].first("k", 30)


async def test_a_lock_is_held_by_one_and_given_back(replicas: Replicas) -> None:
    one, two = replicas
    async with one.lock("sweep", 30) as mine:
        assert mine is not None
        assert mine.name == "sweep"
        async with two.lock("sweep", 30) as theirs:
            assert theirs is None
        async with two.lock("other", 30) as other:
            assert other is not None
    async with two.lock("sweep", 30) as theirs:
        assert theirs is not None
        assert theirs.owner != mine.owner


async def test_a_lock_is_not_reentrant(replicas: Replicas) -> None:
    async with replicas[0].lock("sweep", 30), replicas[0].lock("sweep", 30) as again:
        assert again is None


async def test_fences_rise_with_every_grant(replicas: Replicas) -> None:
    fences = []
    for turn in range(6):
        async with replicas[turn % 2].lock("{odd} name", 30) as lease:
            assert lease is not None
            fences.append(lease.fence)
    assert fences == sorted(set(fences))


async def test_waiting_for_a_lock(replicas: Replicas) -> None:
    one, two = replicas
    entered = asyncio.Event()

    async def wait_for_it() -> int:
        async with two.lock("sweep", 30, wait=10) as lease:
            assert lease is not None
            assert entered.is_set()
            return lease.fence

    async with one.lock("sweep", 30) as mine:
        assert mine is not None
        waiting = asyncio.create_task(wait_for_it())
        async with two.lock("sweep", 30, wait=0.05) as lease:
            assert lease is None
        entered.set()
    assert await waiting > mine.fence


async def test_a_lock_is_given_back_when_the_block_fails(replicas: Replicas) -> None:
    with pytest.raises(LookupError):
        async with replicas[0].lock("sweep", 30):
            raise LookupError
    async with replicas[1].lock("sweep", 30) as lease:
        assert lease is not None


async def test_a_cancelled_holder_gives_its_lock_back(replicas: Replicas) -> None:
    holding = asyncio.Event()

    async def hold() -> None:
        async with replicas[0].lock("sweep", 30):
            holding.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await holding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with replicas[1].lock("sweep", 30) as lease:
        assert lease is not None


async def test_a_cancelled_call_is_cancelled(replicas: Replicas) -> None:
    """At whichever step of the loop: a lost cancellation would leave a task running for ever."""
    cancelled = 0
    for steps in range(40):
        for turn in range(5):
            call = asyncio.create_task(replicas[0].claim(f"{steps}-{turn}", 30))
            for _ in range(steps):
                await asyncio.sleep(0)
            if call.cancel():
                await asyncio.wait((call,))
                assert call.cancelled(), f"lost after {steps} steps"
                cancelled += 1
    assert cancelled
    assert await replicas[0].claim("after", 30) == "won"


async def test_renewal_keeps_a_lock_longer_than_its_ttl(replicas: Replicas) -> None:
    """A mark with the same time to live, set after the lock, ends while the lock does not."""
    one, two = replicas
    ttl = 0.3
    async with one.lock("sweep", ttl) as mine:
        assert mine is not None
        for turn in range(3):
            assert await one.first(f"mark-{turn}", ttl)

            async def over(turn: int = turn) -> bool:
                return await two.first(f"mark-{turn}", ttl)

            await gone(over)
            async with two.lock("sweep", ttl) as theirs:
                assert theirs is None


async def test_others_hear_an_announcement_and_its_sender_does_not(replicas: Replicas) -> None:
    one, two = replicas
    expected = [f"run|{number} é" for number in range(1_200)]
    async with (
        asyncio.timeout(60),
        aclosing(one.listen("wake")) as own,  # type: ignore[type-var]
        aclosing(two.listen("wake")) as heard,  # type: ignore[type-var]
    ):
        assert await anext(own) == ""
        assert await anext(heard) == ""
        for message in expected:
            await one.announce("wake", message)
        await one.announce("elsewhere", "not for this channel")
        await two.announce("wake", "from two")
        assert [await anext(heard) for _ in expected] == expected
        assert await anext(own) == "from two"


async def test_stop_sends_what_was_announced(replicas: Replicas, valkey: Reached) -> None:
    leaving = RedisCoordination(valkey.url, deadline=2)
    await leaving.start()
    async with asyncio.timeout(60), aclosing(replicas[0].listen("wake")) as heard:  # type: ignore[type-var]
        assert await anext(heard) == ""
        await leaving.announce("wake", "last words")
        await leaving.stop()
        assert await anext(heard) == "last words"


async def test_prefixes_keep_installations_apart(valkey: Reached) -> None:
    here, there = RedisCoordination(valkey.url, "a"), RedisCoordination(valkey.url, "b")
    await here.start()
    await there.start()
    try:
        assert await here.claim("k", 30) == "won"
        assert await there.claim("k", 30) == "won"
    finally:
        await here.stop()
        await there.stop()


async def test_what_one_takes_the_other_has_not(replicas: Replicas) -> None:
    """Three at once, and then one a minute: between the two, not each."""
    one, two = replicas
    posts = [Allowance("posts", 60.0, 3)]
    answers = [await side.rates.take("T1", posts) for side in (one, two, one, two, one)]
    assert answers[:3] == [(0.0,), (0.0,), (0.0,)]
    for refused in answers[3:]:  # and a refusal takes nothing
        assert refused is not None
        assert 50.0 < refused[0] <= 60.0
    assert await two.rates.take("T2", posts) == (0.0,)


async def test_of_several_limits_all_are_taken_or_none(replicas: Replicas) -> None:
    one, two = replicas
    narrow, wide = Allowance("channel:C1", 60.0), Allowance("posts", 30.0, 2)
    assert await one.rates.take("T1", [narrow, wide]) == (0.0, 0.0)
    found = await two.rates.take("T1", [narrow, wide])
    assert found is not None
    assert found[0] > 50.0
    assert found[1] == 0.0  # the workspace has room, and keeps it
    assert await two.rates.take("T1", [Allowance("channel:C2", 60.0), wide]) == (0.0, 0.0)


async def test_who_leaves_some_to_others_takes_with_a_smaller_burst(replicas: Replicas) -> None:
    one, two = replicas
    assert await one.rates.take("T1", [Allowance("updates", 60.0, 2)]) == (0.0,)
    assert await two.rates.take("T1", [Allowance("updates", 60.0, 1)]) != (0.0,)
    assert await two.rates.take("T1", [Allowance("updates", 60.0, 2)]) == (0.0,)


async def test_a_rest_is_everybodys_and_no_burst_follows_it(replicas: Replicas) -> None:
    one, two = replicas
    posts = Allowance("posts", 60.0, 5)
    await one.rates.rest("T1", posts, 30.0)
    await two.rates.rest("T1", posts, 1.0)  # a shorter one takes nothing back
    found = await two.rates.take("T1", [posts])
    assert found is not None
    assert 29.0 < found[0] <= 30.0
    brief = Allowance("brief", 60.0, 5)
    await one.rates.rest("T1", brief, 0.001)

    async def over() -> bool:
        return await two.rates.take("T1", [brief]) == (0.0,)

    await gone(over)
    assert await two.rates.take("T1", [brief]) != (0.0,)


async def test_what_has_passed_is_given_again(replicas: Replicas) -> None:
    fast = [Allowance("posts", 0.05, 1)]
    assert await replicas[0].rates.take("T{1}", fast) == (0.0,)

    async def again() -> bool:
        return await replicas[1].rates.take("T{1}", fast) == (0.0,)

    await gone(again)
