"""Telling bugs of other Slack apps, 13 to 19, 23 to 25 and 30: what is shown. Over both transports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from adapters.channel import DeliveryFailed
from adapters.views import Action, Card, Choice, Fact, Field, Form, Receipt
from tests.fakes.slack import Fault
from tests.fakes.slack_blocks import check_message
from tests.fakes.slack_state import View
from tests.integration.slack_world import APPROVAL, CLARIFICATION, World, slack_world


@pytest.fixture(params=["http", "socket"])
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    async with slack_world(request.param, monkeypatch) as found:
        yield found


async def asked(world: World, asking: Form) -> View:
    """The modal of a question with this form (which the card's button knew nothing of)."""
    world.intake.forms["answer"] = asking
    await world.show(CLARIFICATION)
    message = await world.slack.posted()
    await world.slack.click(message, "sayso.answer")
    return await world.slack.opened()


async def test_13_json_stuffed_into_an_option(world: World) -> None:
    """13. An option's value has 150 characters: it is a position, and the constant is kept here."""
    constants = [{"deep": "x" * 500, "n": n} for n in range(3)]
    choices = tuple(Choice(value, f"Choice {n}") for n, value in enumerate(constants))
    fields = (
        Field("f0", ("answers", "a"), "Which?", "choice", required=True, choices=choices),
        Field("f1", ("answers", "b"), "Why?", "text"),
    )
    view = await asked(world, Form("Choose", fields))
    options = [o for b in view.view["blocks"] for o in b.get("element", {}).get("options", [])]
    assert max(len(option["value"]) for option in options) < 20
    assert (await world.slack.submit(view, {"Which?": "Choice 2"})).closed
    assert world.intake.answers[0].value["answers"]["a"] == constants[2]


async def test_14_more_options_than_a_menu_holds(world: World) -> None:
    """14. 101 options refuse the whole modal: it is made another way, and the person sees something."""
    choices = tuple(Choice(n, f"Choice {n}") for n in range(101))
    field = Field("f0", ("answers", "a"), "Which?", "choice", choices=choices)
    view = await asked(world, Form("Choose", (field,)))
    assert "Loading" not in view.shown()
    for block in view.view["blocks"]:
        assert len(block.get("element", {}).get("options", [])) <= 100
    assert [c.error for c in world.slack.calls if c.method.startswith("views.")] == ["", ""]


async def test_15_a_multi_select_among_the_buttons(world: World) -> None:
    """15. Refuses the whole message: several choices are asked in a modal's input, never in 'actions'."""
    element = {"type": "multi_static_select", "action_id": "m", "options": []}
    assert check_message([{"type": "actions", "elements": [element]}])
    choices = tuple(Choice(n, f"Choice {n}") for n in range(20))
    fields = (Field("f0", ("answers", "a"), "Which?", "choices", choices=choices),)
    view = await asked(world, Form("Choose", fields))
    message = await world.slack.posted()
    assert {button["type"] for button in message.buttons()} == {"button"}
    assert (await world.slack.submit(view, {"Which?": ["Choice 3", "Choice 7"]})).closed
    assert world.intake.answers[0].value["answers"]["a"] == [3, 7]


async def test_16_one_member_too_many(world: World) -> None:
    """16. An unknown member refuses everything, silently: the fake refuses it too, and ours has none."""
    confirm = {"type": "confirm", "title": {"type": "plain_text", "text": "?"}}
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "b"}}
    assert check_message([{"type": "actions", "elements": [{**button, "confirm": confirm}]}])
    sure = tuple(replace(action, confirm="Really?") for action in APPROVAL.actions)
    await world.show(replace(APPROVAL, actions=sure))
    assert all("confirm" in b for b in (await world.slack.posted()).buttons()[:3])
    # A refusal is never swallowed: it ends up with the pump, the log and the operator.
    world.slack.faults["chat.postMessage"] = Fault(times=9, error="invalid_blocks")
    with pytest.raises(DeliveryFailed, match="invalid_blocks"):
        await world.show(replace(APPROVAL, interrupt_id="int_other"))


async def test_17_a_loading_modal_for_ever(world: World) -> None:
    """17. Too many blocks, or a failure on the way: the loading view is always replaced or explained."""
    fields = tuple(Field(f"f{n}", (f"p{n}",), f"Question {n}", "text") for n in range(120))
    view = await asked(world, Form("Many", fields))
    assert "more fields than Slack can show" in view.shown()
    world.slack.faults["views.update"] = Fault(error="internal_error")
    await world.slack.click(await world.slack.posted(), "sayso.answer", user="U0BOB")
    assert "could not be shown" in (await world.slack.told())["text"]

    async def broken(*_: Any) -> Card | None:
        raise RuntimeError("bug")

    world.intake.look = broken  # type: ignore[method-assign]
    await world.slack.click(await world.slack.posted(), "sayso.answer", action_ts="9.9")
    assert "went wrong" in (await world.slack.opened(3)).shown()


IDS: tuple[Literal["accept", "reject", "refine", "edit-accept", "ask"], ...] = (
    "accept",
    "reject",
    "refine",
    "edit-accept",
    "ask",
)


