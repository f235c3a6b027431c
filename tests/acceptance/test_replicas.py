"""Two programs from `config/two-replicas.toml`, as docs/replicas.md starts them, on real servers."""

from __future__ import annotations

import asyncio
import shutil
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

import config
from host.coordination.embedded import EmbeddedValkey
from schemas.ids import path_segment
from tests.acceptance.agent import Agent, approval
from tests.acceptance.program import Program, until

FILE = Path(config.__file__).parent / "two-replicas.toml"
SHARED = ("secrets.json", "token-keys.json")
ACCEPT = {"action": "accept"}

Make = Callable[..., Program]


@dataclass
class Two:
    """Two replicas and the same program at both."""

    programs: tuple[Program, Program]
    agents: tuple[Agent, Agent]


@pytest.fixture
async def redis_url(tmp_path: Path) -> AsyncIterator[str]:
    server = EmbeddedValkey(tmp_path / "valkey")
    await server.start()
    yield server.url
    await server.stop()


@pytest.fixture
async def two(
    program: Make,
    session: aiohttp.ClientSession,
    postgres_url: str,
    redis_url: str,
    tmp_path: Path,
) -> Two:
    """The first is started, then its two secret files are copied to the second's folder, as for
    another machine."""
    settings = {
        "SAYSO_CONFIG": str(FILE),
        "SAYSO_STORE__URL": postgres_url,
        "SAYSO_REDIS__URL": redis_url,
    }
    create = program("api-keys", "create", "shop", home="one", settings=settings)
    await create.launch()
    assert await create.ended() == 0, create.output
    [key] = create.lines
    one = await _started(program, "one", settings)
    (tmp_path / "other" / "data").mkdir(mode=0o700, parents=True)
    for name in SHARED:
        shutil.copy(one.data / name, tmp_path / "other" / "data" / name)
    other = await _started(program, "other", settings)
    return Two((one, other), (Agent(one, session, key), Agent(other, session, key)))


async def _started(program: Make, home: str, settings: dict[str, str]) -> Program:
    made = program("serve", home=home, settings=settings)  # on a free port, instead of the file's
    await made.start()
    return made


def test_the_file_names_both_servers_and_no_password() -> None:
    read = tomllib.loads(FILE.read_text())
    assert read["store"]["url"].startswith("postgresql://")
    assert read["redis"]["url"].startswith("redis://")
    assert "@" not in read["redis"]["url"]
    assert ":" not in read["store"]["url"].removeprefix("postgresql://").partition("@")[0]


async def test_of_two_hundred_resolves_over_both_processes_one_is_answered_200(two: Two) -> None:
    run = await two.agents[0].run()
    record = await two.agents[1].ask(run, approval())
    answers = await asyncio.gather(
        *(two.agents[n % 2].resolve(run, "gate", ACCEPT) for n in range(200))
    )
    assert Counter(status for status, _ in answers) == {200: 1, 409: 199}
    assert {body["error"] for status, body in answers if status == 409} == {
        "interrupt_already_resolved"
    }
    for agent in two.agents:
        assert (await agent.look(record))["status"] == "resolved"
        types = Counter(event["type"] for event in await agent.events(run))
        assert types["interrupt.resolved"] == 1


async def test_who_waits_on_one_is_answered_by_a_resolve_on_the_other(
    two: Two, session: aiohttp.ClientSession
) -> None:
    here, there = two.agents
    run = await here.run()
    record = await here.ask(run, approval())

    async def listening() -> bool:
        async with session.get(f"{two.programs[1].url}/metrics") as response:
            said = await response.text()
        return _gauge(said, "sayso_waiters") > idle

    async with session.get(f"{two.programs[1].url}/metrics") as response:
        idle = _gauge(await response.text(), "sayso_waiters")
    waiting = asyncio.create_task(there.look(record, wait=60))
    await until(listening, "the long poll at the second replica")
    status, _ = await here.resolve(run, "gate", ACCEPT)
    assert status == 200
    found = await asyncio.wait_for(waiting, 10)  # its own wait would have lasted 60 seconds
    assert (found["status"], found["resumeValue"]["action"]) == ("resolved", "accept")


async def test_a_link_and_a_token_of_one_open_at_the_other(
    two: Two, session: aiohttp.ClientSession
) -> None:
    here = two.agents[0]
    run = await here.run()
    record = await here.ask(run, approval())
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/tokens"
    status, made = await here.call("POST", path, {"intent": "resolve"})
    assert status == 201, made
    elsewhere = made["url"].replace(two.programs[0].url, two.programs[1].url)
    assert elsewhere != made["url"]
    async with session.get(elsewhere) as response:
        assert response.status == 200
        assert "Refund 120 EUR" in await response.text()


def _gauge(text: str, name: str) -> float:
    [line] = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])
