"""A session's thread in Slack. The numbers are those of docs/dialects/substructure.md."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.fakes.session_worker import Worker
from tests.integration.session_world import worker
from tests.integration.slack_office import Start
from tests.integration.thread_world import Thread, threaded

__all__ = ["worker"]


@pytest.fixture
async def world(start: Start, worker: Worker) -> AsyncIterator[Thread]:
    async with threaded(start, worker) as found:
        yield found


# --- what stands in the thread ------------------------------------------------------------------------


async def test_the_thread_tells_the_conversation_in_order(world: Thread) -> None:
    await world.client.say("bob@example.com")
    card = await world.card()
    root = await world.root()
    assert "bot: s1" in root.shown()
    assert {m.thread_ts for m in world.posts()} == {root.ts}
    said, asked = world.posts()
    assert "user_42: bob@example.com" in said.shown()
    assert asked is card
    assert "the branch after “bob@example.com” waits for this" in card.shown()
    assert "Raised after" in card.shown()
    host = world.api.gateway.host  # so that the shortcut of a message finds its request
    assert await host.store.documents.get("slack.card", f"C0OPS/{card.ts}", host.clock())
    await world.slack.click(card, "sayso.accept")
    await world.post("The tool said: sent")
    assert len(world.posts()) == 3
    await world.slack.until(lambda: "Approved by Ada" in card.shown())


async def test_38_a_click_in_slack_resumes_and_a_second_one_is_told(world: Thread) -> None:
    await world.client.say("bob@example.com")
    card = await world.card()
    old = card.blocks
    await world.slack.click(card, "sayso.accept")
    session = await world.client.idle()
    assert session["messages"][-1]["content"] == "The tool said: sent"
    responder = world.worker.of("interrupt.resumed")[0]["payload"]["responder"]
    assert responder == {"channel": "slack", "user": "ada", "label": "Ada"}
    await world.slack.click(card, "sayso.accept", user="U0BOB", blocks=old)
    assert "already answered by Ada" in (await world.slack.told())["text"]
    assert len(world.worker.of("interrupt.resumed")) == 1
    await world.slack.until(lambda: not [b for b in card.buttons() if "value" in b])


# --- what people write --------------------------------------------------------------------------------


async def test_what_is_written_in_the_thread_is_said_to_the_agent(world: Thread) -> None:
    await world.client.say("bob@example.com")
    await world.slack.click(await world.card(), "sayso.accept")
    await world.post("The tool said: sent")
    message = await world.write("carol@example.com")
    session = await world.client.interrupted()
    heard = session["messages"][-2]
    assert (heard["content"], heard["name"]) == ("carol@example.com", "Ada")
    assert heard["author"] == {"channel": "slack", "user": "ada", "label": "Ada"}
    assert heard["id"].endswith(message.ts)
    await world.slack.until(lambda: "carol@example.com” waits" in world.posts()[-1].shown())
    assert not [m for m in world.posts() if "Ada: carol@example.com" in m.shown()]


async def test_39_a_message_while_parked_is_refused_and_what_waits_is_said(world: Thread) -> None:
    await world.client.say("bob@example.com")
    card = await world.card()
    before = await world.said()
    await world.write("and carol@example.com", user="U0BOB")
    note = await world.post("an answer has to come first")
    assert "Waiting for: Send the email?" in note.shown()
    [link] = [b["accessory"]["url"] for b in note.blocks if "accessory" in b]
    assert f"/archives/C0OPS/p{card.ts.replace('.', '')}" in link
    assert note.thread_ts == card.thread_ts
    assert await world.said() == before
    assert (await world.client.look())["turn_id"] is not None
    assert world.worker.of("interrupt.resumed") == []
    assert world.slack.private == []
    await world.slack.click(card, "sayso.accept")
    await world.post("The tool said: sent")


async def test_a_message_counts_once_however_often_it_is_delivered(world: Thread) -> None:
    await world.client.say("bob@example.com")
    await world.slack.click(await world.card(), "sayso.accept")
    await world.post("The tool said: sent")
    root = await world.root()
    first, second = await world.slack.mention(root.channel, root.ts, "carol@example.com")
    await world.slack.retry(first)
    await world.slack.retry(second, 2)
    await world.client.interrupted()
    assert (await world.said()).count("carol@example.com") == 1
    assert len(world.worker.of("client.messages")) == 2


async def test_a_stranger_and_a_bot_are_not_heard(world: Thread) -> None:
    await world.client.say("bob@example.com")
    await world.slack.click(await world.card(), "sayso.accept")
    await world.post("The tool said: sent")
    before, root = await world.said(), await world.root()
    world.slack.space.add_user("U0EVE", "eve", display="Eve")
    await world.write("do as I say", user="U0EVE")
    assert "not in its directory" in (await world.slack.told())["text"]
    sent = await world.slack.reply(root.channel, root.ts, "beep")
    event = {**sent.payload["event"], "bot_id": "B9", "ts": "9.9", "event_ts": "9.9"}
    await world.slack.emit(event)
    session = await world.client.interrupted()  # what Ada wrote in between was heard
    texts = [m["content"] for m in session["messages"] if m.get("content")]
    assert texts[: len(before)] == before
    assert texts.count("beep") == 1
    assert "do as I say" not in texts


async def test_what_is_written_while_the_agent_works_waits_its_turn(
    start: Start, worker: Worker
) -> None:
    async with threaded(start, worker) as world:
        await world.client.say("bob@example.com")
        await world.slack.click(await world.card(), "sayso.accept")
        await world.post("The tool said: sent")
        await world.client.idle()
        worker.held = asyncio.Event()
        await world.write("carol@example.com")
        await world.write("dave@example.com", user="U0BOB")
        session = await world.client.look()
        assert session["waiting"][-1]["waits_for"][0].startswith("turn:")
        worker.held.set()
        await world.client.interrupted()
        assert (await world.said())[-1] == "carol@example.com"


# --- branches -----------------------------------------------------------------------------------------


async def test_an_edit_branches_off_and_the_thread_says_so(world: Thread) -> None:
    await world.client.say("bob@example.com")
    await world.slack.click(await world.card(), "sayso.accept")
    await world.post("The tool said: sent")
    wrong = await world.write("carol@example.com")
    parked = await world.client.interrupted()
    card = await world.card()
    await world.slack.until(lambda: len([m for m in world.posts() if m.buttons()]) == 1)
    [interrupt] = parked["interrupts"]
    await world.slack.edit(wrong, "dave@example.com")
    notice = await world.post("goes on along another branch, after “The tool said: sent”")
    assert "On the branch that was left, this still waits: “Send the email?”" in notice.shown()
    session = await world.client.until(lambda s: len(s["interrupts"]) == 2)
    texts = [m.get("content") for m in session["messages"]]
    assert "dave@example.com" in texts
    assert "carol@example.com" not in texts
    assert interrupt["interrupt_id"] in [i["interrupt_id"] for i in session["interrupts"]]
    assert session["status"] == "interrupted"
    assert card.thread_ts == notice.thread_ts


async def test_an_edit_counts_once_and_waits_for_the_agent(world: Thread) -> None:
    await world.client.say("bob@example.com")
    await world.slack.click(await world.card(), "sayso.accept")
    await world.post("The tool said: sent")
    first = await world.write("carol@example.com")
    await world.client.interrupted()
    sent = await world.slack.edit(first, "dave@example.com")
    await world.slack.retry(sent, 1)
    await world.client.until(lambda s: len(s["interrupts"]) == 2)
    nodes = (await world.client.look())["message_tree"]["nodes"]
    assert [n["message"].get("content") for n in nodes].count("dave@example.com") == 1
    await world.slack.click(await world.card(3), "sayso.accept")
    await world.client.idle()
    world.worker.held = asyncio.Event()
    last = await world.write("erin@example.com")
    await world.slack.edit(last, "frank@example.com")
    assert "The agent is at work here" in (await world.slack.told())["text"]
    world.worker.held.set()
    await world.client.interrupted()
    assert "erin@example.com" in await world.said()


async def test_a_deletion_and_an_edit_of_something_refused_branch_nothing(world: Thread) -> None:
    await world.client.say("bob@example.com")
    card = await world.card()
    refused = await world.write("and carol@example.com")
    await world.post("an answer has to come first")
    await world.slack.edit(refused, "and dave@example.com")
    await world.slack.click(card, "sayso.accept")
    await world.post("The tool said: sent")
    await world.client.idle()
    taken = await world.write("erin@example.com")
    parked = await world.client.interrupted()
    sent = await world.slack.delete(taken)
    assert sent.answer.status == 200
    after = await world.client.look()
    assert after["message_tree"] == parked["message_tree"]
    assert "dave" not in str(after["message_tree"])
    assert world.slack.private == []
