"""Which schemas are taken, which are refused and why, and what is said of a wrong answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from host import contracts
from host.contracts import check_schema, validate
from schemas.errors import Refusal

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def refused(schema: Any) -> str:
    """The message that a schema is refused with."""
    with pytest.raises(Refusal) as caught:
        check_schema(schema, where="resumeSchema")
    assert caught.value.code == "validation_error"
    assert caught.value.message.startswith("resumeSchema can't be used")
    (error,) = caught.value.details["errors"]
    assert error["path"] == ["resumeSchema"]
    return str(error["message"])


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string"},
        {"$schema": DRAFT_7, "definitions": {"a": {}}, "$ref": "#/definitions/a"},
        {"$id": "https://example.com/s", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}},
        {"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": True}},
        {"properties": {"$ref": {"type": "string"}, "enum": {}, "$id": {}}},
        {"enum": [{"$ref": "https://example.com/data-is-no-schema"}]},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "string", "pattern": r"^[\w.+-]+@[\w-]+\.[\w.]+$"},
        {"x-unknown": {"$ref": "nowhere"}},
    ],
)
def test_taken(schema: Any) -> None:
    check_schema(schema, where="resumeSchema")


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (None, "an object, or true or false"),
        ([], "an object, or true or false"),
        ("{}", "an object, or true or false"),
        ({"type": "strin"}, "At type"),
        ({"properties": {"a": {"minLength": -1}}}, "At properties/a/minLength"),
        ({"required": "a"}, "At required"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "leave it out"),
        ({"$schema": "https://evil.example/schema"}, "leave it out"),
        ({"$schema": 7}, "leave it out"),
        ({"$ref": "https://example.com/schema"}, "Nothing is ever fetched"),
        ({"$ref": "file:///etc/passwd"}, "Nothing is ever fetched"),
        ({"$ref": "other.json#/a"}, "Nothing is ever fetched"),
        ({"$id": "https://example.com/s", "$ref": "s"}, "Nothing is ever fetched"),
        ({"$ref": 7}, "Nothing is ever fetched"),
        ({"$ref": "#/$defs/none"}, "points to no subschema"),
        ({"$ref": "#none"}, "points to no subschema"),
        ({"$ref": "#/enum/0", "enum": [{"type": "string"}]}, "points to no subschema"),
        ({"$ref": "#/x/y", "x": {"y": {"$ref": "#/x/y"}}}, "points to no subschema"),
        ({"$ref": "#"}, "leads back to itself"),
        ({"allOf": [{"$ref": "#"}]}, "leads back to itself"),
        (
            {
                "$defs": {
                    "a": {"items": {"$ref": "#/$defs/b"}, "not": {"$ref": "#/$defs/c"}},
                    "b": {"$ref": "#/$defs/a"},
                    "c": {"$ref": "#/$defs/b"},
                },
                "$ref": "#/$defs/a",
            },
            "leads back to itself",
        ),
        ({"$dynamicRef": "#a"}, "not supported"),
        ({"$defs": {"a": {"$dynamicAnchor": "a"}}}, "not supported"),
        ({"properties": {"a": {"$id": "https://example.com/a"}}}, "only at the top"),
        ({"items": {"$schema": DRAFT_7}}, "only at the top"),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}, "there twice"),
        ({"pattern": "(?=a)b"}, "lookaround"),
        ({"pattern": r"(a)\1"}, "backreferences"),
        ({"patternProperties": {"(?<!a)b": {}}}, "is not taken"),
        ({"pattern": "((a{1,1000}){1,1000}){1,1000}"}, "repeat counts"),
        ({"pattern": "a" * 1_001}, "1,000 characters"),
        ({"patternProperties": {"a" * 1_001: {}}}, "1,000 characters"),
        ({"patternProperties": {f"^{n}": {} for n in range(101)}}, "100 patterns"),
        ({"enum": list(range(5_001))}, "5,000 values"),
        ({"properties": {f"p{n}": {} for n in range(2_000)}}, "2,000 subschemas"),
        ({"description": "x" * 65_536}, "65,536 bytes"),
        ({"const": "\ud800"}, "UTF-8"),
        ({"const": 2**70}, "64 bits"),
        ({"default": nested(90, 1)}, "80 levels"),
        ({1: 2}, "the same"),
    ],
)
def test_refused(schema: Any, says: str) -> None:
    assert says in refused(schema)


def test_a_schema_is_compiled_once_whatever_the_order_of_its_members() -> None:
    contracts._compiled.cache_clear()
    for _ in range(5):
        assert validate({"type": "string", "title": "once"}, "a") == []
        assert validate({"title": "once", "type": "string"}, "a") == []
    info = contracts._compiled.cache_info()
    assert (info.misses, info.hits, info.maxsize) == (1, 9, contracts.CACHED)


@pytest.mark.parametrize(
    ("schema", "value", "path", "message"),
    [
        ({"type": "string"}, 3, [], "It must be text."),
        ({"type": ["integer", "null"]}, "x", [], "It must be a whole number or null."),
        ({"required": ["a"]}, {}, ["a"], "It is required."),
        (
            {"properties": {"p": {"items": {"required": ["a"]}}}},
            {"p": [{"a": 1}, {}]},
            ["p", 1, "a"],
            "It is required.",
        ),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"a": 1, "x": 1},
            ["x"],
            "It is not expected.",
        ),
        ({"additionalProperties": False}, {"x": 1}, [], "It has a member that is not expected."),
        ({"properties": {"x": False}}, {"x": 1}, ["x"], "It must be left out."),
        ({"unevaluatedProperties": False}, {"x": 1}, ["x"], "It is not expected."),
        ({"enum": ["a", "b"]}, "c", [], 'It must be one of "a", "b"'),
        ({"const": "a"}, "c", [], 'It must be "a".'),
        ({"minLength": 1}, "", [], "It must have at least 1 character."),
        ({"maxLength": 3}, "long", [], "It must have at most 3 characters."),
        ({"minimum": 3}, 2, [], "It must be 3 or more."),
        ({"exclusiveMaximum": 2.5}, 2.5, [], "It must be less than 2.5."),
        ({"multipleOf": 5}, 7, [], "It must be a multiple of 5."),
        ({"minItems": 1}, [], [], "It must have at least 1 item."),
        ({"uniqueItems": True}, [1, 1], [], "Its items must all differ."),
        ({"pattern": "^a$"}, "b", [], 'It must match the pattern "^a$".'),
        ({"format": "email"}, "x", [], "It must be an email address, like name@example.com."),
        ({"format": "date"}, "2030-02-31", [], "It must be a date, like 2030-01-31."),
        ({"format": "uuid"}, "x", [], None),
        ({"format": "uri"}, "x", [], None),
        ({"format": "date-time"}, "2030-01-01", [], None),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, 1, [], None),
        ({"oneOf": [{}, {}]}, 1, [], None),
        ({"not": {}}, 1, [], None),
        ({"if": {}, "then": {"minimum": 5}}, 1, [], "It must be 5 or more."),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, [], None),
        ({"contains": {"type": "string"}}, [1], [], None),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ["b"], "It is required."),
        (False, 1, [], "It must be left out."),
        ({"$schema": DRAFT_7, "items": [{"type": "string"}]}, [1], [0], "It must be text."),
        ({"type": "string"}, "\ud800", [], "It is not JSON text in UTF-8."),
        ({"type": "object"}, {1: 2}, [], "It is not JSON text in UTF-8."),
        ({"type": "number"}, float("nan"), [], "It must be a number."),
    ],
)
def test_errors_say_where_and_what(
    schema: Any, value: Any, path: list[Any], message: str | None
) -> None:
    (error,) = validate(schema, value)
    assert error["path"] == path
    assert message is None or error["message"] == message
    assert error["message"].startswith(("It", "One"))
    assert error["message"].endswith((".", '"'))


def test_a_right_answer_has_no_errors() -> None:
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "pattern": r"^\w+$"}, "when": {"format": "date"}},
    }
    assert validate(schema, {"name": "ada", "when": "2030-01-31"}) == []
    assert validate(True, object.__doc__) == []


def test_at_most_20_errors_and_the_value_is_not_quoted() -> None:
    secret = "hunter2" * 100
    schema = {"additionalProperties": {"type": "integer"}}
    errors = validate(schema, {f"k{n}": secret for n in range(30)})
    assert len(errors) == 20
    assert "hunter2" not in json.dumps(errors)


def test_constants_are_cut_to_80_characters() -> None:
    (error,) = validate({"enum": ["x" * 500]}, 1)
    assert len(error["message"]) < 110
    (error,) = validate({"const": "x" * 500}, 1)
    assert len(error["message"]) < 110


def test_a_value_nested_too_deeply() -> None:
    assert validate({}, nested(64, 1)) == []
    (error,) = validate({}, nested(65, 1))
    assert "64 levels" in error["message"]
    (error,) = validate({}, nested(100_000, 1))
    assert "64 levels" in error["message"]
