"""What is said while a server is away, and that everything mends by itself when it is back."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import aiohttp
import pytest

from schemas.ids import path_segment
from tests.acceptance.program import until
from tests.faults.checker import Checker
from tests.faults.load import Case, Client, Play
from tests.faults.world import World

pytestmark = pytest.mark.faults


async def _ready(session: aiohttp.ClientSession, url: str) -> tuple[int, str, str]:
    async with session.get(f"{url}/readyz") as response:
        return (
            response.status,
            (await response.text()).strip(),
            response.headers.get("Retry-After", ""),
        )


async def _until_ready(
    session: aiohttp.ClientSession, world: World, wanted: tuple[int, str, str]
) -> None:
    for url in world.urls:

        async def said(url: str = url) -> bool:
            return await _ready(session, url) == wanted

        await until(said, f"/readyz to say {wanted}")


async def _once(
    session: aiohttp.ClientSession, world: World, at: int, path: str, body: Any, key: str
) -> tuple[int, Any, Any]:
    """One try, whatever comes of it."""
    headers = {"Authorization": f"Bearer {world.key}", "Idempotency-Key": key}
    url = world.urls[at] + path
    async with session.post(url, json=body, headers=headers) as response:
        return response.status, await response.json(), response.headers


async def test_without_postgres_nothing_is_acknowledged_and_it_heals(
    world: World, session: aiohttp.ClientSession, client: Client
) -> None:
    chance = random.Random(1)
    play = Play(client, chance)
    cases = [Case(f"away-{n}", "left") for n in range(8)]
    await asyncio.gather(*(play.case(case) for case in cases))
    await _until_ready(session, world, (200, "ready", ""))
    await asyncio.to_thread(world.postgres.stop, "immediate")
    await _until_ready(session, world, (503, "unavailable: the store is away", "1"))
    answers = await asyncio.gather(
        *(
            _once(session, world, n % 2, case.node, {"resumeValue": "now"}, case.key("now"))
            for n, case in enumerate(cases)
        )
    )
    for status, body, headers in answers:
        assert (status, body["error"], headers["Retry-After"]) == (503, "sayso.unavailable", "1")
    await asyncio.to_thread(world.postgres.start)
    await _until_ready(session, world, (200, "ready", ""))
    rows = await world.rows("SELECT status, count(*) FROM interrupts GROUP BY status")
    assert [tuple(row) for row in rows] == [("open", 8)]
    await Checker(world, client).cases(cases, chance)


async def test_a_replica_that_is_cut_off_from_postgres_says_so_and_the_other_serves(
    world: World, session: aiohttp.ClientSession, client: Client
) -> None:
    cut, other = world.replicas
    cut.postgres.cut()

    async def unavailable() -> bool:
        return (await _ready(session, cut.program.url))[0] == 503

    await until(unavailable, "the replica that is cut off to say so")
    assert (await _ready(session, other.program.url))[:2] == (200, "ready")
    chance = random.Random(2)
    case = Case("other-serves", "raced")
    await Play(client, chance).case(case)
    assert client.failed > 0 or case.won
    cut.postgres.heal()
    await _until_ready(session, world, (200, "ready", ""))
    await Checker(world, client).cases([case], chance)


@pytest.mark.parametrize("harm", ["cut", "swallow"])
async def test_without_redis_answers_stay_right_and_readiness_says_degraded(
    world: World, session: aiohttp.ClientSession, client: Client, harm: str
) -> None:
    for replica in world.replicas:
        getattr(replica.redis, harm)()
    await _until_ready(session, world, (200, "degraded: redis", ""))
    chance = random.Random(3)
    play = Play(client, chance)
    cases = [Case(f"{harm}-0", "raced"), Case(f"{harm}-1", "left"), Case(f"{harm}-2", "cancelled")]
    await asyncio.gather(*(play.case(case) for case in cases))
    assert client.failed == 0
    # One key at both replicas at once, with nobody to arbitrate but the database.
    left = cases[1]
    answers = await asyncio.gather(
        *(
            _once(session, world, n % 2, left.node, {"resumeValue": "twice"}, left.key("twice"))
            for n in range(10)
        )
    )
    assert {status for status, _, _ in answers} == {200}
    first = [h for _, _, h in answers if "OpenWOP-Idempotent-Replay" not in h]
    assert len(first) == 1
    left.style = "single"
    status, body, _ = answers[0]
    left.told["twice"] = await client.send(
        chance, "POST", left.node, {"resumeValue": "twice"}, key=left.key("twice")
    )
    assert (status, body) == (200, left.told["twice"].body)
    await Checker(world, client).cases(cases, chance)
    for replica in world.replicas:
        replica.redis.heal()
    await _until_ready(session, world, (200, "ready", ""))


async def test_who_waits_is_answered_although_the_wake_up_is_lost(
    world: World, session: aiohttp.ClientSession, client: Client
) -> None:
    """The announcing side is cut off from Redis, so the other has no reason to look."""
    chance = random.Random(4)
    case = Case("lost-wake-up", "left")
    await Play(client, chance).case(case)
    world.replicas[0].redis.cut()

    async def degraded() -> bool:
        return (await _ready(session, world.urls[0]))[1] == "degraded: redis"

    await until(degraded, "the announcing replica to have lost Redis")
    path = f"/host/sayso/interrupts/{path_segment(case.interrupt_id)}?wait=60"
    headers = {"Authorization": f"Bearer {world.key}"}
    before = await _waiters(session, world.urls[1])

    async def wait() -> Any:
        async with session.get(world.urls[1] + path, headers=headers) as response:
            return await response.json()

    async def waits() -> bool:
        return await _waiters(session, world.urls[1]) > before

    waiting = asyncio.create_task(wait())
    await until(waits, "the long poll at the second replica")
    body = {"resumeValue": "x"}
    status, _, _ = await _once(session, world, 0, case.node, body, case.key("x"))
    assert status == 200
    found = await asyncio.wait_for(waiting, 20)  # its own end is at 60
    assert (found["status"], found["resumeValue"]) == ("resolved", "x")


async def _waiters(session: aiohttp.ClientSession, url: str) -> float:
    async with session.get(f"{url}/metrics") as response:
        lines = (await response.text()).splitlines()
    [line] = [line for line in lines if line.startswith("sayso_waiters ")]
    return float(line.split()[1])
