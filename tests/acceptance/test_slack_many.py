"""Many cards over fifty channels, a kill in the middle, and Slack's limits: each is posted once.

Time is scaled: the gateway sends `PACE` times as fast as Slack allows, and the fake's limits run as fast.
Two thousand cards unless `SAYSO_TEST_CARDS` says otherwise: with 10000 it takes some minutes.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest

from tests.acceptance.agent import Agent, approval
from tests.acceptance.conftest import PEOPLE
from tests.acceptance.program import Program, until
from tests.acceptance.test_slack import environment
from tests.fakes.slack import FakeSlack

Make = Callable[..., Program]

CARDS, CHANNELS = int(os.environ.get("SAYSO_TEST_CARDS", "2000")), 50
PACE = 30.0
PATIENCE = 60.0 + CARDS / 10


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as found:
        found.limits.scale = PACE
        for number in range(CHANNELS):
            found.space.add_channel(f"C0N{number:02}", f"n{number}")
        yield found


async def test_many_cards_converge_after_a_kill_and_none_is_posted_twice(
    program: Make, slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    settings = {
        **environment(slack),
        "SAYSO_SLACK__PACE": str(PACE),
        "SAYSO_LOG_LEVEL": "warning",
    }
    gateway = program(config=PEOPLE, settings=settings)
    await gateway.start()
    slack.target = gateway.url
    agent = Agent(gateway, session)
    asking = asyncio.create_task(_ask_all(agent))
    await until(lambda: len(slack.messages) >= CARDS // 10, "the first cards", PATIENCE)
    await asking
    assert len(slack.messages) < CARDS, "all were posted before it was killed: it shows nothing"
    await gateway.restart()
    slack.target = gateway.url
    await until(lambda: len(slack.messages) >= CARDS, lambda: _said(slack), PATIENCE)
    found = Counter(
        message.metadata["event_payload"]["id"]
        for message in slack.messages.values()
        if message.user == slack.space.bot_user
    )
    assert len(found) == CARDS
    assert found.most_common(1)[0][1] == 1
    over = Counter(slack.limits.refused)
    assert sum(over.values()) <= 5, over  # a replica that dies takes its count with it, no more
    # It is over: what is decided from here on is shown at once.
    card = await slack.posted("C0N07")
    assert (await slack.click(card, "sayso.accept", user="U0ADA")).status == 200
    await slack.until(lambda: "Approved by Ada" in card.shown(), "the decision")


async def _ask_all(agent: Agent) -> None:
    """Each channel gets a run of its own."""

    async def channel(number: int) -> None:
        run = await agent.run()
        for each in range(CARDS // CHANNELS):
            asked = {**approval(), "key": f"k{each}"}
            await agent.ask(run, asked, node=f"g{each}", notify=[f"slack:#n{number}"])

    await asyncio.gather(*(channel(number) for number in range(CHANNELS)))


def _said(slack: FakeSlack) -> str:
    refused = Counter(slack.limits.refused)
    return f"{CARDS} cards; there are {len(slack.messages)}, refused {refused}"
