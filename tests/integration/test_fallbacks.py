"""A request brings its own fallback addresses: asked one after the other, and before the gateway's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from host.store.port import MessageStatus
from schemas.ids import path_segment
from tests.fakes.slack import FakeSlack
from tests.integration.conftest import Api, approval
from tests.integration.test_slack_delivery import Start, delivering


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as found:
        for name in ("two", "three"):
            found.space.add_channel(f"C0{name.upper()}", name)
        yield found


def where(statuses: list[MessageStatus]) -> dict[str, str]:
    return {f"{s.channel}:{s.address}": s.state for s in statuses}


def reached(statuses: list[MessageStatus]) -> bool:
    return any(s.state == "shown" for s in statuses)


async def test_those_of_the_request_come_before_those_of_the_gateway(
    start: Start, slack: FakeSlack
) -> None:
    slack.space.channels["C0OPS"]["archived"] = True
    world = await delivering(start, slack, fallback=("slack:#three",))
    run = await world.api.run()
    payload = approval("a", title="Deploy a", approversList=["ada"])
    own = ["slack:#ops", "slack:#two"]  # the first is dead already
    record = await world.api.ask(run, payload, "a", notify=["slack:#ops"], fallback=own)
    assert where(await world.settled(record, reached)) == {
        "slack:#ops": "dead",
        "slack:#two": "shown",
    }
    message = await slack.posted("C0TWO")
    assert (await slack.click(message, "sayso.accept", user="U0ADA")).status == 200
    await slack.until(lambda: "Approved by Ada" in message.shown(), "the outcome")


async def test_when_those_are_dead_too_the_gateways_are_next(
    start: Start, slack: FakeSlack
) -> None:
    for channel in ("C0OPS", "C0TWO"):
        slack.space.channels[channel]["member"] = False
    world = await delivering(start, slack, fallback=("web:",))
    run = await world.api.run()
    payload = approval("a", title="Deploy a")
    record = await world.api.ask(run, payload, "a", notify=["slack:#ops"], fallback=["slack:#two"])
    assert where(await world.settled(record, reached)) == {
        "slack:#ops": "dead",
        "slack:#two": "dead",
        "web:": "shown",
    }


async def test_a_first_question_brings_its_own_too(start: Start, slack: FakeSlack) -> None:
    slack.space.channels["C0OPS"]["archived"] = True
    world = await delivering(start, slack)
    body = {
        "nodeId": "a",
        "payload": approval("a", title="Deploy a"),
        "notify": ["slack:#ops"],
        "fallback": ["slack:#two"],
    }
    status, record, _ = await world.api.call("POST", "/host/sayso/interrupts", body)
    assert status == 201
    assert where(await world.settled(record, reached))["slack:#two"] == "shown"


async def test_while_an_address_of_the_request_lives_nobody_else_is_asked(
    start: Start, slack: FakeSlack
) -> None:
    world = await delivering(start, slack)
    run = await world.api.run()
    record = await world.api.ask(
        run, approval("a"), "a", notify=["slack:#ops"], fallback=["slack:#two"]
    )
    assert where(await world.settled(record, reached)) == {"slack:#ops": "shown"}


@pytest.mark.parametrize(
    ("fallback", "path"),
    [(["slack:#ops", "fax:1"], ["fallback", 1]), (["nowhere"], ["fallback", 0])],
)
async def test_an_address_that_leads_nowhere_is_refused_when_it_is_asked(
    api: Api, fallback: list[str], path: list[object]
) -> None:
    run = await api.run()
    fallback = [one.replace("slack:#ops", "web:") for one in fallback]
    body = {"nodeId": "a", "payload": approval(), "notify": [], "fallback": fallback}
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/interrupts", body)
    assert (status, answer["error"]) == (400, "validation_error")
    assert answer["details"]["errors"][0]["path"] == path


async def test_they_are_kept_with_the_question_and_not_told_in_its_events(api: Api) -> None:
    """Where a question goes is the host's own affair; a fork of the run takes it along."""
    run = await api.run()
    record = await api.ask(run, approval("a"), "a", fallback=["web:"])
    found = await api.gateway.host.store.log.interrupt(record["interruptId"])
    assert found is not None
    assert found.fallback == ("web:",)
    _, page, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    assert "fallback" not in str(page)
    status, forked, _ = await api.call(
        "POST", f"/runs/{run}:fork", {"mode": "branch", "fromSeq": page["events"][-1]["sequence"]}
    )
    assert status == 201, forked
    copied = await api.gateway.host.store.log.by_node(forked["runId"], "a")
    assert copied is not None
    assert copied.fallback == ("web:",)
    assert path_segment(forked["runId"]) != run
