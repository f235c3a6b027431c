"""The client that agents import, through a crash of the gateway that it waits at."""

from __future__ import annotations

import asyncio

import pytest

from sayso import AsyncSayso, Sayso
from tests.acceptance.agent import Agent
from tests.acceptance.program import Program, until


async def test_it_waits_through_a_crash_and_asks_nobody_twice(
    dev: Program, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_DATA_DIR", str(dev.data))
    for name in ("SAYSO_URL", "SAYSO_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def refund() -> str:
        with Sayso() as sayso, sayso.run(key="refund-4711") as run:
            decision = run.approve("Refund 120 EUR", approvers=["dev"], artifact={"order": 4711})
            assert decision.approved
            reply = run.ask({"why": "Why so late?"})
            return f"{decision.by}: {reply['why']}"

    working = asyncio.create_task(asyncio.to_thread(refund))
    (asked,) = await until(lambda: agent.listed("open"), "the approval")
    await dev.restart()  # on another port, which the client reads anew
    detail = await agent.look({"interruptId": asked})
    run = detail["runId"]
    status, _ = await agent.resolve(run, detail["nodeId"], {"action": "accept"})
    assert status == 200
    (second,) = await until(lambda: agent.listed("open"), "the question")
    node = (await agent.look({"interruptId": second}))["nodeId"]
    status, _ = await agent.resolve(run, node, {"answers": {"why": "The parcel was lost"}})
    assert status == 200
    assert await working == "dev: The parcel was lost"

    # The program crashed, say, and runs again: both answers are there at once.
    assert await asyncio.to_thread(refund) == "dev: The parcel was lost"
    assert await agent.listed("open") == set()
    assert await agent.listed("resolved") == {asked, second}


async def test_an_agent_for_asyncio_waits_for_an_event_and_a_person(
    dev: Program, agent: Agent
) -> None:
    async with AsyncSayso(dev.url, dev.key) as sayso, sayso.run() as run:
        working = asyncio.create_task(run.approve("Deploy?", approvers=["dev"]))
        (asked,) = await until(lambda: agent.listed("open"), "the approval")
        detail = await agent.look({"interruptId": asked})
        await agent.resolve(detail["runId"], detail["nodeId"], {"action": "reject"})
        decision = await working
        assert (decision.approved, decision.action, decision.by) == (False, "reject", "dev")
