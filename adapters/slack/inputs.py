"""One field of a form -> the element that asks it, and that element's state -> the raw value. Pure.

A choice goes by its index, never by its value: option values are capped at 150 characters and are
strings, and a value that comes back is checked against the choices anyway.
"""

from __future__ import annotations

import html
import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from adapters.languages.catalogue import ENGLISH, Words
from adapters.slack import blocks as b
from adapters.views import Choice, Field

INPUT: Final = 3000
"""Characters that a text input holds."""

VALUE: Final = "value"
"""The action_id of every input."""

OPTION_VALUE: Final = 150
"""Characters of an option's value."""

_RADIOS: Final = 5
_CHECKBOXES: Final = 10


def hint(field: Field, words: Words) -> str:
    """What has to be known of an input beside the field's own hint, which says the rest."""
    return words("slack.your_zone") if field.kind == "datetime" else ""


def element(field: Field, words: Words = ENGLISH) -> b.Block:
    """The input element of `field`, with what is there already. Not for a constant."""
    if field.picker:
        return _with_placeholder(field, _external(field))
    if field.kind in ("choice", "choices", "boolean"):
        return _options(field, words)
    if field.kind in ("integer", "number"):
        return _with_placeholder(field, _number(field))
    if field.kind in ("date", "time", "datetime"):
        return _moment(field)
    if field.kind == "email" or field.kind == "url":
        found: b.Block = {"type": f"{field.kind}_text_input"}
    else:
        found = {"type": "plain_text_input", "multiline": field.kind != "text"}
        if field.kind in ("text", "longtext"):
            _limit(field, found)
    initial = initial_text(field)
    if initial:
        found["initial_value"] = initial
    return _with_placeholder(field, found)


def _external(field: Field) -> b.Block:
    """A menu whose options are asked for as the person types (`block_suggestion`)."""
    several = field.kind == "list"
    found: b.Block = {"type": f"{'multi_' if several else ''}external_select"}
    found["min_query_length"] = 0
    default = field.default if isinstance(field.default, list) else [field.default]
    texts = [one for one in default if isinstance(one, str) and 0 < len(one) <= OPTION_VALUE]
    there = [_option(one, one, "") for one in texts] if field.has_default else []
    if there and several:
        found["initial_options"] = there
    elif there:
        found["initial_option"] = there[0]
    if several and field.max_items and field.max_items >= max(1, len(there)):
        found["max_selected_items"] = field.max_items
    return found


def suggestion(option: Choice) -> b.Block | None:
    """One option of an external menu; None for one whose id Slack could not give back."""
    name = str(option.value)
    if len(name) > OPTION_VALUE or not b.clean(option.label).strip():
        return None
    return _option(name, option.label, option.description)


def _limit(field: Field, found: b.Block) -> None:
    """Lengths that Slack checks itself, unless the default breaks them: then only the host does."""
    initial = initial_text(field)
    longest = min(field.max_length or INPUT, INPUT)
    if b.cost(initial) <= longest:
        found["max_length"] = longest
    if field.min_length and field.min_length <= longest and not 0 < len(initial) < field.min_length:
        found["min_length"] = field.min_length


def _with_placeholder(field: Field, element: b.Block) -> b.Block:
    if field.placeholder.strip():
        element["placeholder"] = b.plain(field.placeholder, 150)
    return element


def initial_text(field: Field) -> str:
    """The default of a field that is asked as text; empty when it has none."""
    if not field.has_default or field.default is None:
        return ""
    if field.kind == "list" and isinstance(field.default, list):
        return "\n".join(str(item) for item in field.default)
    if field.kind == "json":
        return json.dumps(field.default, ensure_ascii=False, indent=2)
    return field.default if isinstance(field.default, str) else json.dumps(field.default)


def _options(field: Field, words: Words) -> b.Block:
    if field.kind == "boolean":
        yes, no = words("form.yes"), words("form.no")
        options = [_option("true", yes, ""), _option("false", no, "")]
        initial = [options[not field.default]] if isinstance(field.default, bool) else []
        return _single(options, initial)
    options = [
        _option(str(index), f"{choice.label}", choice.description)
        for index, choice in enumerate(_distinct(field))
    ]
    wanted = field.default if field.kind == "choices" else [field.default]
    initial = [
        options[index]
        for index, choice in enumerate(field.choices)
        if field.has_default and isinstance(wanted, list) and _among(choice.value, wanted)
    ]
    if field.kind == "choice":
        return _single(options, initial[:1])
    if len(options) <= _CHECKBOXES and field.max_items is None:
        found: b.Block = {"type": "checkboxes", "options": options}
    else:
        found = {"type": "multi_static_select", "options": options}
        if field.max_items and field.max_items >= max(1, len(initial)):
            found["max_selected_items"] = field.max_items
    if initial:
        found["initial_options"] = initial
    return found


