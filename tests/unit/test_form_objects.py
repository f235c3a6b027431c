"""Objects, edits, questions and errors: many fields that make one answer."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.forms import (
    errors_to_fields,
    form_from_questions,
    form_from_schema,
    initial_values,
    read_values,
)
from adapters.views import Form
from host.contracts import validate


def answer(schema: Any, **raw: Any) -> tuple[Any, dict[str, str]]:
    """What is read when the fields are filled in by the last step of their path."""
    form = form_from_schema(schema, title="T")
    ids = {field.path[-1] if field.path else "": field.id for field in form.fields}
    found, errors = read_values(form, {ids[name]: value for name, value in raw.items()})
    names = {number: name for name, number in ids.items()}
    return found, {names[number]: sentence for number, sentence in errors.items()}


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
    assert form.fields[1].kind == "text"
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
