"""JSON Schema -> Form -> raw values -> JSON: tables of what people asked for, and properties."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.forms import (
    form_from_schema,
    initial_values,
    read_values,
)
from adapters.views import Choice, Field


def one(schema: Any, **more: Any) -> Field:
    """The only field of a form with this schema as its member `x`."""
    (field,) = form_from_schema({"type": "object", "properties": {"x": schema}}, title="T").fields
    assert field.path == ("x",)
    return field


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "maxLength": 200}, "text"),
        ({"type": "string", "maxLength": 201}, "longtext"),
        ({"type": "string", "format": "markdown"}, "longtext"),
        ({"type": "string", "format": "textarea"}, "longtext"),
        ({"type": "string", "contentMediaType": "text/html"}, "longtext"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "time"}, "time"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "string", "format": "email"}, "email"),
        ({"type": "string", "format": "uri"}, "url"),
        ({"type": "string", "format": "uuid"}, "text"),
        ({"pattern": "^a"}, "text"),
        ({"type": "integer"}, "integer"),
        ({"type": "number"}, "number"),
        ({"minimum": 3}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"enum": ["a", "b"]}, "choice"),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}, "choice"),
        ({"anyOf": [{"const": True, "title": "Sure"}, {"const": False}]}, "choice"),
        ({"type": "array", "items": {"enum": ["a"]}}, "choices"),
        ({"type": "array", "items": {"oneOf": [{"const": 1}, {"const": 2}]}}, "choices"),
        ({"type": "array", "items": {"type": "string"}}, "list"),
        ({"type": "array", "items": {"type": "number"}}, "json"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, "json"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "json"),
        ({"type": "array"}, "json"),
        ({"type": "object"}, "json"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "json"),
        ({"oneOf": [{"type": "object"}, {"type": "string"}]}, "json"),
        ({"type": ["string", "number"]}, "json"),
        ({"not": {"type": "string"}}, "json"),
        ({"$ref": "https://example.com/x"}, "json"),
        ({"$ref": "#/properties/x"}, "json"),
        ({"$ref": "#/$defs/none"}, "json"),
        ({"type": ["integer", "null"]}, "integer"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "boolean"),
        ({"type": ["null", "string"], "enum": ["a", None]}, "choice"),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "integer"),
        ({"const": 7}, "constant"),
        ({"type": "null"}, "constant"),
        ({"readOnly": True, "default": "x"}, "constant"),
        ({}, "text"),
        (True, "text"),
    ],
)
def test_kinds(schema: Any, kind: str) -> None:
    assert one(schema).kind == kind


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("firstName", "First name"),
        ("first_name", "First name"),
        ("due-date", "Due date"),
        ("HTTPStatus", "HTTP status"),
        ("x", "X"),
        ("", "Answer"),
        ("a" * 400, "A" + "a" * 149),
    ],
)
def test_a_property_name_is_a_label(name: str, label: str) -> None:
    (field,) = form_from_schema({"properties": {name: {"type": "string"}}}, title="T").fields
    assert field.label == label


def test_title_description_and_examples_are_shown() -> None:
    field = one(
        {"type": "string", "title": "Why", "description": "In a line.", "examples": ["Too late"]}
    )
    assert (field.label, field.hint, field.placeholder) == ("Why", "In a line.", "Too late")


@pytest.mark.parametrize(
    ("schema", "low", "high"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, 1, 9),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 9}, 2, 8),
        ({"type": "integer", "minimum": 1.5, "maximum": 8.5}, 2, 8),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": 1}, 3, None),
        ({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2}, 0.5, None),
        ({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 4}], "maximum": 9}, 4, 9),
    ],
)
def test_bounds(schema: Any, low: Any, high: Any) -> None:
    field = one(schema)
    assert (field.minimum, field.maximum) == (low, high)


def test_choices_keep_values_of_any_type_and_lose_duplicates() -> None:
    field = one({"enum": ["a", 1, True, None, 1.0, "a", {"k": 1}]})
    assert [c.value for c in field.choices] == ["a", 1, True, None, {"k": 1}]
    assert [c.label for c in field.choices] == ["a", "1", "Yes", "None", '{"k": 1}']
    titled = one(
        {"oneOf": [{"const": 1, "title": "Low", "description": "by Friday"}, {"const": 2}]}
    )
    assert titled.choices == (Choice(1, "Low", "by Friday"), Choice(2, "2"))


def test_choices_of_another_type_are_left_out() -> None:
    assert [c.value for c in one({"type": "string", "enum": ["a", 1, None]}).choices] == ["a"]


@pytest.mark.parametrize(
    ("schema", "default"),
    [
        ({"type": "string", "default": "x"}, "x"),
        ({"type": "integer", "default": 3}, 3),
        ({"type": "number", "default": 1e-7}, 1e-7),
        ({"type": "boolean", "default": False}, False),
        ({"enum": ["a", "b"], "default": "b"}, "b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]}, ["b"]),
        ({"type": "array", "items": {"type": "string"}, "default": ["x", "y"]}, ["x", "y"]),
        ({"type": "string", "format": "date", "default": "2030-01-31"}, "2030-01-31"),
        ({"type": "string", "format": "time", "default": "09:30:00Z"}, "09:30:00Z"),
        ({"type": "object", "default": {"a": [1]}}, {"a": [1]}),
    ],
)
def test_defaults_are_kept_and_come_back(schema: Any, default: Any) -> None:
    form = form_from_schema({"properties": {"x": schema}}, title="T")
    (field,) = form.fields
    assert field.has_default
    assert field.default == default
    assert read_values(form, initial_values(form)) == ({"x": default}, {})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 2, "default": "long"},
        {"type": "string", "default": 7},
        {"type": "integer", "default": "x"},
        {"type": "integer", "minimum": 5, "default": 3},
        {"type": "boolean", "default": "true"},
        {"enum": ["a"], "default": "b"},
        {"type": "array", "items": {"enum": ["a"]}, "default": ["b"]},
        {"type": "string", "format": "date", "default": "2030-02-31"},
        {"type": "string", "format": "email", "default": "nobody"},
        {"type": "boolean", "default": 1},
    ],
)
def test_defaults_that_do_not_fit_are_dropped(schema: Any) -> None:
    field = one(schema)
    assert not field.has_default
    assert field.default is None
