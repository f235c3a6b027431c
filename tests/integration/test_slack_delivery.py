"""Messages on their way to Slack, by a whole gateway: rate limits, lost answers, places that are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import structlog

from host.store.port import MessageStatus
from tests.acceptance.agent import conversation
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_state import Message
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]


@dataclass
class Delivering:
    """A gateway, and the Slack that it talks to."""

    slack: FakeSlack
    api: Api
    run: str = ""

    async def ask(self, node: str, *notify: str, **more: Any) -> dict[str, Any]:
        self.run = self.run or await self.api.run()
        payload = approval(node, title=f"Deploy {node}", approversList=["ada", "bob"], **more)
        return await self.api.ask(self.run, payload, node, notify=list(notify))

    async def vote(self, node: str, by: str = "U0ADA") -> None:
        message = await self.slack.until(lambda: self.card(node), f"the card of {node}")
        assert (await self.slack.click(message, "sayso.accept", user=by)).status == 200

    def card(self, node: str) -> Message | None:
        found = self.cards(node)
        return found[0] if found else None

    def cards(self, node: str) -> list[Message]:
        own = [m for m in self.slack.messages.values() if m.user == self.slack.space.bot_user]
        return [m for m in own if f"Deploy {node}" in m.shown().splitlines()]

    async def status(self, record: dict[str, Any]) -> list[MessageStatus]:
        """Where the messages of an interrupt stand."""
        name = str(record["interruptId"])
        return await self.api.gateway.host.store.deliveries.of(name)

    async def settled(
        self, record: dict[str, Any], wanted: Callable[[list[MessageStatus]], bool]
    ) -> list[MessageStatus]:
        async with asyncio.timeout(60):
            with self.api.gateway.host.waiters.on("messages") as changed:
                while not wanted(found := await self.status(record)):
                    changed.clear()
                    try:
                        await asyncio.wait_for(changed.wait(), 0.2)
                    except TimeoutError:
                        continue
        return found


def settings(slack: FakeSlack, **more: Any) -> dict[str, Any]:
    token, secret = slack.bot_token, slack.signing_secret
    found = {"bot_token": token, "signing_secret": secret, "api_url": slack.api_url, **more}
    return {
        "slack": found,
        "people": (
            {"id": "ada", "name": "Ada", "slack": ["T0TEAM/U0ADA"]},
            {"id": "bob", "name": "Bob", "slack": ["T0TEAM/U0BOB"]},
        ),
    }


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as found:
        found.space.add_channel("C0TWO", "two")
        yield found


async def delivering(start: Start, slack: FakeSlack, pace: float = 1.0, **more: Any) -> Delivering:
    api = await start(**settings(slack, pace=pace), **more)
    slack.target = api.gateway.url
    return Delivering(slack, api)


def shown(statuses: list[MessageStatus]) -> bool:
    return {s.state for s in statuses} == {"shown"}


async def test_a_full_channel_delays_itself_alone(start: Start, slack: FakeSlack) -> None:
    world = await delivering(start, slack, pace=4.0)
    slack.limits.scale = 4.0
    records = [await world.ask(f"a{n}", "slack:#ops") for n in range(8)]
    other = await world.ask("b", "slack:#two")
    await world.settled(other, shown)
    assert len([m for m in slack.messages.values() if m.channel == "C0OPS"]) < 8
    for record in records:
        [status] = await world.settled(record, shown)
        assert status.attempts == 0
    assert len(slack.messages) == 9
    assert slack.limits.refused == []


async def test_a_429_is_waited_for_and_is_no_failed_attempt(start: Start, slack: FakeSlack) -> None:
    world = await delivering(start, slack)
    record = await world.ask("a", "slack:#ops", requiredApprovals=2)
    await world.settled(record, shown)
    slack.faults["chat.update"] = Fault(status=429, retry_after=1)
    await world.vote("a")
    [status] = await world.settled(record, lambda s: s[0].state == "due" and bool(s[0].ref))
    assert (status.attempts, status.error) == (0, "")
    await world.vote("a", "U0BOB")
    await world.settled(record, shown)
    first, second = slack.called("chat.update")
    assert second.at - first.at >= 1.0
    assert "Approved by" in world.cards("a")[0].shown()  # the vote before it was never drawn alone


async def test_many_votes_are_few_updates(start: Start, slack: FakeSlack) -> None:
    world = await delivering(start, slack, pace=4.0)
    people = [f"U0P{n:02}" for n in range(20)]
    for user in people:
        slack.space.add_user(user, user.lower())
    run = await world.api.run()
    names = [f"slack:T0TEAM/{user}" for user in people]
    payload = approval("q", title="Deploy q", approversList=names, requiredApprovals=20)
    record = await world.api.ask(run, payload, "q", notify=["slack:#ops"])
    await world.settled(record, shown)
    await asyncio.gather(*(world.vote("q", user) for user in people))
    await world.settled(record, shown)
    assert "Approved by" in world.cards("q")[0].shown()
    assert len(slack.called("chat.update")) <= 3


@pytest.mark.parametrize(
    "fault",
    [Fault(drop="after"), Fault(times=2, drop="after"), Fault(drop="before"), Fault(status=503)],
)
async def test_a_post_whose_answer_is_lost_is_not_posted_twice(
    start: Start, slack: FakeSlack, fault: Fault
) -> None:
    slack.faults["chat.postMessage"] = fault
    world = await delivering(start, slack)
    record = await world.ask("a", "slack:#ops")
    [status] = await world.settled(record, shown)
    assert len(world.cards("a")) == 1
    assert len(slack.called("conversations.history")) >= 1
    await world.vote("a")
    await world.settled(record, shown)
    assert (world.cards("a")[0].ts, status.ref) == (status.ref["ts"], status.ref)  # type: ignore[index]
    assert "Approved by" in world.cards("a")[0].shown()


async def test_the_root_and_the_turn_of_a_thread_are_not_posted_twice(
    start: Start, slack: FakeSlack
) -> None:
    slack.faults["chat.postMessage"] = Fault(times=2, drop="after")
    world = await delivering(start, slack)
    run = await world.api.run()
    begun = conversation("start", "s", title="Plan")
    await world.api.ask(run, begun, "talk", notify=["slack:#ops"])
    asked = conversation("exchange", "t", prompt="Where to?")
    record = await world.api.ask(run, asked, "turn", notify=["slack:#ops"])
    await world.settled(record, shown)
    (root,) = [m for m in slack.messages.values() if "Plan" in m.shown()]
    (turn,) = [m for m in slack.messages.values() if "Where to?" in m.shown()]
    assert (root.thread_ts, turn.thread_ts) == ("", root.ts)


async def test_where_history_may_not_be_read_it_is_posted_again_and_kept_current(
    start: Start, slack: FakeSlack
) -> None:
    """Written down in docs/slack.md: without the history scopes a lost answer may leave a second card."""
    slack.faults["chat.postMessage"] = Fault(drop="after")
    slack.faults["conversations.history"] = Fault(times=9, error="missing_scope")
    world = await delivering(start, slack)
    record = await world.ask("a", "slack:#ops")
    await world.settled(record, shown)
    old, new = sorted(world.cards("a"), key=lambda m: m.ts)
    await slack.click(old, "sayso.accept")  # the one that nobody keeps current leads there too
    await world.settled(record, shown)
    assert "Approved by" in new.shown()


GONE: list[tuple[str, Callable[[FakeSlack], object]]] = [
    ("is_archived", lambda s: s.space.channels["C0OPS"].update(archived=True)),
    ("not_in_channel", lambda s: s.space.channels["C0OPS"].update(member=False)),
    ("channel_not_found", lambda s: s.space.channels.pop("C0OPS")),
    ("token_revoked", lambda s: s.faults.update({"chat.postMessage": _refusing("token_revoked")})),
    (
        "account_inactive",
        lambda s: s.faults.update({"chat.postMessage": _refusing("account_inactive")}),
    ),
    (
        "restricted_action",
        lambda s: s.faults.update({"chat.postMessage": _refusing("restricted_action")}),
    ),
]


def _refusing(error: str) -> Fault:
    return Fault(times=99, error=error)


@pytest.mark.parametrize(("reason", "change"), GONE, ids=[name for name, _ in GONE])
async def test_a_place_that_is_gone_is_seen_and_the_question_moves_on(
    start: Start, slack: FakeSlack, reason: str, change: Callable[[FakeSlack], object]
) -> None:
    change(slack)
    with structlog.testing.capture_logs() as logs:
        world = await delivering(start, slack, fallback=("slack:#ops", "web:"))
        record = await world.ask("a", "slack:#ops")
        statuses = await world.settled(record, lambda s: {m.state for m in s} == {"dead", "shown"})
    dead, moved = sorted(statuses, key=lambda s: s.channel)
    assert (dead.address, moved.channel, moved.state) == ("#ops", "web", "shown")
    assert reason in dead.error
    said = [entry for entry in logs if entry["event"] == "message is dead"]
    assert said[0]["log_level"] == "error"
    assert reason in said[0]["reason"]
    assert any(entry["event"] == "the question moves on" for entry in logs)
    metrics = world.api.gateway.watch.metrics.render().decode()
    assert f'sayso_dead_letters_total{{channel="slack",reason="{reason}"}} 1.0' in metrics


async def test_while_another_address_has_it_the_question_stays(
    start: Start, slack: FakeSlack
) -> None:
    slack.space.channels["C0OPS"]["archived"] = True
    world = await delivering(start, slack, fallback=("web:",))
    record = await world.ask("a", "slack:#ops", "slack:#two")
    statuses = await world.settled(record, lambda s: {m.state for m in s} == {"dead", "shown"})
    assert {(s.address, s.state) for s in statuses} == {("#ops", "dead"), ("#two", "shown")}


async def test_fallback_addresses_are_tried_in_their_order(start: Start, slack: FakeSlack) -> None:
    slack.space.channels["C0OPS"]["archived"] = True
    slack.space.channels["C0TWO"]["member"] = False
    world = await delivering(start, slack, fallback=("slack:#two", "slack:@U0BOB"))
    record = await world.ask("a", "slack:#ops")
    statuses = await world.settled(record, lambda s: any(m.state == "shown" for m in s))
    assert {(s.address, s.state) for s in statuses} == {
        ("#ops", "dead"),
        ("#two", "dead"),
        ("@U0BOB", "shown"),
    }
    assert world.cards("a")[0].channel == "D0BOB"


async def test_a_card_that_is_deleted_twice_is_not_posted_for_ever(
    start: Start, slack: FakeSlack
) -> None:
    world = await delivering(start, slack, pace=20.0, fallback=("web:",))
    people = [f"slack:T0TEAM/U0P{n}" for n in range(4)]
    run = await world.api.run()
    payload = approval("a", title="Deploy a", approversList=people, requiredApprovals=4)
    record = await world.api.ask(run, payload, "a", notify=["slack:#ops"])
    await world.settled(record, shown)
    for number, user in enumerate(("U0P0", "U0P1")):
        slack.space.add_user(user, user.lower())
        card = world.card("a")
        assert card is not None
        del slack.messages[(card.channel, card.ts)]
        await slack.click(card, "sayso.accept", user=user)  # pressed where it was still on a screen
        if number == 0:
            await slack.until(lambda: world.card("a"), "the card again")
            await world.settled(record, shown)
    statuses = await world.settled(record, lambda s: any(m.state == "dead" for m in s))
    assert {(s.channel, s.state) for s in statuses} >= {("slack", "dead")}
    assert world.cards("a") == []


async def test_an_operator_mends_it_and_starts_again(start: Start, slack: FakeSlack) -> None:
    slack.space.channels["C0OPS"]["member"] = False
    world = await delivering(start, slack)
    record = await world.ask("a", "slack:#ops")
    await world.settled(record, lambda s: s[0].state == "dead")
    data = world.api.gateway.settings.data_dir
    await world.api.gateway.stop()
    slack.space.channels["C0OPS"]["member"] = True
    again = await delivering(start, slack, data_dir=data)
    [status] = await again.settled(record, shown)
    assert (status.error, len(again.cards("a"))) == ("", 1)
