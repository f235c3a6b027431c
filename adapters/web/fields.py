"""A `Field` as an HTML control: which one, what it holds, and what it says about itself. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from adapters.languages.catalogue import Words
from adapters.views import Choice, Field

MAX_RADIOS: Final = 7
"""Choices that are shown side by side; more go into a drop-down list."""

_INPUT_TYPES: Final = {
    "text": "text",
    "email": "email",
    "url": "url",
    "date": "date",
    "time": "time",
    "datetime": "datetime-local",
    # Not type=number: it drops what it can't read, and a mouse wheel changes it unnoticed.
    "integer": "text",
    "number": "text",
}
_INPUT_MODES: Final = {"integer": "numeric", "number": "decimal"}


@dataclass(frozen=True, slots=True)
class Option:
    """One radio button, check box or list entry. `value` is what the form posts."""

    value: str
    label: str
    description: str
    picked: bool


@dataclass(frozen=True, slots=True)
class Control:
    """One field, ready to draw. `id` is unique on the page; `text` is what a text control holds."""

    id: str
    name: str
    label: str
    widget: str  # input, textarea, json, radios, select, checks, constant
    type: str
    mode: str
    required: bool
    hint: str
    placeholder: str
    text: str
    options: tuple[Option, ...]
    group: str
    error: str
    query: str = ""
    box: str = "radio"

    @property
    def described_by(self) -> str:
        """The ids of the hint and the error, for `aria-describedby`."""
        parts = [f"{self.id}-hint"] if self.hint else []
        return " ".join([*parts, f"{self.id}-error"] if self.error else parts)


def control(
    field: Field,
    *,
    scope: str,
    posted: list[str],
    words: Words,
    error: str = "",
    offered: tuple[tuple[Choice, ...], str] = ((), ""),
) -> Control:
    """The control of a field. `scope` keeps ids of several forms on one page apart.

    `posted` is what the control would post as it stands: the default, or what was typed before.
    `offered` is what a picker's search found, and the search.
    """
    if field.picker:
        posted = [line for text in posted for line in text.split("\n") if line]
    return Control(
        id=f"{scope}-{field.id}",
        name=f"v.{field.id}",
        label=field.label,
        widget=_widget(field),
        type=_INPUT_TYPES.get(field.kind, "text"),
        mode=_input_mode(field),
        required=field.required,
        hint=_hint(field, words),
        placeholder=field.placeholder,
        text=_constant(field.default) if field.kind == "constant" else "".join(posted[:1]),
        options=(
            _offered(offered[0], posted)
            if field.picker
            else _options(field, frozenset(posted), words)
        ),
        group=field.group,
        error=error,
        query=offered[1],
        box="checkbox" if field.kind == "list" else "radio",
    )


def _offered(choices: tuple[Choice, ...], picked: list[str]) -> tuple[Option, ...]:
    """What was picked, and behind it what the search found."""
    labels = {str(one.value): one for one in choices}
    first = [Option(one, labels[one].label if one in labels else one, "", True) for one in picked]
    rest = [
        Option(name, one.label, one.description, False)
        for name, one in labels.items()
        if name not in picked
    ]
    return (*first, *rest)


def _input_mode(field: Field) -> str:
    """A keypad of digits, where no number below zero fits: phones' keypads have no minus."""
    if field.minimum is None or field.minimum < 0:
        return ""
    return _INPUT_MODES.get(field.kind, "")


def _widget(field: Field) -> str:
    if field.picker:
        return "picker"
    match field.kind:
        case "longtext" | "list":
            return "textarea"
        case "json":
            return "json"
        case "boolean":
            return "radios"
        case "choice":
            return "radios" if len(field.choices) <= MAX_RADIOS else "select"
        case "choices":
            return "checks"
        case "constant":
            return "constant"
        case _:
            return "input"


def _hint(field: Field, words: Words) -> str:
    """The field's own hint, and what its control can't say by itself."""
    own = words("form.hint_datetime") if field.kind == "datetime" else ""
    return " ".join(part for part in (field.hint, own) if part)


def _options(field: Field, picked: frozenset[str], words: Words) -> tuple[Option, ...]:
    if field.kind == "boolean":
        pairs = [("true", words("form.yes"), ""), ("false", words("form.no"), "")]
    elif field.kind in {"choice", "choices"}:
        pairs = [(str(at), one.label, one.description) for at, one in enumerate(field.choices)]
    else:
        return ()
    if field.kind in {"boolean", "choice"} and not field.required:
        # Without this a radio button that was pressed could not be taken back.
        pairs.append(("", words("form.no_answer"), ""))
    return tuple(Option(value, label, about, value in picked) for value, label, about in pairs)


def as_posted(field: Field, raw: str | list[str]) -> list[str]:
    """A raw value (`adapters.forms.initial_values`) as the field's control would post it."""
    if isinstance(raw, list):
        return raw
    return [_local_minute(raw) if field.kind == "datetime" else raw]


def _constant(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _local_minute(text: str) -> str:
    """An RFC 3339 time as a datetime-local control takes it, in UTC; unreadable text as it is."""
    try:
        moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError:
        return text
    if moment.tzinfo is None:
        return text
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="auto")
