"""A press by somebody of whom Slack has to be asked, while Slack is slow, silent, or limits us.

It is acknowledged in time and never lost, and the person is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.slack import presses
from host.coordination.embedded import EmbeddedValkey
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_people import profile
from tests.fakes.slack_state import Message
from tests.integration.conftest import Api
from tests.integration.test_slack_people import Office

Start = Callable[..., Awaitable[Api]]

SOON = 1.0  # seconds for an acknowledgement: far below Slack's three, far above what it takes
FOREVER = 10_000


def settings(slack: FakeSlack) -> dict[str, Any]:
    return {
        "bot_token": slack.bot_token,
        "signing_secret": slack.signing_secret,
        "api_url": slack.api_url,
    }


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as found:
        for user in ("U0ADA", "U0BOB"):
            profile(found.space, user)
        yield found


@pytest.fixture
async def office(start: Start, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch) -> Office:
    monkeypatch.setattr(presses, "GRACE", 0.05)
    monkeypatch.setattr(presses, "DELAYS", (0.05, 0.1))
    api = await start(slack=settings(slack))
    slack.target = api.gateway.url
    return Office(api, slack)


async def kept(api: Api) -> int:
    """How many presses are kept."""
    host = api.gateway.host
    return len(await host.store.documents.list(presses.KIND, host.clock()))


async def press(office: Office, message: Message, action: str = "accept", **more: Any) -> None:
    answer = await office.slack.click(message, f"sayso.{action}", user="U0ADA", **more)
    assert answer.status == 200
    assert answer.seconds < SOON


async def resolved(office: Office, record: dict[str, Any]) -> dict[str, Any]:
    """The request, once it is answered."""
    async with asyncio.timeout(20):
        while (found := await office.state(record))["status"] == "open":
            await asyncio.sleep(0.01)
    return found


async def none_kept(api: Api) -> None:
    async with asyncio.timeout(20):
        while await kept(api):
            await asyncio.sleep(0.01)


async def test_a_slow_answer_of_slack_delays_no_acknowledgement(office: Office) -> None:
    record, message = await office.ask(approversList=["ada"])
    held = asyncio.Event()
    office.slack.faults["users.info"] = Fault(wait=held)
    await press(office, message)
    assert await kept(office.api) == 1
    assert (await office.state(record))["status"] == "open"
    held.set()
    found = await resolved(office, record)
    assert found["outcome"]["by"] == "ada"
    await none_kept(office.api)
    assert office.slack.private == []  # it counted, and the card says so


async def test_who_may_not_is_told_so_when_it_is_known(office: Office) -> None:
    record, message = await office.ask(approversList=["bob"])
    held = asyncio.Event()
    office.slack.faults["users.info"] = Fault(wait=held)
    await press(office, message)
    held.set()
    assert "Only Bob may answer this." in (await office.slack.told())["text"]
    assert (await office.state(record))["status"] == "open"
    await none_kept(office.api)


@pytest.mark.parametrize(
    "fault",
    [Fault(status=429, retry_after=1), Fault(status=500), Fault(drop="before")],
    ids=["limited", "broken", "dropped"],
)
async def test_what_slack_refuses_to_say_is_asked_again(office: Office, fault: Fault) -> None:
    record, message = await office.ask(approversList=["ada"])
    # Twice: a read on a connection that was dropped is repeated by the HTTP client itself.
    office.slack.faults["users.info"] = replace(fault, times=2)
    await press(office, message)
    assert "Your answer is kept" in (await office.slack.told())["text"]
    assert (await resolved(office, record))["outcome"]["by"] == "ada"
    await none_kept(office.api)


async def test_when_slack_says_nothing_for_too_long_it_is_said(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presses, "PATIENCE_MS", 300)
    record, message = await office.ask(approversList=["ada"])
    office.slack.faults["users.info"] = Fault(times=FOREVER, status=500)
    await press(office, message)
    first, last = await office.slack.told(1), await office.slack.told(2)
    assert "Your answer is kept" in first["text"]
    assert "Nothing was recorded" in last["text"]
    await none_kept(office.api)
    assert (await office.state(record))["status"] == "open"


async def test_who_presses_another_button_meanwhile_has_changed_their_mind(
    office: Office,
) -> None:
    record, message = await office.ask(approversList=["ada"], actions=["accept", "ask"])
    _, question = await office.ask(approversList=["ada"])
    office.slack.faults["users.info"] = Fault(times=FOREVER, status=500)
    await press(office, message)
    await press(office, question)
    assert await kept(office.api) == 2  # one for each request
    host = office.api.gateway.host
    before = await host.store.documents.list(presses.KIND, host.clock())
    await press(office, message, action_ts="99.9")
    assert await kept(office.api) == 2
    keys = {d.value["answer"]["dedupe"] for d in before}
    now = await host.store.documents.list(presses.KIND, host.clock())
    assert len({d.value["answer"]["dedupe"] for d in now} - keys) == 1
    office.slack.faults.clear()
    assert (await resolved(office, record))["outcome"]["by"] == "ada"


async def test_the_same_press_twice_counts_once(office: Office) -> None:
    record, message = await office.ask(requiredApprovals=2, approversList=["ada", "bob"])
    held = asyncio.Event()
    office.slack.faults["users.info"] = Fault(wait=held)
    await press(office, message, action_ts="7.7")
    await press(office, message, action_ts="7.7")
    held.set()
    await none_kept(office.api)
    assert len((await office.state(record))["votes"]) == 1


async def test_one_option_of_a_short_question(office: Office) -> None:
    run = await office.api.run()
    schema = {"enum": ["Lisbon", "Porto"]}
    payload = {
        "kind": "clarification",
        "key": "q",
        "data": {"questions": [{"id": "q", "question": "Where?", "schema": schema}]},
    }
    record = await office.api.ask(run, payload, notify=["slack:#ops"])
    message = await office.slack.posted("C0OPS")
    held = asyncio.Event()
    office.slack.faults["users.info"] = Fault(times=2, wait=held)
    answer = await office.slack.click(message, "sayso.choose.1", user="U0ADA")
    assert answer.status == 200
    assert answer.seconds < SOON
    held.set()
    found = await resolved(office, record)
    assert found["resumeValue"]["answers"] == {"q": "Porto"}


async def test_a_form_that_is_sent_to_a_silent_slack_keeps_what_was_typed(office: Office) -> None:
    record, message = await office.ask(approversList=["ada"])
    await office.slack.click(message, "sayso.reject", user="U0ADA")
    view = await office.slack.opened()
    await office.slack.emit({"type": "user_change", "user": {"id": "U0ADA"}})
    office.slack.faults["users.info"] = Fault(times=FOREVER, wait=asyncio.Event())
    outcome = await office.slack.submit(view, {"Why?": "Not today."})
    assert outcome.answer.seconds < 3.0
    assert "try again" in " ".join(outcome.errors.values())
    assert not outcome.closed
    office.slack.faults.clear()
    assert (await office.slack.submit(view, {"Why?": "Not today."})).closed
    assert (await office.state(record))["status"] == "resolved"


@pytest.fixture
async def shared(
    start: Start,
    slack: FakeSlack,
    postgres_url: str,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[Office, Office]]:
    """Two gateways on one database."""
    monkeypatch.setattr(presses, "GRACE", 0.05)
    monkeypatch.setattr(presses, "LOOK_SECONDS", 0.05)
    valkey = EmbeddedValkey(tmp_path / "valkey")
    await valkey.start()
    own = {"store": {"url": postgres_url}, "redis": {"url": valkey.url}, "slack": settings(slack)}
    one, two = await start(**own), await start(**own)
    slack.target = one.gateway.url
    yield Office(one, slack), Office(two, slack)
    await valkey.stop()


async def test_a_gateway_that_stops_hands_back_what_waits(shared: tuple[Office, Office]) -> None:
    one, two = shared
    record, message = await one.ask(approversList=["ada"])
    one.slack.faults["users.info"] = Fault(times=FOREVER, status=500)
    await press(one, message)
    await one.slack.told()
    await one.api.gateway.stop()
    one.slack.faults.clear()
    assert (await resolved(two, record))["outcome"]["by"] == "ada"
    await none_kept(two.api)


async def test_what_a_gateway_that_died_has_kept_is_taken_over(
    shared: tuple[Office, Office], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never comes back from asking Slack, as if it had been killed; its lease ends by itself."""
    one, two = shared
    monkeypatch.setattr(presses, "LEASE_MS", 200)
    record, message = await one.ask(approversList=["ada"])
    one.slack.faults["users.info"] = Fault(wait=asyncio.Event())  # the first call alone
    await press(one, message)
    assert (await resolved(two, record))["outcome"]["by"] == "ada"
    await none_kept(two.api)
