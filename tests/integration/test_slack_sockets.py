"""Socket Mode's own ways: two connections, refreshed, lost, stalled and refused, and never both away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.views import Receipt
from tests.fakes.slack import Fault
from tests.integration.slack_world import APPROVAL, THREAD, TURN, World, slack_world


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with slack_world("socket", monkeypatch) as found:
        await both(found)
        yield found


async def both(world: World) -> None:
    sockets = world.slack.sockets
    await world.slack.until(lambda: len(sockets.open) == 2, "two sockets")


async def test_there_are_two_and_each_is_used(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    for number in range(4):
        answer = await world.slack.click(message, "sayso.accept", user=f"U0P{number}")
        assert answer.status == 200
    assert set(world.slack.sockets.used) == {0, 1}
    assert len(world.intake.answers) == 4


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_one_that_is_refreshed_leaves_the_other_working(world: World, reason: str) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    opened = world.slack.sockets.opened
    await world.slack.sockets.disconnect(reason, 1)
    answer = await world.slack.click(message, "sayso.accept")
    assert answer.status == 200
    await world.slack.until(lambda: world.slack.sockets.opened > opened, "a new socket")
    await both(world)
    assert len(world.intake.answers) == 1


async def test_all_that_are_asked_to_reconnect_do(world: World) -> None:
    opened = world.slack.sockets.opened
    await world.slack.sockets.disconnect("refresh_requested")
    await world.slack.until(lambda: world.slack.sockets.opened >= opened + 2, "two new ones")
    await both(world)
    await world.show(APPROVAL)
    assert (await world.slack.click(await world.slack.posted(), "sayso.accept")).status == 200


async def test_dead_sockets_are_replaced(world: World) -> None:
    opened = world.slack.sockets.opened
    await world.slack.sockets.close()
    await world.slack.until(lambda: world.slack.sockets.opened >= opened + 2, "two new ones")


async def test_a_socket_that_answers_no_ping_is_replaced(world: World) -> None:
    """The peer holds the connection and says nothing: only its missing pongs tell."""
    world.slack.sockets.deaf = True
    await world.slack.sockets.close()
    opened = world.slack.sockets.opened
    await world.slack.until(lambda: world.slack.sockets.opened >= opened + 4, "more tries", 20)
    world.slack.sockets.deaf = False
    await world.slack.until(lambda: _hearing(world), "sockets that hear", 20)
    await world.show(APPROVAL)
    assert (await world.slack.click(await world.slack.posted(), "sayso.accept")).status == 200


async def test_what_cannot_be_reopened_is_tried_again(world: World) -> None:
    world.slack.faults["apps.connections.open"] = Fault(times=4, error="internal_error")
    opened = world.slack.sockets.opened
    await world.slack.sockets.close()
    await world.slack.until(lambda: world.slack.sockets.opened > opened, "a new socket", 20)
    await both(world)
    await world.show(APPROVAL)
    assert (await world.slack.click(await world.slack.posted(), "sayso.accept")).status == 200


async def test_what_is_not_stored_is_not_acknowledged(world: World) -> None:
    world.slack.ack_seconds = 0.3
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    world.intake.receipts = [Receipt(False, "Not now.", "sayso.unavailable")]
    assert (await world.slack.reply("C0OPS", root["ts"], "keep me")).answer.status == 0


async def test_a_flood_is_handled_a_few_at_a_time(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    clicks = [world.slack.click(message, "sayso.accept", user=f"U0P{n}") for n in range(200)]
    answers = await asyncio.gather(*clicks)
    assert {answer.status for answer in answers} == {200}
    assert len(world.intake.answers) == 200


def _hearing(world: World) -> bool:
    return sum(socket in world.slack.sockets.hearing for socket in world.slack.sockets.open) == 2
