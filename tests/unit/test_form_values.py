"""Submitted values -> the JSON answer: what is right, and the sentence for what isn't."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.forms import form_from_schema, read_values
from host.contracts import validate


def answer(schema: Any, **raw: Any) -> tuple[Any, dict[str, str]]:
    """What is read when the fields are filled in by the last step of their path."""
    form = form_from_schema(schema, title="T")
    ids = {field.path[-1] if field.path else "": field.id for field in form.fields}
    found, errors = read_values(form, {ids[name]: value for name, value in raw.items()})
    names = {number: name for name, number in ids.items()}
    return found, {names[number]: sentence for number, sentence in errors.items()}


@pytest.mark.parametrize(
    ("schema", "raw", "value"),
    [
        ({"type": "string"}, " kept as it is\r\nwritten ", " kept as it is\nwritten "),
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "integer"}, "-3", -3),
        ({"type": "integer"}, "3.0", 3),
        ({"type": "integer"}, "1e3", 1_000),
        ({"type": "number"}, "3.5", 3.5),
        ({"type": "number"}, "5", 5),
        ({"type": "number", "multipleOf": 0.1}, "0.3", 0.3),
        ({"type": "boolean"}, "false", False),
        ({"enum": ["a", None]}, "1", None),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, ["2", "0", "2"], ["a", "c"]),
        ({"type": "array", "items": {"type": "string"}}, " a \n\nb\r\n", ["a", "b"]),
        ({"type": "string", "format": "date"}, "2030-01-31", "2030-01-31"),
        ({"type": "string", "format": "time"}, "09:30", "09:30:00Z"),
        ({"type": "string", "format": "time"}, "09:30:15+02:00", "09:30:15+02:00"),
        ({"format": "date-time"}, "2030-01-31T09:30:00+00:00", "2030-01-31T09:30:00Z"),
        ({"format": "date-time"}, "2030-01-31T09:30", "2030-01-31T09:30:00Z"),
        ({"format": "date-time"}, "2030-01-31T09:30:00+02:00", "2030-01-31T09:30:00+02:00"),
        ({"type": "string", "format": "email"}, " a@example.com ", "a@example.com"),
        ({"type": "string", "format": "uri"}, "https://example.com/", "https://example.com/"),
        ({"type": "object"}, '{"a": [1, null]}', {"a": [1, None]}),
    ],
)
def test_right_values(schema: Any, raw: Any, value: Any) -> None:
    found, errors = answer({"properties": {"x": schema}}, x=raw)
    assert errors == {}
    assert found == {"x": value}
    assert type(found["x"]) is type(value)
    assert validate({"properties": {"x": schema}}, found) == []


@pytest.mark.parametrize(
    ("schema", "raw", "says"),
    [
        ({"type": "string", "minLength": 3}, "ab", "at least 3 characters"),
        ({"type": "string", "maxLength": 3}, "abcde", "at most 3 characters (2 too many)"),
        ({"type": "integer"}, "x", "whole number"),
        ({"type": "integer"}, "3.5", "whole number"),
        ({"type": "integer"}, "1_000", "whole number"),
        ({"type": "integer"}, "1,000", "nothing between thousands"),
        ({"type": "integer"}, "9" * 400, "whole number"),
        ({"type": "integer"}, "1e30", "too large"),
        ({"type": "integer"}, "1e999999999", "too large"),
        ({"type": "number"}, "1e-999999999", "too small"),
        ({"type": "number"}, "NaN", "Write a number"),
        ({"type": "number"}, "Infinity", "Write a number"),
        ({"type": "number"}, "3,5", "Use a point"),
        ({"type": "integer", "minimum": 3}, "2", "3 or more"),
        ({"type": "integer", "exclusiveMaximum": 3}, "3", "2 or less"),
        ({"type": "number", "exclusiveMinimum": 0.5}, "0.5", "more than 0.5"),
        ({"type": "number", "exclusiveMaximum": 0.5}, "0.5", "less than 0.5"),
        ({"type": "integer", "multipleOf": 5}, "7", "multiple of 5"),
        ({"type": "boolean"}, "yes", "yes or no"),
        ({"enum": ["a", "b"]}, "2", "one of the options"),
        ({"enum": ["a", "b"]}, "a", "one of the options"),
        ({"enum": ["a", "b"]}, "-1", "one of the options"),
        ({"enum": ["a", "b"]}, "²", "one of the options"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["0", "9"], "one of the options"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, [0], "from the options"),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
            ["0", "1"],
            "Choose at most 1",
        ),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
            ["0"],
            "Choose at least 2",
        ),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, "a", "at least 2"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "a\na", "“a”"),
        ({"type": "array", "items": {"type": "string", "maxLength": 1}}, "ab", "“ab”"),
        ({"type": "string", "format": "date"}, "2030-02-31", "year-month-day"),
        ({"type": "string", "format": "date"}, "20300131", "year-month-day"),
        ({"type": "string", "format": "time"}, "25:00", "hours:minutes"),
        ({"type": "string", "format": "date-time"}, "tomorrow", "date and time"),
        ({"type": "string", "format": "email"}, "nobody", "email address"),
        ({"type": "string", "format": "uri"}, "example.com", "https://example.com"),
        ({"type": "string", "format": "uri"}, "http://[", "https://example.com"),
        ({"type": "object"}, "{a: 1}", "line 1, column 2"),
        ({"type": "object"}, "NaN", "NaN is not JSON"),
        ({"type": "object"}, "[" * 100_000, "nested too deeply"),
        ({"type": "object"}, "[" * 65 + "]" * 65, "64 levels"),
        ({"type": "string"}, ["a"], "one value"),
        ({"type": "string"}, 7, "one value"),
    ],
)
def test_wrong_values_are_told_in_a_sentence(schema: Any, raw: Any, says: str) -> None:
    found, errors = answer({"properties": {"x": schema, "y": {"type": "string"}}}, x=raw, y="kept")
    assert says in errors["x"]
    assert errors["x"].endswith((".", ")."))
    assert found == {"y": "kept"}


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({"type": "string"}, "Fill in an answer."),
        ({"type": "string", "minLength": 0}, ""),
        ({"type": ["string", "null"]}, None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1}, "Choose an answer."),
    ],
)
def test_nothing_answered(schema: Any, required: Any) -> None:
    for empty in (None, "", [] if "minItems" in schema else "   "):
        assert answer({"properties": {"x": schema}}, x=empty) == ({}, {})
        found, errors = answer({"properties": {"x": schema}, "required": ["x"]}, x=empty)
        if isinstance(required, str) and required:
            assert (found, errors) == ({}, {"x": required})
        else:
            assert (found, errors) == ({"x": required}, {})


def test_null_is_no_answer_where_the_enum_lacks_it() -> None:
    schema = {"properties": {"x": {"type": ["string", "null"], "enum": ["a"]}}, "required": ["x"]}
    assert answer(schema) == ({}, {"x": "Choose an answer."})
