"""Killed between Slack's post and our record of it: the card is found again, not posted twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from tests.acceptance.agent import Agent, approval, conversation
from tests.acceptance.conftest import PEOPLE
from tests.acceptance.program import Program
from tests.acceptance.test_slack import environment
from tests.fakes.slack import FakeSlack, Fault

Make = Callable[..., Program]


async def started(program: Make, slack: FakeSlack) -> Program:
    made = program(config=PEOPLE, settings=environment(slack))
    await made.start()
    slack.target = made.url
    return made


def own(slack: FakeSlack, words: str) -> list[str]:
    return [m.ts for m in slack.messages.values() if words in m.shown()]


async def test_a_card_that_was_posted_before_the_kill(
    program: Make, slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    made = await started(program, slack)
    agent = Agent(made, session)
    slack.faults["chat.postMessage"] = Fault(hold=asyncio.Event())  # Slack has it, and says nothing
    record = await agent.ask(await agent.run(), approval(approversList=["ada"]), notify=None)
    (before,) = await slack.until(lambda: own(slack, "Refund 120 EUR"), "the card")
    await made.restart()
    slack.target = made.url
    await slack.until(lambda: slack.called("conversations.history"), "the look", 30)
    message = await slack.posted("C0OPS")
    await slack.click(message, "sayso.accept", user="U0ADA")
    assert (await agent.value(record))["action"] == "accept"
    await slack.until(lambda: "Approved by Ada" in message.shown(), "the outcome")
    assert own(slack, "Refund 120 EUR") == [before]


async def test_the_root_of_a_thread_that_was_posted_before_the_kill(
    program: Make, slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    made = await started(program, slack)
    agent = Agent(made, session)
    run = await agent.run()
    slack.faults["chat.postMessage"] = Fault(hold=asyncio.Event())
    await agent.ask(run, conversation("start", "s", title="Plan the trip"), notify=["slack:#ops"])
    (before,) = await slack.until(lambda: own(slack, "Plan the trip"), "the root")
    await made.restart()
    slack.target = made.url
    turn = conversation("exchange", "t", prompt="Where to?")
    await slack.until(lambda: slack.called("conversations.history"), "the look", 30)
    record = await agent.ask(run, turn, node="turn", notify=None)
    await slack.until(lambda: own(slack, "Where to?"), "the turn")
    assert own(slack, "Plan the trip") == [before]
    await slack.reply("C0OPS", before, "Lisbon", user="U0ADA")
    assert await agent.value(record) == "Lisbon"


async def test_a_press_that_was_acknowledged_before_the_kill(
    program: Make, slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    """Slack had not said yet who is in the group. The answer is on disk, and counts after the restart."""
    made = await started(program, slack)
    agent = Agent(made, session)
    slack.space.groups["S0ONCALL"] = ["U0ADA"]
    asked = approval(approverGroupRefs=["slack:S0ONCALL"])
    record = await agent.ask(await agent.run(), asked, notify=None)
    message = await slack.posted("C0OPS")
    slack.faults["usergroups.users.list"] = Fault(wait=asyncio.Event())
    answer = await slack.click(message, "sayso.accept", user="U0ADA")
    assert answer.status == 200
    assert answer.seconds < 3
    assert (await agent.look(record))["status"] == "open"
    await made.restart()
    slack.target = made.url
    assert (await agent.value(record))["action"] == "accept"
    await slack.until(lambda: "Approved by Ada" in message.shown(), "the outcome")
