"""`/sayso` and the shortcuts, over signed HTTP and over Socket Mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.slack.entries import ASK_SHORTCUT, INBOX_SHORTCUT
from tests.fakes import slack_home
from tests.fakes.slack_transport import Answer
from tests.integration.slack_office import ALL, Office, Start, office


@pytest.fixture(params=["http", "socket"])
async def world(request: pytest.FixtureRequest, start: Start) -> AsyncIterator[Office]:
    async with office(start, request.param) as found:
        yield found


def told(answer: Answer) -> str:
    """All that the answer to a command says."""
    assert answer.status == 200
    assert isinstance(answer.body, dict)
    return str(answer.body)


async def questions(world: Office, interrupt: str) -> list[Any]:
    record = await world.record(interrupt)
    return list(record.get("questions", ()))


async def test_the_list_is_for_the_one_who_asks(world: Office) -> None:
    await world.approval("mine", title="Refund it", approversList=["ada"])
    assert "Refund it" in told(await slack_home.command(world.slack, ""))
    assert "Refund it" in told(await slack_home.command(world.slack, "inbox"))
    other = told(await slack_home.command(world.slack, "inbox", user="U0BOB"))
    assert "Refund it" not in other
    assert "Waiting for you (0)" in other


async def test_the_letters_that_bolt_stumbles_over_are_just_letters(world: Office) -> None:
    interrupt = await world.approval("mine", actions=ALL, approversList=["ada"])
    text = f"ask {interrupt[-8:]} is the payload=%7B ready & <safe>?"
    assert "passed on" in told(await slack_home.command(world.slack, text))
    message = await world.slack.posted("C0OPS")
    await world.shown(message, "Ada: is the payload=%7B ready & <safe>?")


async def test_show_tells_those_alone_whom_it_concerns(world: Office) -> None:
    interrupt = await world.approval("mine", title="Secret refund", approversList=["ada"])
    for name in (interrupt, interrupt[-8:], interrupt[-8:].upper()):
        assert "Secret refund" in told(await slack_home.command(world.slack, f"show {name}"))
    other = told(await slack_home.command(world.slack, f"show {interrupt}", user="U0BOB"))
    assert "Secret refund" not in other
    assert "no request" in other


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("help", "/sayso show"),
        ("launch the rocket", "/sayso show"),
        ("show", "/sayso show"),
        ("ask 1234abcd", "/sayso show"),
        ("show zzzzzzzz", "no request zzzzzzzz"),
        ("show <!channel>", "no request"),
        ("show acme/../../x", "no request"),
        ("show other/01", "no request"),
        ("ask zzzzzzzz why?", "no request"),
    ],
)
async def test_what_cannot_be_done_says_what_can(world: Office, text: str, said: str) -> None:
    answer = told(await slack_home.command(world.slack, text))
    assert said in answer
    assert "<!channel>" not in answer


async def test_a_request_without_questions_says_so(world: Office) -> None:
    interrupt = await world.approval("mine", actions=["accept"], approversList=["ada"])
    answer = await slack_home.command(world.slack, f"ask {interrupt[-8:]} why?")
    assert "takes no questions" in told(answer)


async def test_a_command_that_is_delivered_twice_asks_once(world: Office) -> None:
    interrupt = await world.approval("mine", actions=ALL, approversList=["ada"])
    for _ in range(2):
        text = f"ask {interrupt[-8:]} why?"
        await slack_home.command(world.slack, text, trigger="1.2.abc")
    message = await world.slack.posted("C0OPS")
    await world.shown(message, "Ada: why?")
    assert message.shown().count("Ada: why?") == 1


async def test_the_global_shortcut_opens_the_list_and_a_review_lies_on_top(world: Office) -> None:
    interrupt = await world.approval("mine", title="Refund it", approversList=["ada"])
    assert (await slack_home.shortcut(world.slack, INBOX_SHORTCUT)).status == 200
    view = await world.slack.opened()
    assert "Refund it" in view.shown()
    await slack_home.press(world.slack, view, "Review")
    review = await world.slack.opened(2)
    assert world.slack.called("views.push")
    assert (await world.slack.submit(review, {"Your decision": "Approve"})).closed
    assert (await world.record(interrupt))["status"] == "resolved"


async def test_the_message_shortcut_opens_the_request_of_a_card(world: Office) -> None:
    await world.approval("mine", title="Refund it", approversList=["ada"])
    message = await world.card()
    await slack_home.message_shortcut(world.slack, ASK_SHORTCUT, message)
    view = await world.slack.opened()
    assert "Refund it" in view.shown()
    assert "Your decision" in view.labels()
    # Somebody whom it does not concern learns nothing.
    await slack_home.message_shortcut(world.slack, ASK_SHORTCUT, message, user="U0BOB")
    other = await world.slack.opened(2)
    assert "does not wait for you" in other.shown()
    assert "Refund it" not in other.shown()


async def test_the_message_shortcut_asks_with_the_words_of_a_message(world: Office) -> None:
    await world.approval("mine", title="Refund it", actions=ALL, approversList=["ada"])
    message = await world.slack.posted("C0OPS")
    sent = await world.slack.reply("C0OPS", "", "Is that <legal>?", user="U0BOB")
    said = world.slack.messages[("C0OPS", sent.payload["event"]["ts"])]
    await slack_home.message_shortcut(world.slack, ASK_SHORTCUT, said)
    view = await world.slack.opened()
    assert view.labels() == ["About which request?", "Your question"]
    outcome = await world.slack.submit(view, {"About which request?": "Refund it"})
    assert outcome.closed
    await world.shown(message, "Ada: Is that <legal>?")


async def test_unknown_shortcuts_and_forms_are_answered(world: Office) -> None:
    assert (await slack_home.shortcut(world.slack, "sayso.launch")).status == 200
    assert world.slack.views == {}
