"""One leaf of a schema -> one Field: its kind, its bounds, its choices, its default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.form_schema import (
    LABEL_LENGTH,
    Schema,
    bound,
    choices_of,
    is_number,
    is_secret,
    resolve,
    text,
    text_kind,
    type_of,
    without_null,
)
from adapters.form_values import MARK, fits
from adapters.languages.catalogue import ENGLISH, Words
from adapters.views import Choice, Field, FieldKind
from schemas.contracts import PICKER

MISSING: Final[Any] = object()
"""No value to prefill. Not None: null is a value."""

ABSENT: Final[Any] = object()
"""A value is being edited, and this member is not in it: no default comes back."""

_HINT_LENGTH: Final = 2_000
_PLACEHOLDER_LENGTH: Final = 150
_LOSSLESS: Final = frozenset({"text", "longtext", "list", "time"})
_HINTED: Final = frozenset({"list", "json", "time"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value goes, and what must exist there.

    `always` holds the lengths of those prefixes of `path` that are objects the schema requires.
    `asked` is False inside an optional object: there a required member is required only once a
    sibling has been answered.
    """

    path: tuple[str, ...]
    always: tuple[int, ...]
    required: bool
    asked: bool = True
    group: str = ""


def constant(at: Place, label: str, value: Any, schema: Schema | None = None) -> Field:
    """A field with nothing to ask."""
    mark = {"required": at.required, "always": list(at.always), "nullable": False}
    return Field(
        id="",
        path=at.path,
        label=label[:LABEL_LENGTH],
        kind="constant",
        default=value,
        has_default=True,
        group=at.group,
        schema={**(schema or {}), MARK: mark},
    )


def leaf(
    schema: Schema | None,
    root: Any,
    at: Place,
    label: str,
    value: Any,
    words: Words = ENGLISH,
) -> Field | None:
    """The field for one resolved schema; for None, which could not be resolved, JSON text.

    None when there is nothing to show: a read-only member without a value.
    """
    given = schema or {}
    initial = value if value is not MISSING else given.get("default", MISSING)
    if "const" in given:
        return constant(at, label, given["const"], given)
    if given.get("readOnly") is True:
        if initial is not MISSING and initial is not ABSENT:
            return constant(at, label, initial, given)
        if not at.required:
            return None
    real, nullable = without_null(given, root)
    if type_of(real) == "null":
        return constant(at, label, None, given)
    if isinstance(given.get("enum"), list) and None not in given["enum"]:
        nullable = False
    kind, choices = _kind(real, root, known=schema is not None, initial=initial)
    field = _bounded(real, kind, choices, at, label or words("form.answer"), nullable)
    made = _prefilled(field, initial, edited=value is not MISSING)
    return _hinted(made, text(real.get("description")), words)


def _hinted(field: Field, description: str, words: Words) -> Field:
    """The field with its own hint, and behind it what its kind needs to be told."""
    own = words(f"form.hint_{field.kind}") if field.kind in _HINTED and not field.picker else ""
    return replace(field, hint=f"{description} {own}".strip()[:_HINT_LENGTH])


def _kind(
    schema: Schema, root: Any, *, known: bool, initial: Any
) -> tuple[FieldKind, tuple[Choice, ...]]:
    """The kind of a field, and its choices."""
    if not known:
        return "json", ()
    choices = choices_of(schema, root)
    if choices:
        return "choice", choices
    match type_of(schema):
        case "boolean":
            return "boolean", ()
        case "integer":
            return "integer", ()
        case "number":
            return "number", ()
        case "string":
            return text_kind(schema), ()
        case "array":
            return _array_kind(schema, root)
        case "any":
            empty = initial is MISSING or initial is ABSENT
            return ("text" if empty or isinstance(initial, str) else "json"), ()
        case _:
            return "json", ()


def _array_kind(schema: Schema, root: Any) -> tuple[FieldKind, tuple[Choice, ...]]:
    if any(word in schema for word in ("prefixItems", "contains", "unevaluatedItems")):
        return "json", ()
    items = resolve(schema.get("items", False), root)
    if items is None or is_secret(items):
        return "json", ()
    choices = choices_of(items, root)
    if choices:
        return "choices", choices
    return ("list" if type_of(items) == "string" and "const" not in items else "json"), ()


def _bounded(
    schema: Schema,
    kind: FieldKind,
    choices: tuple[Choice, ...],
    at: Place,
    label: str,
    nullable: bool,
) -> Field:
    """The field with its texts and bounds, not prefilled yet."""
    low, high = _limits(schema, whole=kind == "integer")
    shortest = bound(schema, "minLength")
    empty_is_an_answer = (
        nullable or shortest == 0 or (kind in ("choices", "list") and not bound(schema, "minItems"))
    )
    examples = schema.get("examples")
    example = examples[0] if isinstance(examples, list) and examples else ""
    texts = kind in ("text", "longtext", "email", "url")
    mark = {"required": at.required, "always": list(at.always), "nullable": nullable}
    return Field(
        id="",
        path=at.path,
        label=label[:LABEL_LENGTH].strip() or "Answer",
        kind=kind,
        required=at.required and at.asked and not empty_is_an_answer,
        placeholder=str(example)[:_PLACEHOLDER_LENGTH] if _is_plain(example) else "",
        choices=choices,
        min_length=shortest if texts else None,
        max_length=bound(schema, "maxLength") if texts else None,
        minimum=low if kind in ("integer", "number") else None,
        maximum=high if kind in ("integer", "number") else None,
        max_items=bound(schema, "maxItems") if kind in ("choices", "list") else None,
        group=at.group,
        picker=_picker(schema, kind),
        schema={**schema, MARK: mark},
    )


def _picker(schema: Schema, kind: FieldKind) -> str:
    """The picker that a text, or each item of a list, is an option of; "" for what is typed freely."""
    items = schema.get("items") if kind == "list" else schema
    named = (
        items.get(PICKER)
        if kind in ("text", "longtext", "list") and isinstance(items, dict)
        else ""
    )
    return named if isinstance(named, str) else ""


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) or is_number(value)


def _limits(schema: Mapping[str, Any], *, whole: bool) -> tuple[Any, Any]:
    """The inclusive bounds. For whole numbers an exclusive one is moved by one; for others it stays
    in the schema and is checked on submission."""
    low, high = schema.get("minimum"), schema.get("maximum")
    low, high = low if is_number(low) else None, high if is_number(high) else None
    if not whole:
        return low, high
    lows = [math.ceil(low)] if low is not None else []
    highs = [math.floor(high)] if high is not None else []
    if is_number(schema.get("exclusiveMinimum")):
        lows.append(math.floor(schema["exclusiveMinimum"]) + 1)
    if is_number(schema.get("exclusiveMaximum")):
        highs.append(math.ceil(schema["exclusiveMaximum"]) - 1)
    return max(lows, default=None), min(highs, default=None)


def _prefilled(field: Field, initial: Any, *, edited: bool) -> Field:
    """The field with its default, when that fits. A default that doesn't is dropped.

    While a value is edited nothing of it may be lost: what a line of text can't hold is shown as
    several lines, or as JSON text.
    """
    if initial is MISSING or initial is ABSENT or (initial is None and field.kind != "json"):
        return field
    if field.kind == "text" and isinstance(initial, str) and "\n" in initial:
        field = replace(field, kind="longtext")
    if fits(field, initial):
        return replace(field, default=initial, has_default=True)
    if edited and field.kind in _LOSSLESS and initial != "":
        whole = replace(field, kind="json", min_length=None, max_length=None)
        if fits(whole, initial):
            return replace(whole, default=initial, has_default=True)
    return field
