"""Every kind of pause in Slack, from the request to what the run gets; over both transports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes import slack_home
from tests.fakes.slack_state import Message
from tests.integration.slack_office import ALL, Office, Start, office

ARGUMENTS = {"amount": 4000, "currency": "EUR"}


@pytest.fixture(params=["http", "socket"])
async def world(request: pytest.FixtureRequest, start: Start) -> AsyncIterator[Office]:
    async with office(start, request.param) as found:
        yield found


def question(text: str, schema: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    asked = {"id": "q", "question": text} | ({"schema": schema} if schema else {})
    return {"kind": "clarification", "key": "q", "data": {"questions": [asked]}, **more}


def labels(message: Message) -> list[str]:
    return [button["text"]["text"] for button in message.buttons()]


async def value(world: Office, record: dict[str, Any] | str) -> Any:
    interrupt = record if isinstance(record, str) else record["interruptId"]
    found = await world.record(interrupt)
    assert found["status"] == "resolved", found
    return found["resumeValue"]


# -- approvals ------------------------------------------------------------------------------------


async def test_a_reject_asks_for_a_reason_that_may_stay_empty(world: Office) -> None:
    first = await world.approval("one", approversList=["ada"])
    await world.slack.click(await world.card(), "sayso.reject")
    view = await world.slack.opened()
    assert (await world.slack.submit(view, {"Why?": "not <yet>"})).closed
    assert (await value(world, first))["feedback"] == "not <yet>"
    await world.shown(await world.card(), "Reason: not <yet>")
    second = await world.approval("two", approversList=["ada"])
    await world.slack.click(await world.card(count=2), "sayso.reject")
    assert (await world.slack.submit(await world.slack.opened(2), {})).closed
    assert (await value(world, second))["action"] == "reject"


async def test_a_refinement_names_its_scope_and_an_error_stands_beside_it(world: Office) -> None:
    items = [{"id": "a"}, {"id": "b"}]
    interrupt = await world.approval(
        "k", actions=ALL, artifactData={**ARGUMENTS, "items": items}, approversList=["ada"]
    )
    await world.slack.click(await world.card(), "sayso.refine")
    view = await world.slack.opened()
    assert view.labels() == ["What should change?", "Which part?", "Section", "Items"]
    said = {"What should change?": "Less.", "Which part?": "One section"}
    outcome = await world.slack.submit(view, said)
    assert outcome.errors.keys() == {"Section"}
    outcome = await world.slack.submit(view, said | {"Which part?": "Some items"})
    assert outcome.errors.keys() == {"Items"}
    assert (await world.slack.submit(view, said | {"Section": "amount"})).closed
    feedback = (await value(world, interrupt))["refineFeedback"]
    assert feedback == {"scope": "section", "sectionPath": "/amount", "text": "Less."}


async def test_an_edit_is_asked_by_the_arguments_schema_and_shown_before_it_counts(
    world: Office,
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "editedArtifactData": {
                "type": "object",
                "properties": {
                    "amount": {"type": "integer", "maximum": 5000, "title": "Amount to pay"},
                    "currency": {"$ref": "#/$defs/currency"},
                },
                "required": ["amount", "currency"],
            }
        },
        "$defs": {"currency": {"enum": ["EUR", "USD"]}},
    }
    payload = {
        "kind": "approval",
        "key": "k",
        "resumeSchema": schema,
        "data": {
            "artifactId": "a", "artifactType": "refund", "title": "Refund", "actions": ALL,
            "artifactData": ARGUMENTS, "approversList": ["ada"],
        },
    }  # fmt: skip
    record = await world.ask(payload)
    await world.slack.click(await world.card(), "sayso.edit-accept")
    view = await world.slack.opened()
    assert view.labels() == ["Amount to pay", "Currency"]
    outcome = await world.slack.submit(view, {"Amount to pay": "6000"})
    assert "5000 or less" in outcome.errors["Amount to pay"]
    outcome = await world.slack.submit(view, {"Amount to pay": "4500", "Currency": "USD"})
    assert not outcome.closed
    shown = view.shown()
    for part in ("What you changed", "amount", "4000", "4500", "EUR", "USD"):
        assert part in shown
    assert (await world.record(record["interruptId"]))["status"] == "open"
    assert (await world.slack.submit(view, {})).closed
    edited = (await value(world, record))["editedArtifactData"]
    assert edited == {"amount": 4500, "currency": "USD"}


async def test_only_a_request_of_high_risk_asks_once_more(world: Office) -> None:
    await world.approval("low", artifactData={"risk": "low"})
    await world.approval("high", artifactData={"risk": "High", "host": "db1"})
    low, high = await world.card(count=1), await world.card(count=2)
    if "Risk\nlow" not in low.shown().replace("*", ""):
        low, high = high, low
    assert "confirm" not in low.buttons()[0]
    confirm = high.buttons()[0]["confirm"]
    assert "high risk" in confirm["text"]["text"]


async def test_questions_live_in_the_thread_and_decide_nothing(world: Office) -> None:
    interrupt = await world.approval("k", actions=ALL, approversList=["ada", "bob"])
    card = await world.card()
    await world.slack.click(card, "sayso.ask", user="U0BOB")
    view = await world.slack.opened()
    assert (await world.slack.submit(view, {"Your question": "Why <now>?"})).closed
    await world.shown(card, "Bob: Why <now>?")
    posted = await world.slack.posted("C0OPS", 2)
    assert posted.thread_ts == card.ts
    assert "Bob asks: Why <now>?" in posted.shown()
    # A reply in the thread is a question too, and is not repeated there.
    await world.slack.reply("C0OPS", card.ts, "Who else knows?", user="U0ADA")
    await world.shown(card, "Ada: Who else knows?")
    own = [m for m in world.slack.messages.values() if m.user == world.slack.space.bot_user]
    assert len(own) == 2
    # A word that would decide elsewhere is no answer here, and no question either.
    await world.slack.reply("C0OPS", card.ts, "Approved!", user="U0ADA")
    assert "use the buttons" in (await world.slack.told())["text"]
    record = await world.record(interrupt)
    assert record["status"] == "open"


# -- questions ------------------------------------------------------------------------------------


async def test_one_short_choice_is_answered_by_a_button(world: Office) -> None:
    record = await world.ask(question("Which region?", {"enum": ["eu", "us", 3, None]}))
    card = await world.card()
    assert labels(card)[:4] == ["eu", "us", "3", "None"]
    await world.slack.click(card, "sayso.choose.2")
    assert await value(world, record) == {"answers": {"q": 3}}
    await world.shown(card, "Answered by Ada")
    assert "sayso.choose.0" not in str(card.blocks)


async def test_yes_or_no_is_two_buttons_and_a_second_press_is_told(world: Office) -> None:
    record = await world.ask(question("Ship it?", {"type": "boolean"}))
    card = await world.card()
    old = card.blocks
    assert labels(card)[:2] == ["Yes", "No"]
    await world.slack.click(card, "sayso.choose.1", user="U0BOB")
    assert await value(world, record) == {"answers": {"q": False}}
    await world.slack.click(card, "sayso.choose.0", blocks=old)
    assert "Answered by Bob" in (await world.slack.told())["text"]


async def test_a_button_of_another_form_is_not_taken(world: Office) -> None:
    record = await world.ask(question("Ship it?", {"type": "boolean"}))
    card = await world.card()
    button = dict(card.buttons()[0])
    for forged in (
        button["value"].replace('"d":"', '"d":"0'),
        button["value"].replace('"c":"true"', '"c":"maybe"'),
        button["value"].replace('"c":"true"', '"c":7'),
        "{}",
        "nonsense",
    ):
        blocks = [{"type": "actions", "elements": [dict(button, value=forged)]}]
        count = len(world.slack.private)
        answer = await world.slack.click(card, "sayso.choose.0", blocks=blocks)
        assert answer.status == 200
        await world.slack.told(count + 1)
    assert (await world.record(record["interruptId"]))["status"] == "open"


async def test_one_text_is_answered_in_the_thread(world: Office) -> None:
    record = await world.ask(question("Which name?", {"type": "string", "maxLength": 10}))
    card = await world.card()
    assert "Or reply in this thread." in card.shown()
    await world.slack.reply("C0OPS", card.ts, "far too long a name")
    assert "at most 10" in (await world.slack.told())["text"]
    sent = await world.slack.reply("C0OPS", card.ts, "x <y>")
    assert sent.answer.status == 200
    assert await value(world, record) == {"answers": {"q": "x <y>"}}
    # What was recorded stays: whoever edits or deletes it is told so, once.
    message = world.slack.messages[("C0OPS", sent.payload["event"]["ts"])]
    await slack_home.edit(world.slack, message, "something else")
    assert "first wrote it" in (await world.slack.told(2))["text"]
    await slack_home.delete(world.slack, message)
    assert "stays recorded" in (await world.slack.told(3))["text"]


async def test_two_questions_are_a_form_and_talk_in_the_thread_is_left_alone(world: Office) -> None:
    payload = question("Which name?", None)
    payload["data"]["questions"].append({"id": "r", "question": "And which date?"})
    await world.ask(payload)
    card = await world.card()
    assert labels(card)[:1] == ["Answer"]
    sent = await world.slack.reply("C0OPS", card.ts, "no idea, ask Bob")
    message = world.slack.messages[("C0OPS", sent.payload["event"]["ts"])]
    await slack_home.edit(world.slack, message, "no idea, really")
    await world.slack.click(card, "sayso.answer")
    view = await world.slack.opened()
    assert (await world.slack.submit(view, {"Which name?": "x", "And which date?": "y"})).closed
    assert world.slack.private == []


# -- the other kinds ------------------------------------------------------------------------------


async def test_low_confidence_shows_what_was_needed_and_what_there_is(world: Office) -> None:
    payload = {
        "kind": "low-confidence",
        "key": "k",
        "data": {
            "agentId": "host.triage", "threshold": 0.8, "observed": 0.42,
            "decision": {"queue": "billing", "urgent": True},
        },
    }  # fmt: skip
    record = await world.ask(payload)
    card = await world.card()
    shown = card.shown()
    for part in ("0.42", "0.8", "Queue", "billing", "Urgent", "yes"):
        assert part in shown
    await world.slack.click(card, "sayso.answer")
    view = await world.slack.opened()
    assert (await world.slack.submit(view, {"Queue": "sales"})).closed
    assert await value(world, record) == {"queue": "sales", "urgent": True}


async def test_a_custom_request_is_readable_data(world: Office) -> None:
    payload = {
        "kind": "custom",
        "key": "k",
        "data": {"customKind": "label.print", "payload": {"printer": "A4", "copies": 2}},
    }
    await world.ask(payload)
    shown = (await world.card()).shown()
    assert "label.print" in shown
    assert "Printer" in shown
    assert "Copies" in shown


async def test_an_external_event_is_a_status_without_a_decision(world: Office) -> None:
    payload = {
        "kind": "external-event",
        "key": "k",
        "data": {"eventType": "invoice.paid", "correlation": {"invoice": "in_1"}},
    }
    record = await world.ask(payload)
    card = await world.card()
    assert "Waiting for invoice.paid" in card.shown()
    assert "in_1" in card.shown()
    assert card.buttons() == []
    path = f"/runs/{world.run}/interrupts/k"
    status, _, _ = await world.api.call("POST", path, {"resumeValue": {"paid": True}})
    assert status == 200
    assert await value(world, record) == {"paid": True}
    await world.shown(card, "Received")


async def test_a_turn_is_markdown_in_which_nothing_pings_or_lies(world: Office) -> None:
    start = {"kind": "conversation.start", "key": "s", "data": {"conversationId": "c1"}}
    await world.ask(start)
    prompt = "**Which** one?\n- a <!channel>\n- [bank](https://evil.example) @here"
    turn = {
        "kind": "conversation.exchange",
        "key": "t",
        "data": {"conversationId": "c1", "prompt": prompt},
    }
    record = await world.ask(turn)
    root = await world.slack.posted("C0OPS", 1)
    posted = await world.slack.posted("C0OPS", 2)
    assert posted.thread_ts == root.ts
    (block,) = [b for b in posted.blocks if b["type"] == "markdown"]
    assert "**Which** one?" in block["text"]
    assert "&lt;!channel&gt;" in block["text"]
    assert "](" not in block["text"]
    assert "@here" not in block["text"]
    assert "@here" not in posted.text
    sent = await world.slack.reply("C0OPS", root.ts, "the first")
    assert await value(world, record) == "the first"
    message = world.slack.messages[("C0OPS", sent.payload["event"]["ts"])]
    await slack_home.edit(world.slack, message, "the second")
    assert "first wrote it" in (await world.slack.told())["text"]