def _single(options: list[b.Block], initial: list[b.Block]) -> b.Block:
    kind = "radio_buttons" if len(options) <= _RADIOS else "static_select"
    found: b.Block = {"type": kind, "options": options}
    if initial:
        found["initial_option"] = initial[0]
    return found


def _among(value: Any, wanted: list[Any]) -> bool:
    """Whether `value` is one of `wanted` as JSON sees it: 1 is not true."""
    return any(type(value) is type(one) and value == one for one in wanted)


def _distinct(field: Field) -> list[Choice]:
    """The choices with numbers in front when two labels look the same once they are cut."""
    shown = [b.cut(b.clean(choice.label).strip(), 75) for choice in field.choices]
    if len(set(shown)) == len(shown):
        return list(field.choices)
    return [replace(one, label=f"{n}. {one.label}") for n, one in enumerate(field.choices, 1)]


def _option(value: str, label: str, description: str) -> b.Block:
    found: b.Block = {"text": b.plain(label, 75), "value": value}
    if description.strip():
        found["description"] = b.plain(description, 75)
    return found


def _number(field: Field) -> b.Block:
    found: b.Block = {"type": "number_input", "is_decimal_allowed": field.kind == "number"}
    low, high = field.minimum, field.maximum
    bounds = {"min_value": low, "max_value": high}
    default = field.default if field.has_default else None
    if type(default) in (int, float) and _within(default, low, high):
        bounds["initial_value"] = default
    for member, bound in bounds.items():
        written = "" if bound is None else _decimal(bound)
        if written and (field.kind == "number" or "." not in written):
            found[member] = written
    return found


def _within(number: Any, low: float | None, high: float | None) -> bool:
    return (low is None or low <= number) and (high is None or number <= high)


def _decimal(number: float) -> str:
    """A number as Slack takes it: a string without an exponent; empty when that gets absurdly
    long.
    """
    written = format(Decimal(str(number)), "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return written if len(written) <= 30 and written.lstrip("-")[:1].isdigit() else ""


def _moment(field: Field) -> b.Block:
    default = field.default if field.has_default and isinstance(field.default, str) else ""
    try:
        if field.kind == "date":
            found: b.Block = {"type": "datepicker"}
            if default:
                found["initial_date"] = date.fromisoformat(default).isoformat()
            return found
        if field.kind == "time":
            found = {"type": "timepicker"}
            if default:
                found["initial_time"] = time.fromisoformat(default).strftime("%H:%M")
            return found
        found = {"type": "datetimepicker"}
        moment = datetime.fromisoformat(default) if default else None
    except ValueError:
        return found  # a default that is no such moment would make Slack refuse the whole view
    if moment is not None and moment.tzinfo is not None and moment.timestamp() >= 1_000_000_000:
        found["initial_date_time"] = int(moment.timestamp())
    return found


def raw_value(state: dict[str, Any]) -> Any:
    """One element's state -> a raw value; None when it's not filled in or of no known shape."""
    if isinstance(state.get("selected_option"), dict):
        return str(state["selected_option"].get("value", ""))
    if isinstance(state.get("selected_options"), list):
        options = [option for option in state["selected_options"] if isinstance(option, dict)]
        # Slack gives them in the order of the clicks; the form's own order means something.
        indexes = sorted((str(option.get("value", "")) for option in options), key=_as_number)
        return indexes or None
    if type(state.get("selected_date_time")) is int:
        return datetime.fromtimestamp(state["selected_date_time"], UTC).isoformat()
    for member in ("value", "selected_date", "selected_time"):
        if isinstance(state.get(member), str):
            return state[member]
    return None


def _as_number(index: str) -> tuple[int, str]:
    return (int(index) if index.isascii() and index.isdigit() else -1, index)


def shown_value(state: dict[str, Any]) -> str:
    """One element's state as a person reads it: labels, not indexes."""
    chosen = state.get("selected_options") or [state.get("selected_option")]
    labels = [
        html.unescape(str(option["text"].get("text", "")))
        for option in chosen
        if isinstance(option, dict) and isinstance(option.get("text"), dict)
    ]
    if labels:
        return ", ".join(labels)
    raw = raw_value(state)
    return raw if isinstance(raw, str) else ""
