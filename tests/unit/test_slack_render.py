"""Cards as Slack's blocks: within every limit, and with no text that could act."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack import blocks, render
from adapters.slack.outbound import canonical_address
from adapters.slack.settings import SlackSettings
from adapters.views import Action, Card, Fact, Form, Thread
from tests.fakes.slack_blocks import (
    MESSAGE_TEXT,
    check_message,
    message_text_length,
)
from tests.fakes.slack_elements import stored_length

NASTY = "<!channel> <@U1> <https://evil.example|safe> `*_~ & \u202egnp.exe \x00"
CARD = Card(
    "int_0123456789abcdef",
    "approval",
    "open",
    2,
    "Deploy?",
    body="Body",
    facts=(Fact("Asked by", "ada"),),
    evidence="{}",
    actions=(
        Action("accept", "Approve", "primary", confirm="It can't be undone."),
        Action("reject", "Reject", "danger", needs="reason"),
    ),
    progress="1 of 2 approvals",
    deadline=datetime(2026, 1, 1, 12, tzinfo=UTC),
    at_deadline="It counts as rejected.",
    link="https://sayso.example/a/x",
    reference="89abcdef",
)

anything = st.text(
    alphabet=st.one_of(st.sampled_from("<>&`*_~ \n😀\u202e\x00"), st.characters()), max_size=400
)
long_text = st.one_of(anything, anything.map(lambda text: text * 60))
actions = st.lists(
    st.builds(
        Action,
        st.sampled_from(["accept", "reject", "refine", "edit-accept", "ask", "answer"]),
        anything,
        st.sampled_from(["primary", "danger", "plain"]),
        st.sampled_from(["nothing", "reason", "answers"]),
        anything,
    ),
    max_size=6,
    unique_by=lambda action: action.id,
).map(tuple)
cards = st.builds(
    Card,
    st.just("int_0123456789abcdef"),
    st.sampled_from(["approval", "clarification", "conversation.exchange"]),
    st.sampled_from(["open", "resolved", "cancelled", "expired"]),
    st.integers(1, 10_000),
    long_text,
    body=long_text,
    facts=st.lists(st.builds(Fact, anything, long_text), max_size=14).map(tuple),
    evidence=long_text,
    actions=actions,
    progress=anything,
    deadline=st.none() | st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)),
    at_deadline=anything,
    outcome=long_text,
    decided_by=anything,
    decided_at=st.none() | st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)),
    reason=long_text,
    link=st.sampled_from(["", "https://sayso.example/a/x"]),
)


def texts(value: Any, kind: str) -> list[str]:
    if isinstance(value, dict):
        own = [value["text"]] if value.get("type") == kind else []
        return own + [text for one in value.values() for text in texts(one, kind)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one, kind)]
    return []


def check(message: render.Message) -> None:
    assert check_message(message.blocks) == []
    assert message_text_length(message.blocks) <= MESSAGE_TEXT
    assert 0 < stored_length(message.text, mrkdwn=True) <= 4000
    assert "<" not in message.text
    for text in texts(message.blocks, "mrkdwn"):
        # The only live token is the date, which is ours.
        rest = re.sub(r"<!date\^-?\d+\^\{date_short_pretty\} \{time\}\|[-\d: ]+UTC>", "", text)
        assert "<" not in rest
        assert "`" not in rest.removeprefix("```\n").removesuffix("\n```")


@settings(max_examples=150, deadline=None)
@given(card=cards, prompt=long_text, closed=anything)
def test_every_card_is_one_that_slack_takes(card: Card, prompt: str, closed: str) -> None:
    thread = Thread("c1", card.title, prompt, closed)
    for message in (
        render.card(card, card.link),
        render.minimal(card, card.link),
        render.root(card, thread, card.link),
        render.turn(card, thread, card.link),
    ):
        check(message)


@pytest.mark.parametrize("state", ["open", "resolved"])
def test_the_worst_card_is_one_that_slack_takes(state: Any) -> None:
    full = "<" * 20_000
    names = ("accept", "reject", "refine", "edit-accept", "ask", "answer")
    card = Card(
        "int_0123456789abcdef",
        "conversation.exchange",
        state,
        1,
        full,
        body=full,
        facts=(Fact(full, full),) * 30,
        evidence=full,
        actions=tuple(Action(name, full, "danger", "nothing", full) for name in names),
        form=Form("F", (), web_only=full),
        progress=full,
        deadline=datetime(2026, 1, 1, tzinfo=UTC),
        at_deadline=full,
        outcome=full,
        decided_by="x" * 20_000,
        decided_at=datetime(2026, 1, 1, tzinfo=UTC),
        reason=full,
        link="https://sayso.example/a/x",
        reference=full,
    )
    thread = Thread("c1", full, full)
    for message in (
        render.card(card, card.link),
        render.root(card, thread, card.link),
        render.turn(card, thread, card.link),
        render.turn(card, replace(thread, prompt="", closed=full), card.link),
        render.minimal(card, card.link),
    ):
        check(message)


def test_an_open_card_has_one_button_for_each_action() -> None:
    message = render.card(CARD, CARD.link)
    check(message)
    row = message.blocks[-1]
    assert [one["action_id"] for one in row["elements"]] == [
        "sayso.accept",
        "sayso.reject",
        "sayso.link",
    ]
    accept, reject, link = row["elements"]
    assert json.loads(accept["value"]) == {"i": CARD.interrupt_id, "v": 2, "n": "nothing"}
    assert json.loads(reject["value"])["n"] == "reason"
    assert (accept["style"], reject["style"]) == ("primary", "danger")
    assert accept["confirm"]["text"]["text"] == "It can't be undone."
    assert "confirm" not in reject
    assert link["url"] == CARD.link
    assert "1 of 2 approvals" in json.dumps(message.blocks)
    for part in ("Deploy?", "Body", "1 of 2 approvals", "Asked by: ada", "2026-01-01 12:00 UTC"):
        assert part in message.text


@pytest.mark.parametrize("state", ["resolved", "cancelled", "expired"])
def test_a_closed_card_says_how_and_who_and_has_no_action(state: Any) -> None:
    card = replace(CARD, state=state, outcome="It is over", decided_by="Ada", reason="because")
    message = render.card(card, "")
    check(message)
    assert all(block["type"] != "actions" for block in message.blocks)
    shown = "\n".join(texts(message.blocks, "plain_text"))
    for part in ("It is over", "Decided by Ada", "Reason: because"):
        assert part in shown
    assert "1 of 2" not in shown
    assert "It is over" in message.text
    assert render.card(replace(card, outcome="Approved by Ada")).blocks != message.blocks


def test_untrusted_text_is_shown_and_does_nothing() -> None:
    card = replace(
        CARD, title=NASTY, body=NASTY, evidence=f"```\n{NASTY}", facts=(Fact(NASTY, NASTY),)
    )
    message = render.card(card)
    check(message)
    shown = "\n".join(texts(message.blocks, "plain_text"))
    assert "<https://evil.example|safe>" in shown
    assert "\u202e" not in json.dumps(message.blocks, ensure_ascii=False)


def test_a_form_that_slack_cannot_hold_becomes_a_link() -> None:
    form = Form("F", (), web_only="It asks for a file.")
    answer = Action("answer", "Answer", needs="answers")
    message = render.card(replace(CARD, actions=(answer,), form=form), CARD.link)
    check(message)
    (button,) = message.blocks[-1]["elements"]
    assert (button["text"]["text"], button["style"]) == ("Open the form", "primary")
    assert "It asks for a file." in json.dumps(message.blocks)


def test_cut_is_exact() -> None:
    assert blocks.cut("a" * 10, 10) == "a" * 10
    assert blocks.cut("a" * 11, 10) == "a" * 9 + "…"
    assert blocks.cut("<" * 3, 11) == "<<…"
    assert blocks.cut("😀" * 3, 5) == "😀😀…"


@given(text=anything, limit=st.integers(5, 300))
def test_cut_keeps_within_the_limit(text: str, limit: int) -> None:
    shown = blocks.cut(text, limit)
    assert blocks.cost(shown) <= limit
    assert blocks.cost(text) == stored_length(text, mrkdwn=False)


@pytest.mark.parametrize("address", ["#ops", "#ops-eu_1", "C0123ABCD", "G0123ABCD", "@U0123ABCD"])
def test_addresses_that_are_right(address: str) -> None:
    assert canonical_address(f" {address} ") == address


@pytest.mark.parametrize(
    "address", ["", "ops", "#Ops", "# ops", "@ada", "U0123ABCD", "#a\nb", "C0123ABCD\n#x", "c0123"]
)
def test_addresses_that_are_wrong_say_what_is_right(address: str) -> None:
    with pytest.raises(ValueError, match="'#ops'"):
        canonical_address(address)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"bot_token": "xoxp-1", "signing_secrets": ("s",)}, "SLACK_BOT_TOKEN"),
        ({"signing_secrets": ("",)}, "SLACK_SIGNING_SECRET"),
        ({}, "SLACK_SIGNING_SECRET"),
        ({"app_token": "xoxb-1"}, "SLACK_APP_TOKEN"),
        ({"signing_secrets": ("s",), "api_url": "http://slack.example/api/"}, "https"),
    ],
)
def test_settings_that_can_never_work(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        SlackSettings(**{"bot_token": "xoxb-1", **values})


def test_settings_show_no_secret() -> None:
    shown = repr(SlackSettings("xoxb-hush", ("hush",), "xapp-hush"))
    assert "hush" not in shown
