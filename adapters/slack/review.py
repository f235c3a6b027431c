"""One request opened from a list: its details, and all that may be done with it as one form. Pure.

Buttons inside a modal can't close it, so the decision is a choice and the modal's own button sends it.
Editing the arguments goes on in the form that the card's own button opens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.languages.catalogue import Words
from adapters.slack import blocks as b
from adapters.slack import inputs, modal
from adapters.slack.entries import ASK_FORM, REVIEW_FORM
from adapters.slack.listing import about, with_link
from adapters.slack.modal import Binding
from adapters.views import Card, Choice, Field, Form

ACTION: Final = "review"
_WORDS: Final = 3000


@dataclass(frozen=True, slots=True)
class Decided:
    """What a sent review means: an action with its value, or the sentences beside the fields."""

    action: str = ""
    value: Any = None
    problems: Mapping[str, str] | None = None


def form_of(card: Card, words: Words) -> Form:
    """The decision and the words that go with it."""
    choices = tuple(Choice(action.id, action.label) for action in card.actions)
    return Form(
        words("inbox.review"),
        (
            Field("f0", ("action",), words("inbox.decision"), "choice", True, choices=choices),
            Field(
                "f1", ("words",), words("inbox.words"), "longtext",
                hint=words("inbox.words_hint"), max_length=_WORDS,
            ),
        ),
        submit=words("inbox.send"),
    )  # fmt: skip


def view(card: Card, binding: Binding, words: Words) -> b.Block:
    """The modal of an approval that was opened from a list."""
    form = form_of(card, words)
    drawn = modal.form_view(form, binding, words)
    top = with_link(about(card, words), words("slack.open_on_web"), card.link)
    return {**drawn, "callback_id": REVIEW_FORM, "blocks": [*top, *drawn["blocks"]]}


def read(form: Form, values: Mapping[str, Any], words: Words) -> Decided:
    """The action and its value, from `modal.values`."""
    chosen, said = values.get("f0", ""), values.get("f1", "")
    said = said.strip() if isinstance(said, str) else ""
    choices = form.fields[0].choices
    known = chosen.isascii() and chosen.isdigit() and int(chosen) < len(choices)
    if not known:
        return Decided(problems={"f0": words("inbox.choose")})
    action = choices[int(chosen)].value
    if action in ("refine", "ask") and not said:
        return Decided(problems={"f1": words("inbox.words_needed")})
    value: dict[str, Any] = {}
    if action == "refine":
        value = {"refineFeedback": {"scope": "whole", "text": said}}
    elif action == "ask":
        value = {"question": said}
    elif said:
        value = {"feedback": said}
    return Decided(action, value)


def ask_view(cards: tuple[Card, ...], text: str, words: Words) -> b.Block:
    """The modal of the message shortcut: about which request, and the question. The requests' ids are
    in its metadata, so that a list that changed meanwhile changes nothing."""
    shown, metadata = _fitting(cards)
    drawn = modal.form_view(ask_form(shown, text, words), Binding("", "ask", 0), words)
    return {**drawn, "callback_id": ASK_FORM, "private_metadata": metadata}


def ask_form(cards: tuple[Card, ...], text: str, words: Words) -> Form:
    """Which of these requests, and what to ask."""
    choices = tuple(Choice(card.interrupt_id, card.title) for card in cards)
    question = b.cut(b.clean(text).strip(), inputs.INPUT)
    return Form(
        words("action.ask"),
        (
            Field("f0", ("request",), words("inbox.request"), "choice", True, choices=choices),
            Field(
                "f1", ("question",), words("inbox.question"), "longtext", True,
                default=question, has_default=bool(question), max_length=_WORDS,
            ),
        ),
        submit=words("inbox.ask"),
    )  # fmt: skip


def read_ask(metadata: str, blocks: list[Any], state: Mapping[str, Any]) -> tuple[str, str] | None:
    """(interrupt id, question) of a sent ask form; None for one that this program did not make."""
    try:
        ids = json.loads(metadata)
    except (ValueError, RecursionError):
        return None
    found: list[Any] = []
    for block in blocks:
        element = state.get(str(block.get("block_id", "")))
        element = element.get(inputs.VALUE) if isinstance(element, dict) else None
        if block.get("type") == "input":
            found.append(inputs.raw_value(element) if isinstance(element, dict) else None)
    if len(found) != 2 or not isinstance(ids, list) or not all(isinstance(v, str) for v in found):
        return None
    index, question = found
    known = index.isascii() and index.isdigit() and int(index) < len(ids)
    if not known or not isinstance(ids[int(index)], str) or not question.strip():
        return None
    return ids[int(index)], question.strip()


def _fitting(cards: tuple[Card, ...]) -> tuple[tuple[Card, ...], str]:
    """As many cards as a select and the metadata hold."""
    shown = cards[:100]
    while len(metadata := json.dumps([c.interrupt_id for c in shown])) > 2900:
        shown = shown[:-1]
    return shown, metadata
