"""Clicks and conversations in Slack, over signed HTTP and over Socket Mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.views import Person, Receipt
from schemas.errors import Refusal
from tests.fakes.slack import Fault
from tests.integration.slack_world import (
    APPROVAL,
    THREAD,
    TURN,
    World,
    slack_world,
)


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def test_a_click_answers_once_and_says_who(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted("C0OPS")
    answer = await world.slack.click(message, "sayso.accept", user="U0ADA", action_ts="7.7")
    assert answer.status == 200
    (response,) = world.intake.answers
    assert response.interrupt_id == APPROVAL.interrupt_id
    assert (response.action, response.version) == ("accept", 3)
    assert response.person == Person("slack", "T0TEAM/U0ADA", "ada")
    # The same act again, as a proxy may repeat it: one effect.
    await world.slack.click(message, "sayso.accept", user="U0ADA", action_ts="7.7")
    assert len(world.intake.answers) == 1
    await world.slack.click(message, "sayso.accept", user="U0BOB")
    assert [r.person.id for r in world.intake.answers] == ["T0TEAM/U0ADA", "T0TEAM/U0BOB"]
    assert len({r.dedupe for r in world.intake.answers}) == 2
    assert world.slack.private == []


async def test_a_refused_click_is_told_to_that_person_alone(world: World) -> None:
    world.intake.receipts = [Receipt(False, "You may not decide <this>.", "forbidden")]
    await world.show(APPROVAL)
    message = await world.slack.posted()
    assert (await world.slack.click(message, "sayso.accept", user="U0BOB")).status == 200
    note = await world.slack.told()
    assert note["user"] == "U0BOB"
    assert note["text"] == "You may not decide &lt;this&gt;."
    assert len(world.slack.messages) == 1


async def test_where_the_bot_is_no_member_the_note_goes_by_response_url(world: World) -> None:
    world.intake.receipts = [Receipt(False, "Too late.", "interrupt_expired")]
    world.slack.faults["chat.postEphemeral"] = Fault(error="not_in_channel")
    await world.show(APPROVAL)
    await world.slack.click(await world.slack.posted(), "sayso.accept")
    note = await world.slack.told()
    assert (note["by"], note["text"], note["response_type"]) == (
        "response_url",
        "Too late.",
        "ephemeral",
    )
    assert note["replace_original"] is False


@pytest.mark.parametrize(
    "failure", [Refusal("sayso.unavailable", "Not now; try again."), RuntimeError("bug")]
)
async def test_no_click_is_left_without_an_answer(world: World, failure: Exception) -> None:
    world.intake.receipts = [failure]
    await world.show(APPROVAL)
    answer = await world.slack.click(await world.slack.posted(), "sayso.accept")
    assert answer.status == 200
    note = await world.slack.told()
    assert "try again" in note["text"]
    assert "bug" not in note["text"]


async def test_an_unknown_button_is_answered_too(world: World) -> None:
    await world.show(APPROVAL)
    message = await world.slack.posted()
    old = [{"type": "actions", "elements": [dict(message.buttons()[0], action_id="sayso.launch")]}]
    assert (await world.slack.click(message, "sayso.launch", blocks=old)).status == 200
    assert "not known" in (await world.slack.told())["text"]
    assert world.intake.answers == []


async def test_a_link_button_is_acknowledged_and_means_nothing(world: World) -> None:
    await world.show(APPROVAL)
    answer = await world.slack.click(await world.slack.posted(), "sayso.link")
    assert answer.status == 200
    assert (world.intake.answers, world.slack.private) == ([], [])


async def test_a_conversation_is_one_thread_and_a_reply_answers(world: World) -> None:
    shown = await world.show(TURN, thread=THREAD)
    root, prompt = shown.thread_ref, shown.ref
    assert world.slack.messages[(prompt["channel"], prompt["ts"])].thread_ts == root["ts"]
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    sent = await world.slack.reply("C0OPS", root["ts"], "the <second> & last", user="U0BOB")
    assert sent.answer.status == 200
    (response,) = world.intake.answers
    assert response.interrupt_id == TURN.interrupt_id
    assert (response.action, response.value) == ("answer", "the <second> & last")
    assert response.person == Person("slack", "T0TEAM/U0BOB", "Bob")
    # The second turn goes into the same thread.
    second = replace(TURN, interrupt_id="int_turn_2")
    again = await world.show(second, thread=replace(THREAD, prompt="And when?"), thread_ref=root)
    assert again.thread_ref is None
    assert world.slack.messages[(again.ref["channel"], again.ref["ts"])].thread_ts == root["ts"]
    assert len(world.slack.called("chat.postMessage")) == 3


async def test_a_redelivered_reply_has_one_effect_and_a_first_copy_may_be_a_retry(
    world: World,
) -> None:
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    sent = await world.slack.reply("C0OPS", root["ts"], "one")
    world.intake.turns[root["ts"]] = "int_turn_2"  # the next question waits already
    assert (await world.slack.retry(sent, 1)).status == 200
    for _ in range(3):  # a socket may send the same envelope again as if it were the first
        assert (await world.slack.send(sent.kind, sent.payload)).status == 200
    assert [r.interrupt_id for r in world.intake.answers] == [TURN.interrupt_id]
    ts = world.slack.space.clock.ts()
    event = {**sent.payload["event"], "ts": ts, "event_ts": ts, "text": "two"}
    body = {**sent.payload, "event": event, "event_id": "Ev2"}
    headers = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    await world.slack.send("events_api", body, headers)
    assert [r.value for r in world.intake.answers] == ["one", "two"]


async def test_a_reply_that_could_not_be_stored_is_delivered_again(world: World) -> None:
    world.slack.ack_seconds = 0.3
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    world.intake.receipts = [Receipt(False, "Not now.", "sayso.unavailable")]
    sent = await world.slack.reply("C0OPS", root["ts"], "keep me")
    assert sent.answer.status in (0, 503)
    assert (await world.slack.retry(sent, 1)).status == 200
    assert [r.value for r in world.intake.answers] == ["keep me", "keep me"]
    assert (await world.slack.retry(sent, 1)).status == 200
    assert world.slack.private == []


async def test_a_mention_in_the_thread_counts_once_without_our_name(world: World) -> None:
    root = (await world.show(TURN, thread=THREAD)).thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    await world.slack.mention("C0OPS", root["ts"], "the second")
    assert [r.value for r in world.intake.answers] == ["the second"]


async def test_what_is_no_reply_of_a_person_is_ignored(world: World) -> None:
    shown = await world.show(TURN, thread=THREAD)
    root = shown.thread_ref
    world.intake.turns[root["ts"]] = TURN.interrupt_id
    sent = await world.slack.reply("C0OPS", root["ts"], "yes")
    base = sent.payload["event"]
    world.intake.answers.clear()
    for change in (
        {"bot_id": "B0OTHER", "ts": "1.1"},
        {"user": world.slack.space.bot_user, "ts": "1.2"},
        {"subtype": "message_changed", "hidden": True, "ts": "1.3"},
        {"subtype": "message_deleted", "ts": "1.4"},
        {"subtype": "thread_broadcast"},  # the same message, told a second time
        {"thread_ts": "", "ts": "1.5"},
        {"type": "reaction_added", "ts": "1.6"},
        {"text": "   ", "ts": "1.7"},
    ):
        assert (await world.slack.emit({**base, **change})).answer.status == 200
    assert world.intake.answers == []
