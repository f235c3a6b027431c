"""SIGKILL at bad moments: what was acknowledged is there, what was open stays open."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from schemas.ids import path_segment
from tests.acceptance.agent import Agent, approval
from tests.acceptance.conftest import PEOPLE
from tests.acceptance.program import Program, until
from tests.acceptance.test_slack import decisions, environment, outcome_of
from tests.fakes.slack import FakeSlack, Fault

Make = Callable[..., Program]

ROUNDS = 5
WORKERS = 8


async def test_killed_between_the_click_and_the_new_message(
    program: Make, slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    made = program(config=PEOPLE, settings=environment(slack))
    await made.start()
    slack.target = made.url
    agent = Agent(made, session)
    run = await agent.run()
    await agent.ask(run, approval(approversList=["ada"]), notify=None)
    message = await slack.posted("C0OPS")
    never = asyncio.Event()
    slack.faults["chat.update"] = Fault(times=1000, wait=never)
    assert (await slack.click(message, "sayso.accept", user="U0ADA")).status == 200
    await until(lambda: slack.called("chat.update"), "the update on its way")
    await made.kill()
    assert message.edits == 0
    assert decisions(message)  # Slack still shows the question

    slack.faults.clear()
    await made.start()
    slack.target = made.url
    await outcome_of(slack, message, "Approved by Ada")
    # The agent comes back too, and asks what it asked: it gets the answer and nobody is asked.
    again = await agent.ask(run, approval(approversList=["ada"]), notify=None)
    assert (again["status"], again["resumeValue"]["decidedBy"]) == ("resolved", "ada")
    # Somebody presses a button of the old message, from a client that had not yet redrawn it.
    stale = message.history[0]
    await slack.click(message, "sayso.reject", user="U0ADA", blocks=stale)
    assert "Approved by Ada" in (await slack.opened()).shown()
    types = Counter(event["type"] for event in await agent.events(run))
    assert types["interrupt.resolved"] == 1
    assert len(slack.messages) == 1
    never.set()


async def test_killed_before_the_question_is_posted(
    program: Make, slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    made = program(config=PEOPLE, settings=environment(slack))
    await made.start()
    never = asyncio.Event()
    slack.faults["chat.postMessage"] = Fault(times=1000, wait=never, drop="before")
    agent = Agent(made, session)
    run = await agent.run()
    await agent.ask(run, approval(approversList=["ada"]), notify=None)
    await until(lambda: slack.called("chat.postMessage"), "the post on its way")
    await made.kill()
    slack.faults.clear()
    await made.start()
    slack.target = made.url
    message = await slack.posted("C0OPS")
    await slack.click(message, "sayso.accept", user="U0ADA")
    await outcome_of(slack, message, "Approved by Ada")
    never.set()


@dataclass
class Ledger:
    """What the program has acknowledged, and what was only tried."""

    asked: dict[str, str] = field(default_factory=dict)  # run -> interrupt id
    tried: dict[str, set[str]] = field(default_factory=dict)  # run -> values sent
    answered: dict[str, str] = field(default_factory=dict)  # run -> value of the 200


def question(key: str) -> dict[str, Any]:
    return {"kind": "custom", "key": key, "data": {"customKind": "load", "payload": {"n": 1}}}


async def load(agent: Agent, ledger: Ledger) -> None:
    """Ask and answer, over and over, until the program is gone. Every third question stays open;
    every answer is sent twice at once."""
    number = 0
    while True:
        number += 1
        run = await agent.run()
        record = await agent.ask(run, question("k"))
        ledger.asked[run] = record["interruptId"]
        if number % 3 == 0:
            continue
        values = [secrets.token_hex(8), secrets.token_hex(8)]
        ledger.tried[run] = set(values)
        answers = await asyncio.gather(
            *(_answer(agent, ledger, run, value) for value in values), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer


async def _answer(agent: Agent, ledger: Ledger, run: str, value: str) -> None:
    key = {"Idempotency-Key": f"answer-{value}"}
    status, body = await agent.resolve(run, "gate", value, **key)
    if status == 200:
        assert run not in ledger.answered, "two answers were acknowledged"
        ledger.answered[run] = value
    else:
        assert (status, body["error"]) == (409, "interrupt_already_resolved")


async def test_what_was_acknowledged_outlives_every_kill(
    dev: Program, session: aiohttp.ClientSession
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    agent, ledger = Agent(dev, session), Ledger()
    for _ in range(ROUNDS):
        standing = await agent.run()
        ledger.asked[standing] = (await agent.ask(standing, question("k")))["interruptId"]
        goal = len(ledger.answered) + chance.randint(1, 60)
        workers = [asyncio.create_task(load(agent, ledger)) for _ in range(WORKERS)]
        watching = asyncio.create_task(_reached(ledger, goal))
        await asyncio.wait([watching, *workers], return_when=asyncio.FIRST_COMPLETED)
        assert watching.done(), [w.exception() for w in workers if w.done()]
        await dev.kill()
        for ended in await asyncio.gather(*workers, return_exceptions=True):
            assert isinstance(ended, aiohttp.ClientError | ConnectionError), repr(ended)
        await dev.start()
        await _check(agent, ledger)
        status, _ = await agent.resolve(standing, "gate", "at last")
        assert status == 200
        ledger.tried[standing], ledger.answered[standing] = {"at last"}, "at last"


async def _reached(ledger: Ledger, goal: int) -> None:
    while len(ledger.answered) < goal:
        await asyncio.sleep(0)


async def _check(agent: Agent, ledger: Ledger) -> None:
    """Nothing that was acknowledged is missing, and nothing is there twice."""
    open_now, resolved = await agent.listed("open"), await agent.listed("resolved")
    assert set(ledger.asked.values()) <= open_now | resolved
    for run, interrupt in ledger.asked.items():
        if run not in ledger.tried:
            assert interrupt in open_now
    await asyncio.gather(*(_check_one(agent, ledger, *one) for one in ledger.asked.items()))


async def _check_one(agent: Agent, ledger: Ledger, run: str, interrupt: str) -> None:
    if run not in ledger.tried:
        return
    found = await agent.look({"interruptId": interrupt})
    if run in ledger.answered:
        assert found["resumeValue"] == ledger.answered[run]
    else:
        await _send_again(agent, ledger, run, found)
    types = Counter(event["type"] for event in await agent.events(run))
    assert types["interrupt.resolved"] == 1


async def _send_again(agent: Agent, ledger: Ledger, run: str, found: dict[str, Any]) -> None:
    """Who got no answer sends again with the same keys: one of the two is told that it counts, and
    it's the one that counted already if the program died between its commit and its answer."""
    await asyncio.gather(*(_answer(agent, ledger, run, value) for value in ledger.tried[run]))
    if found["status"] == "resolved":
        assert ledger.answered[run] == found["resumeValue"]
    now = await agent.look(found)
    assert now["resumeValue"] == ledger.answered[run]


async def test_of_two_racing_answers_one_counts(agent: Agent) -> None:
    for doors in 6 * [("run", "run"), ("run", "token"), ("token", "token")]:
        run = await agent.run()
        record = await agent.ask(run, question("k"))
        path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/tokens"
        _, minted = await agent.call("POST", path, {"intent": "resolve"})
        values = ["one", "two"]
        answers = await asyncio.gather(
            *(
                agent.resolve(run, "gate", value)
                if door == "run"
                else agent.call("POST", f"/interrupts/{minted['token']}", {"resumeValue": value})
                for door, value in zip(doors, values, strict=True)
            )
        )
        assert sorted(status for status, _ in answers) == [200, 409]
        won = next(i for i, (status, _) in enumerate(answers) if status == 200)
        assert answers[1 - won][1]["error"] == "interrupt_already_resolved"
        assert await agent.value(record) == values[won]