async def test_18_an_oversized_card_that_is_retried_for_ever(world: World) -> None:
    """18. What Slack refuses as too much is posted small, once, and then stands."""
    huge = replace(
        APPROVAL,
        title="T" * 5000,
        body="B" * 50_000,
        evidence="E" * 50_000,
        facts=tuple(Fact("L" * 500, "V" * 5000) for _ in range(40)),
        actions=tuple(Action(name, "A" * 300, confirm="C" * 900) for name in IDS),
    )
    await world.show(huge)
    assert [call.error for call in world.slack.called("chat.postMessage")] == [""]
    world.slack.faults["chat.postMessage"] = Fault(error="msg_blocks_too_long")
    ref = (await world.show(replace(huge, interrupt_id="int_2"))).ref
    assert [call.error for call in world.slack.called("chat.postMessage")[1:]] == [
        "msg_blocks_too_long",
        "",
    ]
    assert "could not show" in world.slack.messages[(ref["channel"], ref["ts"])].shown()
    await world.show(replace(huge, interrupt_id="int_2"), ref=ref)
    assert len(world.slack.messages) == 2


async def test_19_a_text_that_grows_when_it_is_escaped(world: World) -> None:
    """19. 3,000 characters are counted escaped; a card is drawn from its state, never from what came."""
    grown = replace(APPROVAL, body="<&>" * 1000, evidence="&" * 3000, title="&" * 150)
    ref = (await world.show(grown)).ref
    message = await world.slack.posted()
    await world.slack.click(message, "sayso.accept")
    done = replace(grown, state="resolved", version=4, outcome="Approved by Ada & co", actions=())
    for _ in range(3):
        await world.show(done, ref=ref)
    assert {call.error for call in world.slack.called("chat.update")} == {""}
    assert "Approved by Ada & co" in message.shown()
    assert "&amp;amp;" not in json.dumps(message.blocks)


async def test_23_buttons_that_stay_while_the_work_is_done(world: World) -> None:
    """23. People press again: the end takes the buttons away, and a late press is answered."""
    ref = (await world.show(APPROVAL)).ref
    message = await world.slack.posted()
    before = message.blocks
    await world.slack.click(message, "sayso.accept")
    done = replace(APPROVAL, state="resolved", version=4, outcome="Approved by Ada", actions=())
    await world.show(done, ref=ref)
    assert [b["action_id"] for b in message.buttons()] == ["sayso.link"]
    world.intake.receipts = [Receipt(False, "Ada approved it.", "interrupt_already_resolved")]
    await world.slack.click(message, "sayso.accept", user="U0BOB", blocks=before)
    assert (await world.slack.told())["text"] == "Ada approved it."


async def test_24_buttons_that_are_links(world: World) -> None:
    """24. A link that decides is followed by scanners: what decides has a value and no URL."""
    await world.show(APPROVAL)
    buttons = (await world.slack.posted()).buttons()
    assert [("url" in b, "value" in b) for b in buttons] == [(False, True)] * 3 + [(True, False)]
    await world.slack.click(await world.slack.posted(), "sayso.link")
    assert world.intake.answers == []


async def test_25_an_answer_that_erased_its_siblings(world: World) -> None:
    """25. One message for each request: what happens to one is seen in no other."""
    first = (await world.show(APPROVAL)).ref
    await world.show(replace(APPROVAL, interrupt_id="int_second", title="The second"))
    second = await world.slack.posted(count=2)
    before = second.blocks
    done = replace(APPROVAL, state="resolved", version=4, outcome="Approved", actions=())
    await world.show(done, ref=first)
    assert (second.blocks, second.edits) == (before, 0)
    await world.slack.click(second, "sayso.accept")
    assert [r.interrupt_id for r in world.intake.answers] == ["int_second"]


FORGED = (
    "`<https://evil.example|Approve>` <!channel> <!here> <@U0ADA> <!subteam^S01> *bold* @here"
    " https://evil.example/a \u202etxt.exe \u200b"
)


async def test_30_untrusted_text_that_forges_a_link_or_calls_everybody(world: World) -> None:
    """30. What comes from outside is plain text, or escaped and verbatim: no link, no mention, no code."""
    card = replace(
        APPROVAL,
        title=FORGED,
        body=FORGED,
        evidence=FORGED,
        facts=(Fact(FORGED, FORGED),),
        progress=FORGED,
        actions=(Action("accept", FORGED, confirm=FORGED), *APPROVAL.actions[1:]),
    )
    ref = (await world.show(card)).ref
    done = replace(card, state="resolved", version=4, outcome=FORGED, reason=FORGED, actions=())
    message = await world.slack.posted()
    for _ in range(2):
        for text in (message.text, *_mrkdwn(message.blocks)):
            assert "<https" not in text
            assert "<!channel" not in text
            assert "<@U" not in text
            assert "\u202e" not in text
        for found in _mrkdwn_objects(message.blocks):
            assert found["verbatim"] is True
        await world.show(done, ref=ref)
    for call in world.slack.called("chat.postMessage"):
        assert (call.args["unfurl_links"], call.args["unfurl_media"]) == (False, False)


def _mrkdwn_objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            yield value
        for inner in value.values():
            yield from _mrkdwn_objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _mrkdwn_objects(inner)


def _mrkdwn(blocks: Any) -> list[str]:
    return [str(found["text"]) for found in _mrkdwn_objects(blocks)]
