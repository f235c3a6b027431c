"""JSON Schema -> Form -> raw values -> JSON: tables of what people asked for, and properties."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from adapters.forms import (
    errors_to_fields,
    form_from_questions,
    form_from_schema,
    initial_values,
    read_values,
)
from adapters.views import Choice, Field, Form
from host.contracts import validate


def one(schema: Any, **more: Any) -> Field:
    """The only field of a form with this schema as its member `x`."""
    (field,) = form_from_schema({"type": "object", "properties": {"x": schema}}, title="T").fields
    assert field.path == ("x",)
    return field


def answer(schema: Any, **raw: Any) -> tuple[Any, dict[str, str]]:
    """What is read when the fields are filled in by the last step of their path."""
    form = form_from_schema(schema, title="T")
    ids = {field.path[-1] if field.path else "": field.id for field in form.fields}
    found, errors = read_values(form, {ids[name]: value for name, value in raw.items()})
    names = {number: name for name, number in ids.items()}
    return found, {names[number]: sentence for number, sentence in errors.items()}


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
        ({}, "longtext"),
        (True, "longtext"),
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


NESTED = {
    "type": "object",
    "required": ["name", "address"],
    "properties": {
        "name": {"type": "string"},
        "address": {
            "type": "object",
            "required": ["city"],
            "properties": {
                "city": {"type": "string"},
                "geo": {
                    "title": "Position",
                    "type": "object",
                    "required": ["lat"],
                    "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
                },
            },
        },
    },
}


def test_objects_are_flattened_with_headings() -> None:
    form = form_from_schema(NESTED, title="T")
    assert [(f.id, f.path, f.group, f.required) for f in form.fields] == [
        ("f0", ("name",), "", True),
        ("f1", ("address", "city"), "Address", True),
        ("f2", ("address", "geo", "lat"), "Address › Position", False),
        ("f3", ("address", "geo", "lon"), "Address › Position", False),
    ]
    assert form.web_only == ""


def test_an_optional_object_of_which_nothing_was_answered_is_left_out() -> None:
    assert answer(NESTED, name="a", city="b") == ({"name": "a", "address": {"city": "b"}}, {})


def test_an_optional_object_that_was_begun_must_be_whole() -> None:
    found, errors = answer(NESTED, name="a", city="b", lon="2")
    assert errors == {"lat": "Fill in an answer."}
    assert found["address"]["geo"] == {"lon": 2}


def test_a_required_object_exists_even_when_empty() -> None:
    schema = {
        "required": ["a"],
        "properties": {"a": {"properties": {"b": {"type": "string"}}}, "c": {"type": "string"}},
    }
    assert answer(schema) == ({"a": {}}, {})


def test_a_third_level_is_json_and_for_the_web() -> None:
    schema: Any = {"type": "string"}
    for name in "dcba":
        schema = {"type": "object", "properties": {name: schema}}
    form = form_from_schema(schema, title="T")
    assert [(f.path, f.kind) for f in form.fields] == [(("a", "b", "c"), "json")]
    assert "nested too deeply" in form.web_only


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"properties": {f"p{n}": {"type": "string"} for n in range(61)}}, "61 fields"),
        ({"properties": {"p": {"type": "string", "minLength": 3_001}}}, "3,000 characters"),
        ({"properties": {"p": {"type": "string", "default": "x" * 3_001}}}, "3,000 characters"),
        ({"properties": {"p": {"type": "string", "writeOnly": True}}}, "secret"),
        ({"properties": {"p": {"type": "string", "format": "password"}}}, "secret"),
        ({"properties": {"p": {"enum": list(range(101))}}}, "100 choices"),
        ({"properties": {f"p{n}": {"type": "string"} for n in range(60)}}, ""),
        ({"properties": {"p": {"enum": list(range(100))}}}, ""),
        ({"properties": {"p": {"type": "string", "maxLength": 10_000}}}, ""),
    ],
)
def test_what_a_dialog_cannot_hold(schema: Any, says: str) -> None:
    reason = form_from_schema(schema, title="T").web_only
    assert says in reason
    assert bool(says) == bool(reason)


def test_a_form_that_explodes_by_references_becomes_json() -> None:
    wide = {f"p{n}": {"$ref": "#/$defs/inner"} for n in range(100)}
    inner = {"properties": {f"q{n}": {"type": "string"} for n in range(100)}}
    form = form_from_schema({"properties": wide, "$defs": {"inner": inner}}, title="T")
    assert [(f.path, f.kind) for f in form.fields] == [((), "json")]
    assert form.web_only


def test_references_and_all_of_are_read() -> None:
    schema = {
        "$defs": {"person": {"properties": {"name": {"type": "string"}}, "required": ["name"]}},
        "allOf": [{"$ref": "#/$defs/person"}, {"properties": {"age": {"type": "integer"}}}],
    }
    form = form_from_schema(schema, title="T")
    assert [(f.path, f.kind, f.required) for f in form.fields] == [
        (("name",), "text", True),
        (("age",), "integer", False),
    ]


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
    for empty in (None, "", [] if one(schema).kind == "choices" else "   "):
        assert answer({"properties": {"x": schema}}, x=empty) == ({}, {})
        found, errors = answer({"properties": {"x": schema}, "required": ["x"]}, x=empty)
        if isinstance(required, str) and required:
            assert (found, errors) == ({}, {"x": required})
        else:
            assert (found, errors) == ({"x": required}, {})


def test_null_is_no_answer_where_the_enum_lacks_it() -> None:
    schema = {"properties": {"x": {"type": ["string", "null"], "enum": ["a"]}}, "required": ["x"]}
    assert answer(schema) == ({}, {"x": "Choose an answer."})


def test_constants_are_sent_back() -> None:
    schema = {
        "required": ["v"],
        "properties": {
            "v": {"const": 2},
            "kind": {"readOnly": True, "default": "memo"},
            "shown": {"readOnly": True, "type": "string"},
            "gone": {"type": "null"},
        },
    }
    assert answer(schema) == ({"v": 2, "kind": "memo", "gone": None}, {})


def test_a_scalar_is_asked_for_alone() -> None:
    form = form_from_schema({"type": "boolean", "title": "Sure?"}, title="T")
    (field,) = form.fields
    assert (field.path, field.label, field.required) == ((), "Sure?", True)
    assert read_values(form, {"f0": "true"}) == (True, {})
    assert read_values(form, {})[1] == {"f0": "Choose an answer."}


def test_an_edit_is_prefilled_and_loses_nothing() -> None:
    schema = {
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "body": {"type": "string"},
            "count": {"type": "integer", "default": 9},
            "tags": {"type": "array", "items": {"type": "string"}},
            "meta": {"properties": {"a": {"type": "string"}}},
        },
    }
    value = {
        "to": "ada",
        "body": "two\nlines",
        "tags": ["with\nbreak"],
        "meta": {"a": "x", "b": {"deep": [1]}},
        "extra": [1, 2],
    }
    form = form_from_schema(schema, title="T", base=("editedArtifactData",), value=value)
    kinds = {f.path[1:]: f.kind for f in form.fields}
    assert kinds[("body",)] == "longtext"
    assert kinds[("tags",)] == "json"
    assert kinds[("extra",)] == kinds[("meta", "b")] == "constant"
    assert read_values(form, initial_values(form)) == ({"editedArtifactData": value}, {})


@pytest.mark.parametrize("value", ["text", {"a": 1}, [1], 7, {}])
def test_an_edit_without_a_schema_comes_back(value: Any) -> None:
    form = form_from_schema({}, title="T", base=("editedArtifactData",), value=value)
    assert read_values(form, initial_values(form)) == ({"editedArtifactData": value}, {})


def test_the_base_exists_even_when_nothing_was_answered() -> None:
    form = form_from_schema({"properties": {"a": {"type": "string"}}}, title="T", base=("x", "y"))
    assert read_values(form, {}) == ({"x": {"y": {}}}, {})


def test_questions() -> None:
    form = form_from_questions(
        [
            {"id": "q1", "question": "Which one?", "schema": {"enum": ["a", "b"]}},
            {"id": "q2", "question": "Why?"},
            {"id": "q3", "question": "Where?", "schema": NESTED["properties"]["address"]},  # type: ignore[index]
            {
                "id": "q4",
                "question": "How many?",
                "schema": {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}},
            },
        ],
        title="Some questions",
        intro="Please",
    )
    assert [f.id for f in form.fields] == [f"f{n}" for n in range(6)]
    assert form.fields[0].label == "Which one?"
    assert form.fields[1].kind == "longtext"
    assert form.fields[2].group == "Where?"
    assert all(f.required for f in form.fields[:3])
    raw = {"f0": "1", "f1": "because", "f2": "Bern", "f5": "3"}
    assert read_values(form, raw) == (
        {"answers": {"q1": "b", "q2": "because", "q3": {"city": "Bern"}, "q4": 3}},
        {},
    )
    assert set(read_values(form, {})[1]) == {"f0", "f1", "f2", "f5"}


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (["name"], "f0"),
        (["address", "city"], "f1"),
        (["address", "city", 0, "deep"], "f1"),
        (["address", "geo", "lon"], "f3"),
        (["address", "geo"], "f2"),
        (["address"], "f1"),
        (["nowhere"], "f0"),
        ([], "f0"),
    ],
)
def test_errors_go_to_the_nearest_field(path: list[Any], field: str) -> None:
    form = form_from_schema(NESTED, title="T")
    found = errors_to_fields(form, [{"path": path, "message": "Wrong."}])
    assert found == {field: "Wrong."}


def test_errors_of_one_field_are_joined_and_cut() -> None:
    form = form_from_schema({"properties": {"a": {"type": "string"}, "b": {"const": 1}}}, title="T")
    errors = [{"path": ["a"], "message": word} for word in ("One.", "Two.", "One.")]
    assert errors_to_fields(form, errors) == {"f0": "One. Two."}
    assert errors_to_fields(form, [{"path": ["b"], "message": "x" * 400}]) == {"f0": "x" * 150}
    assert errors_to_fields(Form("T", ()), errors) == {}


def test_the_hosts_errors_find_their_fields() -> None:
    form = form_from_schema(NESTED, title="T")
    errors = validate(NESTED, {"address": {"geo": {"lat": "north"}}})
    assert set(errors_to_fields(form, errors)) == {"f0", "f1", "f2"}


# --- properties -------------------------------------------------------------------------------

WORDS = st.text(string.ascii_letters + " é", min_size=1, max_size=8).filter(str.strip)
SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"maxLength": st.integers(20, 400)}
    ),
    st.fixed_dictionaries(
        {"type": st.just("integer")},
        optional={"exclusiveMinimum": st.integers(-9, 0), "maximum": st.integers(5, 50)},
    ),
    st.fixed_dictionaries({"type": st.just("number")}, optional={"minimum": st.just(-2.5)}),
    st.just({"type": "boolean"}),
    st.sampled_from(["date", "time", "date-time", "email", "uri"]).map(
        lambda name: {"type": "string", "format": name}
    ),
    st.lists(st.none() | st.booleans() | st.integers(-5, 5) | WORDS, min_size=1, max_size=5).map(
        lambda values: {"enum": values}
    ),
    st.lists(WORDS, min_size=1, max_size=4).map(
        lambda values: {"type": "array", "items": {"enum": values}}
    ),
    st.just({"type": "array", "items": {"type": "string"}}),
    st.just({"type": ["integer", "null"]}),
    st.just({"const": {"k": [1]}}),
    st.just({"$ref": "#/$defs/word"}),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(WORDS, inner, min_size=1, max_size=4).flatmap(
        lambda properties: st.lists(st.sampled_from(sorted(properties)), unique=True).map(
            lambda required: {"type": "object", "properties": properties, "required": required}
        )
    )


SCHEMAS = objects(SCALARS | objects(SCALARS | objects(SCALARS))).map(
    lambda schema: {**schema, "$defs": {"word": {"type": "string", "minLength": 1}}}
)


def right(field: Field) -> st.SearchStrategy[Any]:
    """Raw values that answer a field."""
    match field.kind:
        case "text" | "longtext":
            return WORDS
        case "integer":
            low = -100 if field.minimum is None else int(field.minimum)
            return st.integers(low, 100 if field.maximum is None else int(field.maximum)).map(str)
        case "number":
            return st.floats(-2, 1e6).map(lambda x: repr(round(x, 6)))
        case "boolean":
            return st.sampled_from(["true", "false"])
        case "choice":
            return st.integers(0, len(field.choices) - 1).map(str)
        case "choices":
            return st.lists(st.integers(0, len(field.choices) - 1).map(str), min_size=1)
        case "list":
            return st.lists(WORDS, min_size=1).map("\n".join)
        case "date":
            return st.dates().map(str)
        case "time":
            return st.times().map(lambda t: f"{t:%H:%M}")
        case "datetime":
            return st.datetimes().map(lambda d: d.replace(microsecond=0).isoformat() + "Z")
        case "email":
            return st.just("ada@example.com")
        case "url":
            return st.just("https://example.com/x")
        case _:
            return st.just("")


@settings(max_examples=200, deadline=None)
@given(schema=SCHEMAS, data=st.data())
def test_right_values_make_a_right_answer(schema: Any, data: st.DataObject) -> None:
    form = form_from_schema(schema, title="T")
    assert len({f.id for f in form.fields}) == len(form.fields)
    assert len({f.path for f in form.fields}) == len(form.fields)
    raw = {f.id: data.draw(right(f), label=f.kind) for f in form.fields if f.kind != "constant"}
    found, errors = read_values(form, raw)
    assert errors == {}
    Draft202012Validator(schema).validate(found)
    assert validate(schema, found) == []


@settings(max_examples=200, deadline=None)
@given(schema=SCHEMAS, data=st.data())
def test_a_form_half_filled_in_is_right_or_says_what_is_missing(
    schema: Any, data: st.DataObject
) -> None:
    form = form_from_schema(schema, title="T")
    asked = [f for f in form.fields if f.kind != "constant"]
    filled = [f for f in asked if data.draw(st.booleans())]
    raw = {f.id: data.draw(right(f)) for f in filled}
    found, errors = read_values(form, raw)
    assert set(errors) <= {f.id for f in asked} - set(raw)
    if not errors:
        assert validate(schema, found) == []


SCHEMA_WORDS = (  # noqa: SIM905 - one a line is harder to read
    "type properties items allOf anyOf oneOf not $ref $defs enum const pattern "
    "required title default format minLength maxLength minimum maxItems readOnly "
    "writeOnly additionalProperties prefixItems examples description multipleOf "
).split()

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(SCHEMA_WORDS) | st.text(max_size=3),
            inner
            | st.sampled_from(
                [
                    "#",
                    "#/$defs/a",
                    "string",
                    "object",
                    "array",
                    "integer",
                    "date",
                    "#/items",
                    "time",
                ]
            ),
            max_size=5,
        )
    ),
    max_leaves=30,
)


@settings(max_examples=400, deadline=None)
@given(schema=st.dictionaries(st.text(max_size=3), JSON) | JSON, value=JSON)
def test_any_json_is_a_schema_and_any_value_can_be_edited(schema: Any, value: Any) -> None:
    for form in (
        form_from_schema(schema, title="T"),
        form_from_schema(schema, title="T", base=("e",), value=value),
        form_from_questions([{"id": "q", "question": "Q", "schema": schema}], title="T"),
    ):
        assert len({f.id for f in form.fields}) == len(form.fields)
        raw = initial_values(form)
        found, errors = read_values(form, raw)
        assert not set(errors) & set(raw), "a default that was shown must be an answer"
        json.dumps(found)
        assert all(f.label for f in form.fields)
        read_values(form, {f.id: "0" for f in form.fields})
        read_values(form, {f.id: ["0", 3, None] for f in form.fields})
