"""Cards and forms as Slack's blocks: within every limit, and with no text that could act."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.forms import form_from_schema, read_values
from adapters.slack import blocks, modal, render
from adapters.slack.outbound import canonical_address
from adapters.slack.settings import SlackSettings
from adapters.views import Action, Card, Choice, Fact, Field, Form, Thread
from tests.fakes.slack_blocks import (
    MESSAGE_TEXT,
    VIEW_BYTES,
    check_message,
    check_view,
    message_text_length,
    view_bytes,
)
from tests.fakes.slack_elements import stored_length
from tests.fakes.slack_state import state_of

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


# -- forms ----------------------------------------------------------------------------------------

BINDING = modal.Binding("int_1", "answer", 2, "C1", "1.1")
REGIONS = tuple(Choice(f"r{n}", f"Region {n}") for n in range(7))
FIELDS = (
    Field("f0", ("name",), "Name", "text", required=True, max_length=20, placeholder="who"),
    Field("f1", ("why",), "Why", "longtext", default="so", has_default=True),
    Field("f2", ("one",), "One", "choice", choices=REGIONS[:2], default="r1", has_default=True),
    Field("f3", ("big",), "Big", "choice", choices=REGIONS),
    Field("f4", ("any",), "Any", "choices", choices=REGIONS[:3], default=["r2"], has_default=True),
    Field("f5", ("few",), "Few", "choices", choices=REGIONS, max_items=2),
    Field("f6", ("yes",), "Yes?", "boolean", default=False, has_default=True),
    Field("f7", ("count",), "Count", "integer", minimum=0, maximum=9, default=3, has_default=True),
    Field("f8", ("rate",), "Rate", "number", minimum=1e-7, default=0.5, has_default=True),
    Field("f9", ("day",), "Day", "date", default="2026-02-28", has_default=True, group="When"),
    Field("f10", ("at",), "At", "time", default="09:30", has_default=True, group="When"),
    Field("f11", ("moment",), "Moment", "datetime", default="soon", has_default=True),
    Field("f12", ("mail",), "Mail", "email"),
    Field("f13", ("page",), "Page", "url"),
    Field("f14", ("tags",), "Tags", "list", default=["a", "b"], has_default=True),
    Field("f15", ("raw",), "Raw", "json", default={"a": 1}, has_default=True),
    Field("f16", ("fixed",), "Fixed", "constant", default=7, has_default=True),
)
FORM = Form("A form with a rather long title", FIELDS, "Please answer.")


def test_each_kind_of_field_is_asked_with_what_is_there_already() -> None:
    assert modal.unfit(FORM) == ""
    view = modal.form_view(FORM, BINDING)
    assert check_view(view) == []
    assert modal.Binding.load(view["private_metadata"]) == BINDING
    state = state_of(view, {"Name": "ada", "Few": ["Region 6", "Region 1"]})
    raw = modal.values(FORM, state)
    assert raw == {
        "f0": "ada",
        "f1": "so",
        "f2": "1",
        "f4": ["2"],
        "f5": ["1", "6"],
        "f6": "false",
        "f7": "3",
        "f8": "0.5",
        "f9": "2026-02-28",
        "f10": "09:30",
        "f14": "a\nb",
        "f15": '{\n  "a": 1\n}',
    }
    assert "Name: ada" in modal.typed(view["blocks"], state)
    assert "Few: Region 6, Region 1" in modal.typed(view["blocks"], state)


def test_a_moment_comes_back_with_its_zone() -> None:
    view = modal.form_view(FORM, BINDING)
    raw = modal.values(FORM, state_of(view, {"Name": "a", "Moment": 1767268800}))
    assert raw["f11"] == "2026-01-01T12:00:00+00:00"


def test_labels_that_are_cut_alike_are_told_apart() -> None:
    choices = tuple(Choice(n, "x" * 80 + str(n)) for n in range(3))
    view = modal.form_view(Form("F", (Field("f0", (), "L", "choice", choices=choices),)), BINDING)
    assert check_view(view) == []
    shown = [one["text"]["text"] for one in view["blocks"][0]["element"]["options"]]
    assert len(set(shown)) == 3


def test_errors_stand_at_inputs_only() -> None:
    form = replace(FORM, fields=(FIELDS[0], FIELDS[16]))
    first = modal.block_of(form, "f0")
    assert modal.errors(form, {"f0": "Too short."}) == {first: "Too short."}
    assert modal.errors(form, {"f16": "Not 7.", "f99": "Gone."}) == {first: "Not 7. Gone."}
    assert modal.errors(replace(form, fields=(FIELDS[16],)), {"f16": "Not 7."}) == {}


def test_another_form_has_other_ids() -> None:
    other = replace(FORM, fields=(replace(FIELDS[0], path=("other",)), *FIELDS[1:]))
    view = modal.form_view(FORM, BINDING)
    assert modal.shows(FORM, view["blocks"])
    assert not modal.shows(other, view["blocks"])
    assert not modal.shows(FORM, [])
    assert modal.values(other, state_of(view, {"Name": "ada"})) == {}


@pytest.mark.parametrize(
    "field",
    [
        Field("f0", (), "L", "choice", choices=tuple(Choice(n, str(n)) for n in range(101))),
        Field("f0", (), "L", "choice"),
        Field("f0", (), "L", "longtext", min_length=3001),
        Field("f0", (), "L", "longtext", default="x" * 3001, has_default=True),
    ],
)
def test_what_a_modal_cannot_hold_is_said(field: Field) -> None:
    assert modal.unfit(Form("F", (field,)))


def test_too_many_fields_or_too_much_text_is_said() -> None:
    many = tuple(Field(f"f{n}", (str(n),), "L", "text") for n in range(96))
    assert "more fields" in modal.unfit(Form("F", many))
    assert modal.unfit(Form("F", many[:95])) == ""
    choices = tuple(Choice(n, f"{n}" + "é" * 72, "é" * 75) for n in range(100))
    heavy = tuple(Field(f"f{n}", (str(n),), "L", "choice", choices=choices) for n in range(12))
    assert "larger" in modal.unfit(Form("F", heavy))


schemas = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "maxLength": 5000, "default": "<&>" * 20},
            {"type": "integer", "minimum": 1, "default": 0},
            {"type": "number", "default": 1e30},
            {"type": "boolean", "default": True},
            {"enum": ["a", 1, None, True]},
            {"type": "array", "items": {"enum": ["x", "y"]}, "default": ["y"]},
            {"type": "array", "items": {"type": "string"}, "default": ["x"]},
            {"type": "string", "format": "date", "default": "2026-13-01"},
            {"type": "string", "format": "date-time", "default": "1999-01-01T00:00:00Z"},
            {"type": "string", "format": "email"},
            {"const": {"a": 1}},
        ]
    ),
    lambda inner: st.dictionaries(anything.map(lambda t: t[:30]), inner, max_size=5).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:2],
        }
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(schema=schemas, title=anything, intro=long_text)
def test_every_form_is_one_that_slack_takes_or_is_said_not_to(
    schema: dict[str, Any], title: str, intro: str
) -> None:
    form = form_from_schema(schema, title=title, intro=intro)
    if modal.unfit(form):
        return
    view = modal.form_view(form, BINDING)
    assert check_view(view) == []
    assert view_bytes(view) <= VIEW_BYTES
    assert modal.shows(form, view["blocks"])
    _, problems = read_values(form, modal.values(form, {}))
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    assert modal.errors(form, problems).keys() <= inputs


@given(kept=long_text, sentence=long_text, title=anything)
def test_every_notice_is_one_that_slack_takes(kept: str, sentence: str, title: str) -> None:
    view = modal.notice_view(title, sentence, BINDING, link="https://x.example", kept=kept)
    assert check_view(view) == []
    assert check_view(modal.loading_view(BINDING)) == []
