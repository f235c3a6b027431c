"""JSON Schema -> Form, and submitted values -> JSON, once for all channels.

A schema is a tree and a form is a list, so objects are flattened: each leaf is a field with the
path of its value, and a heading for the object it belongs to. Two levels of nesting are shown that
way. What no field fits (arrays of objects, unions, open maps) is asked for as JSON text, and what a
small dialog can't hold is said in `Form.web_only`. The last word on an answer is always the host's
check of the whole schema; `errors_to_fields` brings its complaints back to the fields.

Each field's `schema` is its own resolved schema plus one member of ours, `x-sayso-form`, that
`read_values` needs to rebuild the answer: whether the value may be null, and which of the objects
around it must exist even when nothing inside was answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adapters.form_answers import errors_to_fields, initial_values, read_values
from adapters.form_fields import ABSENT, MISSING, Place, constant, leaf
from adapters.form_schema import (
    LABEL_LENGTH,
    Schema,
    is_secret,
    label_of,
    resolve,
    text,
    type_of,
    without_null,
)
from adapters.languages.catalogue import ENGLISH, Words
from adapters.views import Field, Form

__all__ = [
    "MISSING",
    "errors_to_fields",
    "form_from_questions",
    "form_from_schema",
    "initial_values",
    "read_values",
]

NESTING: Final = 2  # levels of objects inside the answer that are flattened
MAX_FIELDS: Final = 300  # above it one answer is one field of JSON text
DIALOG_FIELDS: Final = 60
DIALOG_TEXT: Final = 3_000  # characters
DIALOG_CHOICES: Final = 100


def form_from_schema(
    schema: Any,
    *,
    title: str,
    submit: str = "",
    intro: str = "",
    base: tuple[str, ...] = (),
    value: Any = MISSING,
    words: Words = ENGLISH,
) -> Form:
    """The form that asks for an answer to `schema`. Never raises on a JSON value.

    `base` is where the answer goes in what `read_values` returns (`("editedArtifactData",)`), and
    `value` prefills the fields. Members of `value` that the schema doesn't name are kept as
    constants, so an edit loses nothing.
    """
    label = text(schema.get("title")) if isinstance(schema, dict) else ""
    asked = _Asked(root=schema, words=words)
    asked.add(base, label or words("form.answer"), "", value)
    return _form(asked, title=title, submit=submit or words("form.send"), intro=intro)


def form_from_questions(
    questions: Sequence[Mapping[str, Any]],
    *,
    title: str,
    intro: str = "",
    words: Words = ENGLISH,
) -> Form:
    """The form of a clarification: question `q` is answered at `("answers", q["id"])`.

    A question without a schema is answered in text. Each question's schema stands for itself: its
    `#` is its own root.
    """
    asked = _Asked(root=True, words=words)
    for question in questions:
        asked.root = question.get("schema", True)
        name = str(question.get("id", ""))
        label = text(question.get("question")) or label_of({}, name)
        asked.add(("answers", name), label, label, MISSING)
    return _form(asked, title=title, submit=words("form.send"), intro=intro)


def _form(asked: _Asked, *, title: str, submit: str, intro: str) -> Form:
    fields = tuple(asked.fields)
    return Form(title, fields, intro, submit, _web_only(fields, asked.words, deep=asked.deep))


def _web_only(fields: Sequence[Field], words: Words, *, deep: bool) -> str:
    """Why a dialog can't hold these fields: one sentence, or "" when it can."""
    if any(is_secret(f.schema) for f in fields):
        return words("form.web_secret")
    if len(fields) > DIALOG_FIELDS:
        return words("form.web_fields", count=len(fields))
    if any(len(f.choices) > DIALOG_CHOICES for f in fields):
        return words("form.web_choices", count=DIALOG_CHOICES)
    if any(_text_length(f) > DIALOG_TEXT for f in fields):
        return words("form.web_text", count=f"{DIALOG_TEXT:,}")
    if deep:
        return words("form.web_deep")
    return ""


