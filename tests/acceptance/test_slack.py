"""People answer in Slack: buttons, a form, a thread; over signed HTTP and over Socket Mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import aiohttp
import pytest

from tests.acceptance.agent import Agent, approval, conversation
from tests.acceptance.conftest import PEOPLE
from tests.acceptance.program import Program
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_state import Message

Make = Callable[..., Program]

DECISIONS = ("sayso.accept", "sayso.reject")
QUESTIONS = {
    "kind": "clarification",
    "key": "shipping",
    "data": {
        "questions": [
            {
                "id": "carrier",
                "question": "Which carrier?",
                "schema": {"type": "string", "enum": ["DHL", "UPS"]},
            },
            {
                "id": "parcels",
                "question": "How many parcels?",
                "schema": {"type": "integer", "minimum": 1, "maximum": 20},
            },
            {
                "id": "reference",
                "question": "Which reference?",
                "schema": {"type": "string", "pattern": "^SHIP-[0-9]{4}$"},
            },
        ]
    },
}


def environment(slack: FakeSlack, *, socket: bool = False) -> dict[str, str]:
    """How a user sets up Slack: the names that Slack's own documentation uses."""
    found = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SAYSO_SLACK__API_URL": slack.api_url,
        "SAYSO_NOTIFY": "slack:#ops",
    }
    if socket:
        return {**found, "SLACK_APP_TOKEN": slack.app_token}
    return {**found, "SLACK_SIGNING_SECRET": slack.signing_secret}


@pytest.fixture(params=["http"])
async def connected(request: pytest.FixtureRequest, program: Make, slack: FakeSlack) -> Program:
    """A program in the workspace, with both people in its directory."""
    socket = request.param == "socket"
    made = program(config=PEOPLE, settings=environment(slack, socket=socket))
    await made.start()
    if socket:
        await slack.until(lambda: slack.sockets.open, "the socket")
    else:
        slack.target = made.url
    return made


@pytest.fixture
def agent(connected: Program, session: aiohttp.ClientSession) -> Agent:
    return Agent(connected, session)


def decisions(message: Message) -> list[str]:
    """The buttons of a message that decide something."""
    return [b["action_id"] for b in message.buttons() if b["action_id"] in DECISIONS]


async def outcome_of(slack: FakeSlack, message: Message, words: str) -> None:
    """Wait until the message has become the outcome, with nothing left to press."""
    await slack.until(lambda: words in message.shown(), f"{words!r} in {message.shown()!r}")
    assert decisions(message) == []


@pytest.mark.parametrize("connected", ["http", "socket"], indirect=True)
async def test_approve_by_button(agent: Agent, slack: FakeSlack) -> None:
    run = await agent.run()
    record = await agent.ask(run, approval(approversList=["ada"]), notify=None)
    waiting = asyncio.create_task(agent.value(record))
    message = await slack.posted("C0OPS")
    assert "Refund 120 EUR to Acme" in message.shown()
    assert decisions(message) == list(DECISIONS)
    answer = await slack.click(message, "sayso.accept", user="U0ADA")
    assert answer.status == 200
    assert answer.seconds < slack.ack_seconds
    value = await waiting
    assert (value["action"], value["decidedBy"]) == ("accept", "ada")
    await outcome_of(slack, message, "Approved by Ada")
    assert len(slack.messages) == 1
    assert (await agent.look(record))["outcome"]["via"] == "slack"


async def test_somebody_not_on_the_list_is_told_so_privately(
    agent: Agent, slack: FakeSlack
) -> None:
    run = await agent.run()
    record = await agent.ask(run, approval(approversList=["ada"]), notify=None)
    message = await slack.posted("C0OPS")
    before, shown = await agent.events(run), message.shown()
    for number, stranger in enumerate(("U0BOB", "U0EVE"), start=1):
        slack.space.add_user(stranger, stranger.lower())
        assert (await slack.click(message, "sayso.accept", user=stranger)).status == 200
        note = await slack.told(number)
        assert note["user"] == stranger
        assert note["text"]
    assert await agent.events(run) == before
    now = await agent.look(record)
    assert now["status"] == "open"
    assert "votes" not in now
    assert (message.edits, message.shown(), len(slack.messages)) == (0, shown, 1)
    # The gate is as it was: who is on the list decides it.
    await slack.click(message, "sayso.reject", user="U0ADA")
    assert (await slack.submit(await slack.opened(), {})).closed
    assert (await agent.value(record))["action"] == "reject"
    await outcome_of(slack, message, "Rejected by Ada")


async def test_two_people_have_to_approve(agent: Agent, slack: FakeSlack) -> None:
    run = await agent.run()
    asked = approval(approversList=["ada", "bob"], requiredApprovals=2)
    record = await agent.ask(run, asked, notify=None)
    message = await slack.posted("C0OPS")
    await slack.click(message, "sayso.accept", user="U0ADA")
    await slack.until(lambda: "1 of 2" in message.shown(), "the count")
    assert decisions(message) == list(DECISIONS)
    await slack.click(message, "sayso.accept", user="U0ADA")  # again: still one vote
    now = await agent.look(record)
    assert (now["status"], len(now["votes"])) == ("open", 1)
    await slack.click(message, "sayso.accept", user="U0BOB")
    assert (await agent.value(record))["action"] == "accept"
    await outcome_of(slack, message, "Approved by")


