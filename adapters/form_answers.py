"""Submitted values -> the JSON answer, and the host's errors -> the fields they belong to.

One wrong field never discards another: each gets its own sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapters.form_scalars import Wrong
from adapters.form_schema import bound
from adapters.form_values import EMPTY, MARK, TEXTS, Raw, raw_of, read
from adapters.languages.catalogue import ENGLISH, Words
from adapters.views import Field, Form

_SENTENCE_LENGTH: Final = 150  # what fits beside a field in every channel


def read_values(
    form: Form, values: Mapping[str, Any], words: Words = ENGLISH
) -> tuple[Any, dict[str, str]]:
    """The answer, and `{field id: sentence}` for what is wrong or missing, in these words.

    Optional fields left empty are left out; a nullable one that the schema requires becomes null.
    With errors the answer holds the good fields only, for showing the form again.
    """
    errors: dict[str, str] = {}
    found: list[tuple[Field, Any]] = []
    late: list[Field] = []
    for field in form.fields:
        try:
            value = field.default if field.kind == "constant" else read(field, values.get(field.id))
        except Wrong as wrong:
            errors[field.id] = wrong.sentence(words)
            continue
        if value is EMPTY or (field.kind == "constant" and not _mark(field)["required"]):
            late.append(field)
        else:
            found.append((field, value))
    answer: Any = {}
    for field, value in found:
        answer = _put(answer, field.path, value)
    _make_required_objects(answer, form.fields)
    for field in late:
        answer = _put_late(answer, field, errors, words)
    return answer, errors


def _put(answer: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    node = answer
    for name in path[:-1]:
        node = node.setdefault(name, {})
    node[path[-1]] = value
    return answer


def _make_required_objects(answer: Any, fields: Sequence[Field]) -> None:
    """The objects that the schema requires, even when nothing in them was answered."""
    for field in fields:
        always = _mark(field)["always"]
        node = answer
        for length, name in enumerate(field.path[:-1], start=1):
            if length in always and isinstance(node, dict):
                node.setdefault(name, {})
            node = node.get(name) if isinstance(node, dict) else None


def _put_late(answer: Any, field: Field, errors: dict[str, str], words: Words) -> Any:
    """A field that was left empty, now that it is known which of the objects around it exist."""
    node = answer
    for name in field.path[:-1]:
        node = node.get(name) if isinstance(node, dict) else None
    if field.path and not isinstance(node, dict):
        return answer  # inside an optional object of which nothing was answered
    if field.kind == "constant":
        return _put(answer, field.path, field.default)
    if _mark(field)["required"]:
        value = _empty_answer(field)
        if value is not EMPTY:
            return _put(answer, field.path, value)
        errors[field.id] = words(_missing(field))
    return answer


def _empty_answer(field: Field) -> Any:
    """What an empty required field means, or `EMPTY` when it needs an answer."""
    if _mark(field)["nullable"]:
        return None
    if field.kind in ("choices", "list") and not bound(field.schema, "minItems"):
        return []
    if field.kind in TEXTS and field.min_length == 0:
        return ""
    return EMPTY


def _missing(field: Field) -> str:
    """The key of the sentence that asks for it."""
    if field.kind in ("choice", "choices", "boolean"):
        return "wrong.choose_answer"
    return "wrong.pick_moment" if field.kind == "datetime" else "wrong.fill_in"


def _mark(field: Field) -> dict[str, Any]:
    default = {"required": field.required, "always": (), "nullable": False}
    mark = field.schema.get(MARK)
    return mark if isinstance(mark, dict) else default


def initial_values(form: Form) -> dict[str, Raw]:
    """The defaults of a form as raw values: `read_values` of them gives the defaults back."""
    return {
        field.id: raw_of(field, field.default)
        for field in form.fields
        if field.has_default and field.kind != "constant"
    }


def errors_to_fields(
    form: Form, errors: Sequence[Mapping[str, Any]], words: Words = ENGLISH
) -> dict[str, str]:
    """The host's errors (`{"path": [...], "message": "..."}`) as `{field id: sentence}`.

    An error goes to the field at its path, else to the one around it, else to the first one inside
    it, else to the first field of the form; several for one field are joined. A complaint never
    disappears as long as there is a field that can be filled in.
    """
    found: dict[str, list[str]] = {}
    asked = [field for field in form.fields if field.kind != "constant"]
    for error in errors:
        path = tuple(str(step) for step in error.get("path") or ())
        field = _nearest(asked, path)
        sentence = str(error.get("message") or words("wrong.not_right"))
        if field is not None and sentence not in found.setdefault(field.id, []):
            found[field.id].append(sentence)
    return {name: " ".join(lines)[:_SENTENCE_LENGTH] for name, lines in found.items()}


def _nearest(fields: Sequence[Field], path: tuple[str, ...]) -> Field | None:
    """The field with the longest path in common; among equals the first."""

    def common(field: Field) -> int:
        length = 0
        for mine, theirs in zip(field.path, path, strict=False):
            if mine != theirs:
                break
            length += 1
        return length

    return max(fields, key=common, default=None)
