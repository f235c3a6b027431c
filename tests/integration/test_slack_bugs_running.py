"""Telling bugs of other Slack apps, 20 to 22 and 26 to 29: restarts, copies, replicas, other workspaces.
Over both transports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.channel import Response
from adapters.slack.app import SlackChannel
from adapters.slack.settings import SlackSettings
from adapters.views import Person, Receipt
from tests.fakes import slack_payloads as payloads
from tests.integration.slack_world import (
    APPROVAL,
    THREAD,
    TURN,
    UNHURRIED,
    Seen,
    World,
    serve,
    slack_world,
)


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def another(world: World) -> SlackChannel:
    """A second gateway of the same app, on the same store."""
    slack = world.slack
    settings = SlackSettings(
        bot_token=slack.bot_token,
        signing_secrets=(slack.signing_secret,),
        app_token="" if slack.target else slack.app_token,
        api_url=slack.api_url,
        socket_check=0.05,
        limits=UNHURRIED,
    )
    channel = SlackChannel(settings, world.intake, Seen())
    await channel.start()
    return channel


async def test_20_guards_in_memory_that_swallow_first_clicks(world: World) -> None:
    """20. After a restart an old message works as before, and nobody's click goes without an answer."""
    await world.show(APPROVAL)
    message = await world.slack.posted()
    await world.channel.stop()
    await world.slack.until(lambda: not world.slack.sockets.open, "no socket")
    fresh = await another(world)
    runner = await serve(fresh)
    if world.slack.target:
        world.slack.target = f"http://127.0.0.1:{runner.addresses[0][1]}"
    else:
        await world.slack.until(lambda: world.slack.sockets.open, "a socket")
    world.intake.receipts = [Receipt(False, "You may not decide this.", "forbidden")]
    await world.slack.click(message, "sayso.accept", user="U0EVE")
    assert (await world.slack.told())["user"] == "U0EVE"
    assert (await world.slack.click(message, "sayso.accept")).status == 200
    assert [r.person.id for r in world.intake.answers] == ["T0TEAM/U0EVE", "T0TEAM/U0ADA"]
    await fresh.stop()
    await runner.cleanup()


async def test_21_a_card_found_by_the_team_of_who_pressed(world: World) -> None:
    """21. In a shared channel that is another company's: a card is found by what its button carries."""
    await world.show(APPROVAL)
    message = await world.slack.posted()
    await world.slack.click(message, "sayso.accept", user="U0EXT", team="T0OTHER")
    (response,) = world.intake.answers
    assert response.interrupt_id == APPROVAL.interrupt_id
    assert response.person.id == "T0OTHER/U0EXT"  # and never taken for one of ours


async def test_22_one_button_that_is_processed_several_times(world: World) -> None:
    """22. One act has one key: twenty copies of a click count once, and ask the store once more at most."""
    await world.show(APPROVAL)
    message = await world.slack.posted()
    copies = [world.slack.click(message, "sayso.accept", action_ts="7.7") for _ in range(20)]
    assert {answer.status for answer in await asyncio.gather(*copies)} == {200}
    assert len(world.intake.answers) == 1
    assert world.slack.private == []


async def test_26_retries_that_are_acknowledged_and_dropped(world: World) -> None:
    """26. A redelivery may be the first copy that anybody sees: events are told apart by what they say."""
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    ts = world.slack.space.clock.ts()
    event = payloads.message_event(
        world.slack.space, "C0OPS", ts, "the only copy", user="U0ADA", thread_ts=root["ts"]
    )
    body = payloads.event_callback(world.slack.space, event)
    headers = {"X-Slack-Retry-Num": "3", "X-Slack-Retry-Reason": "connection_failed"}
    for _ in range(3):
        assert (await world.slack.send("events_api", body, headers)).status == 200
    assert [r.value for r in world.intake.answers] == ["the only copy"]


async def test_27_a_socket_that_is_dead_and_does_not_know(world: World) -> None:
    """27. Sockets are watched and replaced (test_slack_sockets.py has each way); over HTTP there is none."""
    await world.show(APPROVAL)
    if world.slack.target:
        assert world.slack.sockets.opened == 0
    else:
        before = world.slack.sockets.opened
        await world.slack.sockets.close()
        await world.slack.until(lambda: world.slack.sockets.opened > before, "a new socket")
        await world.slack.until(lambda: len(world.slack.sockets.open) == 2, "both")
    assert (await world.slack.click(await world.slack.posted(), "sayso.accept")).status == 200
    assert len(world.intake.answers) == 1


async def test_28_several_processes_on_one_app(world: World) -> None:
    """28. A payload goes to any of them: each can answer for all, and what counts is in the store."""
    other = await another(world)
    runner = await serve(other)
    first, second = world.slack.target, f"http://127.0.0.1:{runner.addresses[0][1]}"
    await world.slack.until(lambda: bool(first) or len(world.slack.sockets.open) == 4, "sockets")
    await world.show(APPROVAL)
    message = await world.slack.posted()
    for number in range(8):
        if first:
            world.slack.target = (first, second)[number % 2]
        user = f"U0P{number}"
        assert (await world.slack.click(message, "sayso.accept", user=user)).status == 200
    # The same click at two of them: the second finds the receipt of the first.
    for _ in range(4):
        if first:
            world.slack.target = first if world.slack.target == second else second
        await world.slack.click(message, "sayso.accept", user="U0ADA", action_ts="7.7")
    assert len(world.intake.answers) == 9
    assert first or set(world.slack.sockets.used) == {0, 1, 2, 3}
    await other.stop()
    await runner.cleanup()


async def test_29_the_installation_of_the_wrong_workspace(world: World) -> None:
    """29. With Connect and organisations `team` may be another's or null: ours is found all the same, and
    people keep their own."""
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    space = world.slack.space
    event = payloads.message_event(
        space, "C0OPS", space.clock.ts(), "from outside", user="U0EXT", thread_ts=root["ts"]
    )
    event |= {"user_team": "T0OTHER", "source_team": "T0OTHER", "team": "T0OTHER"}
    body = payloads.event_callback(space, event) | {"team_id": "T0OTHER"}
    assert (await world.slack.send("events_api", body)).status == 200
    await world.show(APPROVAL)
    message = await world.slack.posted(count=3)
    await world.slack.click(message, "sayso.reject", user="U0ADA")
    view = await world.slack.opened()
    sent = payloads.view_submission(space, view, {}, user="U0ADA", team="T0TEAM")
    sent |= {
        "team": None,
        "is_enterprise_install": True,
        "enterprise": {"id": "E0ORG", "name": "x"},
    }
    answer = await world.slack.send("interactive", sent)
    assert answer.status == 200
    assert answer.body["response_action"] == "errors"  # "Why?" is required: it was found and asked
    found = [_said(response) for response in world.intake.answers]
    assert found == [(TURN.interrupt_id, "T0OTHER/U0EXT", "from outside")]
    assert Person("slack", "T0TEAM/U0EXT") not in [r.person for r in world.intake.answers]


def _said(response: Response) -> tuple[str, str, object]:
    return response.interrupt_id, response.person.id, response.value
