"""What Slack shows: cards, outcomes, failures; the start, and each transport's own ways."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest

from adapters.channel import Delivery, DeliveryFailed, Response
from adapters.slack.app import SlackChannel
from adapters.slack.settings import SlackSettings
from adapters.views import Receipt
from tests.fakes.slack import FakeSlack, Fault
from tests.fakes.slack_transport import sign
from tests.integration.slack_world import (
    APPROVAL,
    Seen,
    StubIntake,
    World,
    slack_world,
)


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def test_the_card_becomes_the_outcome(world: World) -> None:
    ref = (await world.show(APPROVAL)).ref
    message = await world.slack.posted()
    assert [b["text"]["text"] for b in message.buttons()] == [
        "Approve",
        "Ask for changes",
        "Reject",
        "Open on the web",
    ]
    done = replace(
        APPROVAL,
        state="resolved",
        version=4,
        actions=(),
        outcome="Approved",
        decided_by="Ada",
        reason="ship it",
    )
    assert (await world.show(done, ref=ref)).ref == ref
    assert [b["action_id"] for b in message.buttons()] == ["sayso.link"]
    for part in ("Approved", "Decided by Ada", "Reason: ship it", "Deploy <api> to prod?"):
        assert part in message.shown()
    assert "Deploy &lt;api&gt; to prod?" in message.text
    assert len(world.slack.messages) == 1


async def test_the_same_delivery_twice_leaves_one_message(world: World) -> None:
    first = await world.show(APPROVAL)
    assert await world.show(APPROVAL) == first
    assert len(world.slack.messages) == 1


async def test_a_direct_message_keeps_the_id_that_an_update_needs(world: World) -> None:
    shown = await world.show(APPROVAL, address="@U0ADA")
    assert shown.ref["channel"] == "D0ADA"
    await world.show(replace(APPROVAL, version=4), address="@U0ADA", ref=shown.ref)
    assert world.slack.messages[("D0ADA", shown.ref["ts"])].edits == 1


@pytest.mark.parametrize(
    ("fault", "permanent", "retry_after"),
    [
        (Fault(status=500), False, None),
        (Fault(drop="before"), False, None),
        (Fault(error="fatal_error"), False, None),
        (Fault(error="channel_not_found"), True, None),
        (Fault(error="invalid_auth"), True, None),
    ],
)
async def test_failures_say_whether_to_try_again(
    world: World, fault: Fault, permanent: bool, retry_after: float | None
) -> None:
    world.slack.faults["chat.postMessage"] = replace(fault)
    with pytest.raises(DeliveryFailed) as failed:
        await world.show(APPROVAL)
    assert (failed.value.permanent, failed.value.retry_after) == (permanent, retry_after)
    assert world.slack.bot_token not in failed.value.reason
    assert len(world.slack.called("chat.postMessage")) == 1  # nothing is repeated behind our back
    await world.show(APPROVAL)
    assert len(world.slack.messages) == 1


async def test_a_refused_card_is_posted_small_once(world: World) -> None:
    world.slack.faults["chat.postMessage"] = Fault(error="invalid_blocks")
    await world.show(APPROVAL)
    message = await world.slack.posted()
    assert "could not show" in message.shown()
    assert [b["url"] for b in message.buttons()] == [APPROVAL.link]


async def test_a_deleted_message_is_posted_again_once_while_it_matters(world: World) -> None:
    ref = (await world.show(APPROVAL)).ref
    del world.slack.messages[(ref["channel"], ref["ts"])]
    again = (await world.show(APPROVAL, ref=ref)).ref
    assert again != ref
    del world.slack.messages[(again["channel"], again["ts"])]
    with pytest.raises(DeliveryFailed, match="somebody deleted the message") as failed:
        await world.show(APPROVAL, ref=again)
    assert (failed.value.permanent, failed.value.code) == (True, "message_not_found")
    done = replace(APPROVAL, state="cancelled", outcome="Cancelled", actions=())
    assert (await world.show(done, ref=again)).ref == again
    assert world.slack.messages == {}


async def test_where_nothing_may_be_edited_the_outcome_is_a_reply(world: World) -> None:
    ref = (await world.show(APPROVAL)).ref
    done = replace(APPROVAL, state="resolved", outcome="Approved by ada", actions=())
    for _ in range(2):
        world.slack.faults["chat.update"] = Fault(error="edit_window_closed")
        assert (await world.show(done, ref=ref)).ref == ref
    replies = [m for m in world.slack.messages.values() if m.thread_ts == ref["ts"]]
    assert len(replies) == 1
    assert "Approved by ada" in replies[0].shown()


@pytest.mark.parametrize("world", ["http"], indirect=True)
async def test_requests_that_are_not_slacks_are_refused(world: World) -> None:
    url = f"{world.slack.target}/slack/events"
    body = json.dumps({"type": "url_verification", "challenge": "c"}).encode()
    kind = {"Content-Type": "application/json"}
    now = int(time.time())
    good = sign(world.slack.signing_secret, body, now)
    big = b"x" * (2 * 1024 * 1024 + 1)
    cases: list[tuple[bytes, dict[str, str], int]] = [
        (body, good, 200),
        (body, sign("the-old-one", body, now), 200),
        (body, {}, 401),
        (body + b" ", good, 401),
        (body, sign(world.slack.signing_secret, body, now - 400), 401),
        (body, good | {"X-Slack-Request-Timestamp": "soon"}, 401),
        (b"{", sign(world.slack.signing_secret, b"{", now), 400),
        (b"[]", sign(world.slack.signing_secret, b"[]", now), 400),
        (big, sign(world.slack.signing_secret, big, now), 413),
    ]
    async with aiohttp.ClientSession() as session:
        for data, headers, status in cases:
            async with session.post(url, data=data, headers=kind | headers) as response:
                assert response.status == status, (data[:40], await response.text())
                if status == 200:
                    assert (await response.json()) == {"challenge": "c"}
    assert sum(world.channel.refused.values()) == 7


@pytest.mark.parametrize("world", ["socket"], indirect=True)
async def test_stop_finishes_and_acknowledges_what_it_took(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    taken, go = asyncio.Event(), asyncio.Event()

    async def slow(response: Response) -> Receipt:
        taken.set()
        await go.wait()
        return Receipt(True, "Recorded")

    world.intake.answer = slow  # type: ignore[method-assign]
    click = asyncio.create_task(world.slack.click(message, "sayso.accept"))
    await taken.wait()
    stop = asyncio.create_task(world.channel.stop())
    done, _ = await asyncio.wait({stop}, timeout=0.2)
    assert not done  # it waits for what it took
    go.set()
    assert (await click).status == 200
    await stop


async def test_a_wrong_token_is_said_at_start() -> None:
    async with FakeSlack() as slack:
        settings = SlackSettings("xoxb-wrong", ("s",), api_url=slack.api_url)
        with pytest.raises(DeliveryFailed, match="SLACK_BOT_TOKEN"):
            await SlackChannel(settings, StubIntake(), Seen()).start()


async def test_slack_being_away_does_not_stop_the_start() -> None:
    async with FakeSlack() as slack:
        slack.faults["auth.test"] = Fault(status=500)
        settings = SlackSettings(slack.bot_token, ("s",), api_url=slack.api_url)
        channel = SlackChannel(settings, StubIntake(), Seen())
        await channel.start()
        shown = await channel.show(Delivery("#ops", APPROVAL))
        assert shown.ref["channel"] == "C0OPS"
        await channel.stop()