async def test_three_answers_in_a_form_with_one_refused_on_the_way(
    agent: Agent, slack: FakeSlack
) -> None:
    run = await agent.run()
    record = await agent.ask(run, QUESTIONS, notify=None)
    waiting = asyncio.create_task(agent.value(record))
    message = await slack.posted("C0OPS")
    await slack.click(message, "sayso.answer", user="U0ADA")
    view = await slack.opened()
    assert view.labels() == ["Which carrier?", "How many parcels?", "Which reference?"]
    typed = {"Which carrier?": "UPS", "How many parcels?": "3", "Which reference?": "4711"}
    refused = await slack.submit(view, typed)
    assert refused.errors.keys() == {"Which reference?"}
    assert refused.errors["Which reference?"]
    assert (await agent.look(record))["status"] == "open"
    sent = await slack.submit(view, {**typed, "Which reference?": "SHIP-4711"})
    assert sent.closed
    value = await waiting
    assert value["answers"] == {"carrier": "UPS", "parcels": 3, "reference": "SHIP-4711"}
    await slack.until(lambda: "Answered by Ada" in message.shown(), "the outcome")
    assert not [b for b in message.buttons() if b["action_id"] == "sayso.answer"]


async def test_two_turns_in_one_thread(agent: Agent, slack: FakeSlack) -> None:
    run = await agent.run()
    started = await agent.ask(
        run, conversation("start", "s", title="Plan the trip"), notify=["slack:#ops"]
    )
    assert started["status"] == "resolved"
    said: list[str] = []
    for number, (prompt, reply) in enumerate(
        (("Where to?", "Lisbon & Porto"), ("For how long?", "5 days")), start=1
    ):
        turn = conversation("exchange", f"t{number}", prompt=prompt)
        record = await agent.ask(run, turn, node="turn", notify=None)
        waiting = asyncio.create_task(agent.value(record))
        posted = await slack.until(partial(_shows, slack, prompt), prompt)
        (root,) = roots(slack)
        assert posted.thread_ts in ("", root.ts)
        sent = await slack.reply("C0OPS", root.ts, reply, user="U0ADA")
        assert sent.answer.status == 200
        said.append(await waiting)
        assert (await slack.retry(sent)).status == 200  # delivered again: one effect
    assert said == ["Lisbon & Porto", "5 days"]
    closed = await agent.ask(run, conversation("close", "c", reason="goal-reached"), notify=None)
    assert closed["status"] == "resolved"
    (root,) = roots(slack)
    assert "Plan the trip" in root.shown()
    await slack.until(lambda: _shows(slack, "goal-reached"), "the end in the thread")
    own = [m for m in slack.messages.values() if m.user == slack.space.bot_user]
    assert {m.thread_ts for m in own} == {"", root.ts}
    # A reply after the end, or in a thread of somebody else, answers nothing.
    before = await agent.events(run)
    assert (await slack.reply("C0OPS", root.ts, "one more thing")).answer.status == 200
    assert await agent.events(run) == before


async def test_a_reply_that_is_delivered_again_does_not_answer_the_next_turn(
    agent: Agent, connected: Program, slack: FakeSlack
) -> None:
    run = await agent.run()
    await agent.ask(run, conversation("start", "s", title="Plan"), notify=["slack:#ops"])
    turns = [conversation("exchange", f"t{n}", prompt=f"Question {n}?") for n in (1, 2)]
    first = await agent.ask(run, turns[0], node="turn", notify=None)
    await slack.until(lambda: _shows(slack, "Question 1?"), "the first turn")
    (root,) = roots(slack)
    sent = await slack.reply("C0OPS", root.ts, "yes", user="U0ADA")
    assert await agent.value(first) == "yes"
    second = await agent.ask(run, turns[1], node="turn", notify=None)
    await slack.until(lambda: _shows(slack, "Question 2?"), "the second turn")
    # Slack did not hear that we have it, and all that we remember is what is on the disk.
    await connected.restart()
    slack.target = connected.url
    assert (await slack.retry(sent)).status == 200
    assert (await agent.look(second))["status"] == "open"
    await slack.reply("C0OPS", root.ts, "no", user="U0ADA")
    assert await agent.value(second) == "no"


async def test_a_forged_request_changes_nothing(
    agent: Agent, connected: Program, slack: FakeSlack
) -> None:
    run = await agent.run()
    record = await agent.ask(run, approval(), notify=None)
    message = await slack.posted("C0OPS")
    right, slack.signing_secret = slack.signing_secret, "guessed"
    answer = await slack.click(message, "sayso.accept", user="U0ADA")
    assert answer.status == 401
    assert (await agent.look(record))["status"] == "open"
    slack.signing_secret = right
    await slack.click(message, "sayso.accept", user="U0ADA")
    assert (await agent.value(record))["decidedBy"] == "ada"
    for secret in (slack.bot_token, right, "guessed"):
        assert secret not in connected.output


def roots(slack: FakeSlack) -> list[Message]:
    return [
        m for m in slack.messages.values() if m.user == slack.space.bot_user and not m.thread_ts
    ]


def _shows(slack: FakeSlack, words: str) -> Any:
    return next((m for m in slack.messages.values() if words in m.shown()), None)
