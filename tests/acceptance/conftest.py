"""Programs, agents, a Slack and a mail server for the acceptance tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.agent import Agent
from tests.acceptance.program import Program
from tests.fakes.mail_server import MailServer
from tests.fakes.slack import FakeSlack

Start = Callable[..., Awaitable[Program]]

PEOPLE = """
[[people]]
id = "ada"
name = "Ada"
slack = ["T0TEAM/U0ADA"]
email = ["ada@example.com"]
groups = ["payments-approvers"]

[[people]]
id = "bob"
name = "Bob"
slack = ["T0TEAM/U0BOB"]
email = ["bob@example.com"]
"""


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Callable[..., Program]]:
    """Makes programs, each with a home of its own; none of them outlives the test."""
    made: list[Program] = []

    def make(
        *arguments: str, config: str = "", settings: dict[str, str] | None = None, home: str = ""
    ) -> Program:
        place = tmp_path / (home or f"p{len(made)}")
        place.mkdir(exist_ok=True)
        if config:
            (place / "sayso.toml").write_text(config)
            settings = {"SAYSO_CONFIG": str(place / "sayso.toml"), **(settings or {})}
        made.append(Program(place, *(arguments or ("dev", "--no-sample")), settings=settings))
        return made[-1]

    yield make
    for one in made:
        await one.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as found:
        yield found


@pytest.fixture
async def dev(program: Callable[..., Program]) -> Program:
    """A started `sayso dev` with a directory of two people and no channel but the web page."""
    made = program(config=PEOPLE)
    await made.start()
    return made


@pytest.fixture
def agent(dev: Program, session: aiohttp.ClientSession) -> Agent:
    return Agent(dev, session)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def mail() -> AsyncIterator[MailServer]:
    async with MailServer() as server:
        yield server
