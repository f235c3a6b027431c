"""The pure parts of where people look by themselves: what was typed, lists, short questions, edits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from adapters.forms import form_from_schema
from adapters.inbox import Listing
from adapters.languages.catalogue import ENGLISH, locales, words_of
from adapters.slack import changes, choices, commands, entries, listing, manifest, modal, review
from adapters.slack.commands import Command
from adapters.slack.edits import changed_reply
from adapters.slack.modal import Binding
from adapters.views import Action, Card, Choice, Fact, Field, Form
from host.decisions.inbox import by_urgency, took_part, waits_for
from host.decisions.state import Interrupt, Policy, Principal, Vote

CARD = Card(
    "t/01K4W7Q8X9T3B6", "approval", "open", 2, "Refund",
    actions=(Action("accept", "Approve"), Action("refine", "Ask for changes"), Action("ask", "Ask")),
    facts=(Fact("Asked by", "robot"),), reference="X9T3B6",
)  # fmt: skip
ADA = Principal("ada", "t", names=frozenset({"ada"}))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Command("inbox")),
        ("  INBOX ", Command("inbox", text="INBOX")),
        ("list", Command("inbox", text="list")),
        ("show abcd1234", Command("show", "abcd1234")),
        ("Show `abcd1234`.", Command("show", "abcd1234")),
        ("ask abcd1234 why not?", Command("ask", "abcd1234", "why not?")),
        ("ask abcd1234", Command("help")),
        ("show", Command("help")),
        ("?", Command("help", text="?")),
        ("approve abcd1234", Command("unknown", text="approve abcd1234")),
    ],
)
def test_what_was_typed(text: str, wanted: Command) -> None:
    assert commands.read(text) == wanted


def test_the_names_are_those_of_the_manifest() -> None:
    assert (entries.COMMAND, entries.INBOX_SHORTCUT) == (manifest.COMMAND, manifest.INBOX_SHORTCUT)
    assert entries.ASK_SHORTCUT == manifest.ASK_SHORTCUT
    assert "app_home_opened" in manifest.BOT_EVENTS


@pytest.mark.parametrize("locale", locales())
def test_every_language_fits_into_the_buttons(locale: str) -> None:
    words = words_of(locale)
    for key in ("inbox.title", "inbox.send", "inbox.ask", "edit.confirm", "slack.close"):
        assert len(words(key)) <= 24, key
    for key in ("inbox.review", "inbox.next", "inbox.before"):
        assert len(words(key)) <= 30, key


def test_pages_of_a_list() -> None:
    many = Listing((CARD,) * 40, more=True)
    pages = [listing.home(many, (), ENGLISH, page) for page in (-1, 0, 1, 2, 9)]
    texts = [json.dumps(page) for page in pages]
    for text, place in zip(texts, (1, 1, 2, 3, 3), strict=True):
        assert "Waiting for you (40+)" in text
        assert f"Page {place} of 3" in text
    assert '"value": "0"' in texts[2]
    assert '"value": "2"' in texts[2]


def request(number: int, **more: Any) -> Interrupt:
    payload = {"kind": "approval", "data": {"actions": ["accept"], "approversList": ["ada"]}}
    base = Interrupt(f"t/{number}", "t/r", "n", f"k{number}", "approval", payload, number)
    return replace(base, **more)


@pytest.mark.parametrize(
    ("more", "waits"),
    [
        ({}, True),
        ({"status": "resolved"}, False),
        ({"deadline": 50}, False),
        ({"deadline": 150}, True),
        ({"votes": (Vote("ada", "Ada", "accept", 1),)}, False),
        ({"votes": (Vote("bob", "Bob", "accept", 1),)}, True),
        ({"kind": "external-event"}, False),
        ({"requested_by": "ada", "self_approval": False}, False),
    ],
)
def test_what_waits_for_somebody(more: dict[str, Any], waits: bool) -> None:
    assert waits_for(request(1, **more), ADA, Policy(), 100) is waits
    assert not waits_for(request(1, **more), Principal("eve", "t"), Policy(), 100)


def test_the_most_urgent_comes_first() -> None:
    asked = [request(1), request(2, deadline=90), request(3, deadline=80), request(0)]
    assert [i.requested_at for i in by_urgency(asked)] == [3, 2, 0, 1]
    assert took_part(request(1, votes=(Vote("ada", "Ada", "accept", 1),)), ADA)
    assert not took_part(request(1), ADA)


def question(field: Field, **more: Any) -> Card:
    actions = (Action("answer", "Answer", needs="answers"),)
    return replace(CARD, kind="clarification", actions=actions, form=Form("F", (field,)), **more)


def choice(*labels: str, **more: Any) -> Field:
    found = tuple(Choice(label, label) for label in labels)
    return Field("f0", ("answers", "q"), "Q", "choice", True, choices=found, **more)


@pytest.mark.parametrize(
    ("card", "short"),
    [
        (question(choice("a", "b")), True),
        (question(choice("a", "b", "c", "d", "e")), True),
        (question(choice("a", "b", "c", "d", "e", "f")), False),
        (question(choice("a")), False),
        (question(choice("a", "x" * 31)), False),
        (question(choice("a", "a ")), False),
        (question(choice("a", " ")), False),
        (question(Field("f0", (), "Q", "boolean")), True),
        (question(Field("f0", (), "Q", "choices", choices=choice("a", "b").choices)), False),
        (question(choice("a", "b"), state="resolved"), False),
        (replace(question(choice("a", "b")), actions=()), False),
        (replace(question(choice("a", "b")), form=Form("F", (choice("a", "b"),), web_only="No.")), False),
    ],
)  # fmt: skip
def test_which_questions_are_short(card: Card, short: bool) -> None:
    assert (choices.quick(card) is not None) is short


def test_a_press_is_read_back_and_nothing_else_is() -> None:
    card = question(choice("eu", "us"))
    field = choices.quick(card)
    assert field is not None
    _, button = choices.buttons(card, field, ENGLISH)
    action = {**button, "action_ts": "1.2"}
    found = choices.pressed({"actions": [action]}, "T1/U1")
    assert found is not None
    assert (found.interrupt_id, found.version, found.raw) == (card.interrupt_id, 2, "1")
    assert choices.matches(card.form, found)
    assert not choices.matches(Form("F", (choice("eu", "us", "ap"),)), found)
    forged: list[dict[str, Any]] = [{}, {"actions": []}, {"actions": "x"}]
    for wrong in [*forged, {"actions": [{**action, "value": "[1]"}]}]:
        assert choices.pressed(wrong, "T1/U1") is None


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("a", "1", "true")]),
        ({"a": {"b": "x"}}, {"a": {"b": "y"}}, [("a › b", "x", "y")]),
        ({"a": 1}, {"b": 2}, [("a", "1", ""), ("b", "", "2")]),
        ([1, 2], [2], [("", "[1, 2]", "[2]")]),
        ({"a": None}, {"a": ""}, [("a", "null", "")]),
    ],
)
def test_what_was_changed(before: Any, after: Any, found: list[tuple[str, str, str]]) -> None:
    assert changes.differences(before, after) == found


def test_an_edit_counts_only_as_it_was_shown() -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    base = ("editedArtifactData",)
    form = form_from_schema(schema, title="Edit", base=base, value={"amount": 1})
    card, binding = replace(CARD, edit_form=form), Binding("t/1", "edit-accept", 2)
    edited = {"editedArtifactData": {"amount": 2}}
    view = changes.step(form, card, edited, binding)
    assert view is not None
    shown = modal.Binding.load(view["private_metadata"])
    assert shown is not None
    assert changes.step(form, card, edited, shown) is None
    again = changes.step(form, card, {"editedArtifactData": {"amount": 3}}, shown)
    assert again is not None
    assert "Nothing is changed" in json.dumps(
        changes.step(form, card, {"editedArtifactData": {"amount": 1}}, binding)
    )


@pytest.mark.parametrize(
    ("values", "action", "value"),
    [
        ({"f0": "0"}, "accept", {}),
        ({"f0": "0", "f1": " fine "}, "accept", {"feedback": "fine"}),
        ({"f0": "1", "f1": "less"}, "refine", {"refineFeedback": {"scope": "whole", "text": "less"}}),
        ({"f0": "2", "f1": "why?"}, "ask", {"question": "why?"}),
        ({"f0": "1"}, "", None),
        ({"f0": "2", "f1": "  "}, "", None),
        ({"f0": "9"}, "", None),
        ({"f0": "-1"}, "", None),
        ({}, "", None),
    ],
)  # fmt: skip
def test_what_a_review_means(values: dict[str, str], action: str, value: Any) -> None:
    found = review.read(review.form_of(CARD, ENGLISH), values, ENGLISH)
    assert (found.action, found.value) == (action, value)
    assert bool(found.problems) is (action == "")


@pytest.mark.parametrize("metadata", ["", "{}", "[1]", "nonsense", "[" * 9999, '["a","b"]'])
def test_an_ask_form_that_is_not_ours_asks_nothing(metadata: str) -> None:
    blocks = [{"type": "input", "block_id": "b1"}, {"type": "input", "block_id": "b2"}]
    state = {
        "b1": {"value": {"selected_option": {"value": "7"}}},
        "b2": {"value": {"value": "why?"}},
    }
    assert review.read_ask(metadata, blocks, state) is None


MESSAGE = {"type": "message", "user": "U1", "text": "a", "ts": "2.0", "thread_ts": "1.0"}


@pytest.mark.parametrize(
    ("change", "deleted"),
    [
        ({"message": {**MESSAGE, "text": "b", "edited": {"ts": "3"}}}, False),
        ({"message": {**MESSAGE, "edited": {"ts": "3"}}}, None),  # a preview came
        ({"message": {**MESSAGE, "text": "b"}}, None),
        ({"message": {**MESSAGE, "text": "b", "edited": {}, "bot_id": "B1"}}, None),
        ({"message": {**MESSAGE, "text": "b", "edited": {"ts": "3"}, "thread_ts": "2.0"}}, None),
        ({"subtype": "message_deleted"}, True),
        ({"subtype": "channel_join"}, None),
        ({"channel": 7}, None),
        ({"previous_message": "x", "subtype": "message_deleted"}, None),
    ],
)
def test_which_changes_of_a_reply_are_told_of(change: dict[str, Any], deleted: bool | None) -> None:
    event = {
        "type": "message", "subtype": "message_changed", "channel": "C1", "event_ts": "9",
        "previous_message": MESSAGE, "message": MESSAGE,
    } | change  # fmt: skip
    found = changed_reply({"event": event})
    assert (found.deleted if found else None) is deleted
    if found:
        assert found.reply == "slack:reply:C1:2.0"
