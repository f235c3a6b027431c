"""A question with one short choice, answered by buttons in its message. Pure.

Which questions are short enough, the buttons, and what a press of one means. A button carries the index of
its option and a digest of the form: one that was drawn from another revision of it is not taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.languages.catalogue import Words, words_of
from adapters.slack import blocks as b
from adapters.slack.modal import digest
from adapters.views import Card, Field, Form

PREFIX: Final = "sayso.choose."
MOST: Final = 5
_LABEL: Final = 30  # what Slack shows of a button without cutting it
_TEXT: Final = frozenset({"text", "longtext", "email", "url", "integer", "number", "date"})


@dataclass(frozen=True, slots=True)
class Pressed:
    """One option of one request was pressed. `raw` is its raw value, `digest` that of its form."""

    interrupt_id: str
    version: int
    raw: str
    digest: str
    dedupe: str


def quick(card: Card) -> Field | None:
    """The one field of an open card that buttons can answer, or None."""
    field = _only_field(card)
    if field is None or field.kind not in ("choice", "boolean"):
        return None
    labels = [label for _, label in _options(field, words_of(card.reader.locale))]
    short = all(0 < b.cost(b.clean(label).strip()) <= _LABEL for label in labels)
    distinct = len({b.clean(label).strip() for label in labels}) == len(labels)
    return field if 2 <= len(labels) <= MOST and short and distinct else None


def spoken(card: Card) -> Field | None:
    """The one field of an open card that a reply in its thread answers, or None."""
    field = _only_field(card)
    return field if field is not None and field.kind in _TEXT else None


def buttons(card: Card, field: Field, words: Words) -> list[b.Block]:
    """A button for each option, in their order."""
    assert card.form is not None
    form = digest(card.form)
    found = []
    for number, (raw, label) in enumerate(_options(field, words)):
        value = {"i": card.interrupt_id, "v": card.version, "c": raw, "d": form}
        button = b.button(
            label, f"{PREFIX}{number}", value=json.dumps(value, separators=(",", ":"))
        )
        button["accessibility_label"] = b.cut(b.clean(f"{label}: {card.title}"), b.BUTTON_TEXT)
        found.append(button)
    return found


def pressed(payload: Mapping[str, Any], person_id: str) -> Pressed | None:
    """What a press of such a button means; None for anything else."""
    actions = payload.get("actions")
    action = actions[0] if isinstance(actions, list) and actions else None
    if not isinstance(action, dict) or not is_choice(action.get("action_id")):
        return None
    try:
        value = json.loads(str(action.get("value")))
        interrupt_id, version, raw, form = value["i"], value["v"], value["c"], value["d"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not all(isinstance(text, str) for text in (interrupt_id, raw, form)):
        return None
    if type(version) is not int:
        return None
    dedupe = f"slack:click:{interrupt_id}:{person_id}:{action.get('action_ts', '')}"
    return Pressed(interrupt_id, version, raw, form, dedupe)


def is_choice(action_id: Any) -> bool:
    """Whether a button is one of these."""
    return isinstance(action_id, str) and action_id.startswith(PREFIX)


def matches(form: Form | None, found: Pressed) -> bool:
    """Whether the form is still the one that the button was drawn from."""
    return form is not None and digest(form) == found.digest


def _only_field(card: Card) -> Field | None:
    if card.state != "open" or card.form is None or card.form.web_only:
        return None
    if not any(action.needs == "answers" for action in card.actions):
        return None
    return card.form.fields[0] if len(card.form.fields) == 1 else None


def _options(field: Field, words: Words) -> list[tuple[str, str]]:
    if field.kind == "boolean":
        return [("true", words("form.yes")), ("false", words("form.no"))]
    return [(str(index), choice.label) for index, choice in enumerate(field.choices)]