def _text_length(field: Field) -> int:
    """The fewest characters that an input for this field has to hold."""
    if field.kind == "constant":
        return 0
    initial = initial_values(Form("", (field,))).get(field.id, "")
    return max(len(initial) if isinstance(initial, str) else 0, field.min_length or 0)


def _is_flat(schema: Schema) -> bool:
    """Whether this is an object whose members can be fields of their own."""
    return (
        type_of(schema) == "object"
        and isinstance(schema.get("properties"), dict)
        and bool(schema["properties"])
        and "const" not in schema
        and not isinstance(schema.get("enum"), list)
    )


@dataclass(slots=True)
class _Asked:
    """The fields found so far. `root` is what `#` means in the schema being walked."""

    root: Any
    words: Words
    fields: list[Field] = field(default_factory=list)
    deep: bool = False

    def add(self, path: tuple[str, ...], label: str, group: str, value: Any) -> None:
        """Ask for one whole answer: many fields for an object with properties, else one."""
        schema = resolve(self.root, self.root)
        prefixes = tuple(range(1, len(path) + 1))
        start = len(self.fields)
        if schema is not None and _is_flat(schema) and schema.get("readOnly") is not True:
            at = Place(path, prefixes, required=True, group=group[:LABEL_LENGTH])
            self._object(schema, at, value, level=0)
            if len(self.fields) - start <= MAX_FIELDS:
                if len(self.fields) == start:
                    self._append(constant(at, label, {}))
                return
            del self.fields[start:]
            schema, self.deep = None, True
        self._append(self._leaf(schema, Place(path, prefixes[:-1], True), label, value))

    def _object(self, schema: Schema, at: Place, value: Any, level: int) -> None:
        properties: dict[str, Any] = schema["properties"]
        names = schema.get("required")
        required = [n for n in names if isinstance(n, str)] if isinstance(names, list) else []
        editing = isinstance(value, dict)
        for name in dict.fromkeys([*properties, *required]):
            if len(self.fields) > MAX_FIELDS:
                return
            inner = value.get(name, ABSENT) if editing else MISSING
            place = replace(at, path=(*at.path, name), required=name in required)
            child = properties.get(name, schema.get("additionalProperties", True))
            self._member(child, place, inner, level)
        if editing and schema.get("additionalProperties") is not False:
            for name in [key for key in value if key not in properties and key not in required]:
                place = replace(at, path=(*at.path, name), required=False)
                self._append(constant(place, label_of({}, name), value[name]))

    def _member(self, child: Any, at: Place, value: Any, level: int) -> None:
        """One member of an object: a field, or the fields of a nested object."""
        if child is False and not at.required:
            return
        schema = resolve(child, self.root)
        label = label_of(schema or {}, at.path[-1])
        if schema is None or schema.get("readOnly") is True:
            self._append(self._leaf(schema, at, label, value))
            return
        real, nullable = without_null(schema, self.root)
        keeps = value is MISSING or value is ABSENT or isinstance(value, dict)
        if _is_flat(real) and not nullable and keeps and level < NESTING:
            heading = f"{at.group} › {label}" if at.group else label
            inner = replace(
                at,
                always=(*at.always, len(at.path)) if at.required else at.always,
                asked=at.asked and at.required,
                group=heading[:LABEL_LENGTH],
            )
            before = len(self.fields)
            editing: Any = {} if value is ABSENT else value
            self._object(real, inner, editing, level + 1)
            if len(self.fields) > before:
                return
        self.deep = self.deep or (_is_flat(real) and level >= NESTING)
        self._append(self._leaf(schema, at, label, value))

    def _leaf(self, schema: Schema | None, at: Place, label: str, value: Any) -> Field | None:
        return leaf(schema, self.root, at, label, value, self.words)

    def _append(self, made: Field | None) -> None:
        if made is not None:
            self.fields.append(replace(made, id=f"f{len(self.fields)}"))
