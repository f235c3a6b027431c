"""Every card, modal and list of Slack has a picture, and the page shows each."""

from __future__ import annotations

import html
import importlib
import inspect
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from adapters.cards import form_for
from adapters.slack import changes, listing, modal, reminding, render, review
from host.decisions.inbox import ASKS_PEOPLE
from schemas.payloads import KINDS

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> Any:
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    return importlib.import_module(name)


def test_each_is_drawn_and_shown() -> None:
    page = (DOCS / "slack-cards.md").read_text("utf-8")
    names = [name for name, _ in script("slack_pictures").pictures()]
    assert len(names) == len(set(names)) >= 20
    for name in names:
        assert (DOCS / "pictures" / f"{name}.png").is_file(), f"{name}: run make docs"
        assert f"pictures/{name}.png" in page, name


def test_the_examples_have_every_kind_and_every_ending() -> None:
    examples = script("slack_scenario")
    cards = [
        *examples.short_questions(),
        *examples.others(),
        *examples.endings(),
        examples.quorum(),
    ]
    cards += [examples.conversation()[2]]
    kinds = {card.kind for card in cards}
    assert kinds >= ASKS_PEOPLE
    assert set(KINDS) - kinds == {"conversation.start", "conversation.close"}
    assert {card.state for card in cards} == {"open", "resolved", "expired", "cancelled"}


DRAWN = (render, listing, review, modal, changes, reminding)
"""The modules that make what people see in Slack: messages, modals, the Home tab."""


def makers() -> dict[CodeType, str]:
    """Every function there that makes a whole one of these, by what it says that it returns."""
    wholes = {"Message", "b.Block", "b.Block | None"}
    found = {}
    for module in DRAWN:
        for name, made in vars(module).items():
            if not inspect.isfunction(made) or made.__module__ != module.__name__:
                continue
            returns = made.__annotations__.get("return", "")
            a_view = name.endswith("_view") and returns == "dict[str, Any]"
            if not name.startswith("_") and (returns in wholes or a_view):
                found[made.__code__] = f"{module.__name__.rpartition('.')[2]}.{name}"
    return found


def test_whatever_the_code_can_make_has_a_picture() -> None:
    """What is made while the pictures are drawn: a new kind of message or modal fails here without one."""
    wanted, called = makers(), set()
    assert {"render.minimal", "listing.home", "modal.notice_view"} <= set(wanted.values())

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    sys.setprofile(look)
    try:
        for _ in script("slack_pictures").pictures():
            continue
    finally:
        sys.setprofile(None)
    assert [name for code, name in wanted.items() if code not in called] == []


def test_every_form_that_a_button_of_an_approval_opens_has_a_picture() -> None:
    card = script("slack_scenario").approval().card()
    forms = [a.id for a in card.actions if form_for(card, a.id) is not None]
    assert {a.id for a in card.actions} == {"accept", "edit-accept", "refine", "ask", "reject"}
    drawn = {name for name, _ in script("slack_pictures").pictures()}
    assert {f"slack-modal-{one.partition('-')[0]}" for one in forms} <= drawn


def test_the_dialog_of_a_risky_request_is_drawn_with_its_words() -> None:
    [document] = [d for name, d in script("slack_pictures").pictures() if name == "slack-confirm"]
    card = script("slack_scenario").approval().card()
    [asked] = [action for action in card.actions if action.confirm]
    for words in (f"{asked.label}?", asked.confirm, "Back"):
        assert html.escape(words) in document
