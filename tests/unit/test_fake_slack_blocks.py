"""The strict checker itself: what Slack takes passes, and each limit is refused one step beyond."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.slack_blocks import (
    MESSAGE_TEXT,
    check_message,
    check_view,
    message_text_length,
    view_bytes,
)
from tests.fakes.slack_elements import stored_length

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}


def option(value: str = "0", text: str = "one") -> Json:
    return {"text": plain(text), "value": value}


def button(**more: Any) -> Json:
    return {"type": "button", "action_id": "a", "text": plain("Go"), **more}


def question(element: Json, **more: Any) -> Json:
    return {"type": "input", "block_id": "f0", "label": plain("L"), "element": element, **more}


def modal(*blocks: Json, **more: Any) -> Json:
    found = {"type": "modal", "title": plain("T"), "submit": plain("Send"), "blocks": list(blocks)}
    return {**found, **more}


CONFIRM = {
    "title": plain("Sure?"),
    "text": plain("Really"),
    "confirm": plain("Yes"),
    "deny": plain("No"),
    "style": "danger",
}

GOOD: list[Json] = [
    {"type": "header", "text": plain("x" * 150)},
    {"type": "section", "block_id": "b" * 255, "text": plain("x" * 3000)},
    {"type": "section", "fields": [plain("x" * 700)] * 10},
    {
        "type": "section",
        "text": {"type": "mrkdwn", "text": "*a* <!date^1^{time}|x>", "verbatim": True},
    },
    {"type": "context", "elements": [plain("x")] * 10},
    {"type": "divider"},
    {
        "type": "actions",
        "elements": [
            button(value="v" * 2000, style="primary", confirm=CONFIRM),
            button(action_id="b", url="https://x.example/" + "y" * 2900),
        ],
    },
]

ELEMENTS: list[Json] = [
    {"type": "plain_text_input", "multiline": True, "min_length": 0, "max_length": 3000},
    {"type": "plain_text_input", "initial_value": "x" * 3000, "placeholder": plain("p" * 150)},
    {"type": "email_text_input", "initial_value": "a@b.example"},
    {"type": "url_text_input"},
    {"type": "number_input", "is_decimal_allowed": True, "min_value": "-1.5", "max_value": "2"},
    {"type": "static_select", "options": [option(str(n)) for n in range(100)]},
    {"type": "multi_static_select", "options": [option()], "max_selected_items": 1},
    {"type": "radio_buttons", "options": [option()], "initial_option": option()},
    {"type": "checkboxes", "options": [option(str(n)) for n in range(10)]},
    {"type": "datepicker", "initial_date": "2026-02-28"},
    {"type": "timepicker", "initial_time": "23:59"},
    {"type": "datetimepicker", "initial_date_time": 1767225600},
]


def test_what_slack_takes_passes() -> None:
    assert check_message(GOOD) == []
    assert check_message([{"type": "divider"}] * 50) == []
    for element in ELEMENTS:
        assert check_view(modal(question({"action_id": "v", **element}))) == [], element
    assert check_view(modal(*[{"type": "divider"}] * 100, private_metadata="m" * 3000)) == []


def change(index: int, **members: Any) -> Callable[[list[Json]], None]:
    return lambda blocks: blocks[index].update(members)


@pytest.mark.parametrize(
    "spoil",
    [
        change(0, text=plain("x" * 151)),
        change(0, text=plain("<" * 38)),  # 152 as stored
        change(0, text={"type": "mrkdwn", "text": "x"}),
        change(0, text=plain("")),
        change(0, text=plain("   ")),
        change(0, text={**plain("x"), "verbatim": True}),
        change(0, text={"type": "plain_text"}),
        change(0, text="x"),
        change(0, extra=1),
        change(0, block_id="b" * 256),
        change(0, block_id="b" * 255),  # that of the section
        change(1, text=plain("x" * 3001)),
        change(1, text=plain("x" * 2997 + "&")),
        change(1, text=plain("😀" * 1501)),
        change(1, text=plain("\ud800")),
        lambda blocks: blocks[1].pop("text"),
        change(2, fields=[plain("x")] * 11),
        change(2, fields=[plain("x" * 2001)]),
        change(2, fields=[]),
        change(4, elements=[plain("x")] * 11),
        change(4, elements=[]),
        change(5, text=plain("x")),
        change(6, elements=[]),
        change(6, elements=[button(action_id=str(n)) for n in range(26)]),
        change(6, elements=[button(), button()]),
        change(6, elements=[button(text=plain("x" * 76))]),
        change(6, elements=[button(value="v" * 2001)]),
        change(6, elements=[button(url="ftp://x")]),
        change(6, elements=[button(url="https://x/" + "y" * 3000)]),
        change(6, elements=[button(style="plain")]),
        change(6, elements=[button(disabled=True)]),
        change(6, elements=[button(accessibility_label="x" * 76)]),
        change(6, elements=[button(action_id="a" * 256)]),
        change(6, elements=[button(confirm={**CONFIRM, "type": "confirm"})]),
        change(6, elements=[button(confirm={**CONFIRM, "title": plain("x" * 101)})]),
        change(6, elements=[button(confirm={**CONFIRM, "text": plain("x" * 301)})]),
        change(6, elements=[button(confirm={**CONFIRM, "deny": plain("x" * 31)})]),
        change(6, elements=[{"type": "multi_static_select", "options": [option()]}]),
        change(6, elements=[{"type": "plain_text_input"}]),
        change(6, elements=[{"type": "teleport"}]),
        change(6, type="teleport"),
        lambda blocks: blocks.extend([{"type": "divider"}] * 44),
        lambda blocks: blocks.clear(),
    ],
)
def test_a_message_beyond_a_limit_is_refused(spoil: Callable[[list[Json]], None]) -> None:
    blocks = copy.deepcopy(GOOD)
    spoil(blocks)
    problems = check_message(blocks)
    assert problems
    assert all("[json-pointer:/blocks" in problem for problem in problems)


@pytest.mark.parametrize(
    "element",
    [
        {"type": "plain_text_input", "max_length": 3001},
        {"type": "plain_text_input", "max_length": 0},
        {"type": "plain_text_input", "min_length": 5, "max_length": 4},
        {"type": "plain_text_input", "initial_value": "abc", "max_length": 2},
        {"type": "plain_text_input", "initial_value": ""},
        {"type": "plain_text_input", "placeholder": plain("p" * 151)},
        {"type": "number_input"},
        {"type": "number_input", "is_decimal_allowed": False, "min_value": 1},
        {"type": "number_input", "is_decimal_allowed": False, "min_value": "1.5"},
        {"type": "number_input", "is_decimal_allowed": True, "min_value": "1e5"},
        {"type": "static_select", "options": []},
        {"type": "static_select", "options": [option(str(n)) for n in range(101)]},
        {"type": "static_select", "options": [option(), option()]},
        {"type": "static_select", "options": [option(text="x" * 76)]},
        {"type": "static_select", "options": [option("v" * 151)]},
        {"type": "static_select", "options": [{**option(), "description": plain("x" * 76)}]},
        {"type": "static_select", "options": [{**option(), "type": "option"}]},
        {"type": "radio_buttons", "options": [option(str(n)) for n in range(11)]},
        {"type": "radio_buttons", "options": [option()], "placeholder": plain("x")},
        {"type": "radio_buttons", "options": [option()], "initial_option": option(text="two")},
        {"type": "checkboxes", "options": [option(str(n)) for n in range(11)]},
        {"type": "checkboxes", "options": [option()], "max_selected_items": 1},
        {"type": "checkboxes", "options": [option()], "initial_options": []},
        {"type": "datepicker", "initial_date": "2026-02-30"},
        {"type": "datepicker", "initial_date": "2026-2-3"},
        {"type": "timepicker", "initial_time": "24:00"},
        {"type": "timepicker", "initial_time": "1:00"},
        {"type": "datetimepicker", "initial_date_time": 1},
        {"type": "datetimepicker", "placeholder": plain("x")},
        {"type": "button", "text": plain("x")},
    ],
)
def test_an_input_beyond_a_limit_is_refused(element: Json) -> None:
    assert check_view(modal(question({"action_id": "v", **element})))


@pytest.mark.parametrize(
    "view",
    [
        modal(title=plain("x" * 25)),
        modal({"type": "divider"}, title=plain("x" * 25)),
        modal({"type": "divider"}, submit=plain("x" * 25)),
        modal({"type": "divider"}, private_metadata="m" * 3001),
        modal({"type": "divider"}, callback_id="c" * 256),
        modal({"type": "divider"}, hash="x"),
        modal({"type": "divider"}, type="home"),
        modal(*[{"type": "divider"}] * 101),
        modal({"type": "markdown", "text": "x"}),
        {"type": "modal", "blocks": [{"type": "divider"}]},
        {k: v for k, v in modal(question(ELEMENTS[0])).items() if k != "submit"},
        modal(question(ELEMENTS[0], optional="yes")),
        modal(question(ELEMENTS[0], label=plain("x" * 2001))),
        modal(question(ELEMENTS[0], hint=plain("x" * 2001))),
        modal(question(ELEMENTS[0]), question(ELEMENTS[0])),
        [],
    ],
)
def test_a_view_beyond_a_limit_is_refused(view: Any) -> None:
    assert check_view(view)


def test_lengths_are_those_of_the_stored_text() -> None:
    assert stored_length("<&>", mrkdwn=False) == 13
    assert stored_length("&lt;", mrkdwn=True) == 4
    assert stored_length("&", mrkdwn=True) == 5
    assert stored_length("<@U1> a>b", mrkdwn=True) == 12
    assert stored_length("😀", mrkdwn=False) == 2
    section = {"type": "section", "text": plain("x" * 3000)}
    assert message_text_length([section] * 5) == 15_000 > MESSAGE_TEXT
    assert view_bytes(modal({"type": "divider"})) < 250
