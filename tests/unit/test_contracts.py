"""What schemas are taken, what answers they take, and that hostile ones cost a bounded count.

Bounds are asserted as counts of what is done, never as seconds: a test that is slow under load would
say nothing about the bound.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host import contracts, schema_bounds, schema_work
from host.contracts import check_schema, validate
from host.schema_bounds import survey
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


def doubling(levels: int, word: str = "allOf") -> dict[str, Any]:
    """A schema of a few hundred bytes that asks for 2**levels checks of one value."""
    definitions: dict[str, Any] = {
        f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "string"}
    return {"$defs": definitions, "$ref": "#/$defs/d0"}


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


@pytest.mark.parametrize("word", ["items", "not", "additionalProperties", "contains", "if"])
def test_depth(word: str) -> None:
    def deep(levels: int) -> Any:
        schema: Any = {}
        for _ in range(levels):
            schema = {word: schema}
        return schema

    check_schema(deep(32), where="s")
    assert "32 deep" in refused(deep(33))


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_exponential_references_are_refused_after_a_bounded_count(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = 0
    visit = schema_bounds._Reach._visit

    def counted(self: Any, node: Any) -> tuple[int, int]:
        nonlocal visits
        visits += 1
        return visit(self, node)

    monkeypatch.setattr(schema_bounds._Reach, "_visit", counted)
    assert "10,000 subschemas" in refused(doubling(60, word))
    assert visits < 500


def test_reach_is_the_count_with_references_written_out() -> None:
    assert survey(doubling(1)).reach == 6  # root, d0, two references, d1 twice
    assert survey(doubling(10)).reach == 2 + 2 * (2**10 - 1) + 2**10 + (2**10 - 2)


def test_a_long_chain_of_references_is_refused() -> None:
    chain: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(500)}
    chain["d500"] = {}
    assert "128 long" in refused({"$defs": chain, "$ref": "#/$defs/d0"})


def test_nothing_is_compiled_before_the_bounds_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*_: object, **__: object) -> None:
        raise AssertionError("a hostile schema reached the compiler")

    monkeypatch.setitem(contracts._DIALECTS, contracts._DEFAULT_DIALECT, compiled)  # type: ignore
    assert refused(doubling(40))
    assert refused({"enum": list(range(5_001))})
    assert refused({"pattern": "a" * 1_001})


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


TREE = {
    "$defs": {
        "n": {
            "type": "array",
            "allOf": [{"items": {"$ref": "#/$defs/n"}}, {"items": {"$ref": "#/$defs/n"}}],
        }
    },
    "$ref": "#/$defs/n",
}


def test_a_schema_that_doubles_at_each_level_of_the_value_is_counted_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60 levels ask for more than 2**60 checks; counting them takes a few hundred steps."""
    check_schema(TREE, where="s")
    counter = schema_work._Counter(survey(TREE).targets)
    assert counter.count(TREE, nested(60, [])) > 2**60
    assert len(counter._counted) < 500
    assert validate(TREE, nested(5, [])) == []

    class Never:
        def is_valid(self, _: object) -> bool:
            raise AssertionError("the checks were tried")

    real = contracts._contract(TREE)
    monkeypatch.setattr(
        contracts,
        "_contract",
        lambda _: contracts._Contract(real.survey, Never()),  # type: ignore
    )
    (error,) = validate(TREE, nested(60, []))
    assert "too large" in error["message"]


def test_a_recursive_schema_takes_a_large_honest_value() -> None:
    any_json = {
        "$defs": {
            "v": {
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    {"type": "array", "items": {"$ref": "#/$defs/v"}},
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/v"}},
                ]
            }
        },
        "$ref": "#/$defs/v",
    }
    value = {"rows": [{"id": n, "tags": ["a", "b"]} for n in range(300)]}
    assert validate(any_json, value) == []


def test_errors_are_listed_only_when_few_are_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library makes all errors before it hands over one, so a large value gets its first alone."""
    schema = {"items": {"type": "string"}}
    contract = contracts._contract(schema)
    listed: list[int] = []

    class Watched:
        def is_valid(self, value: Any) -> bool:
            return contract.validator.is_valid(value)

        def validate(self, value: Any) -> None:
            contract.validator.validate(value)

        def iter_errors(self, value: Any) -> Any:
            listed.append(len(value))
            return contract.validator.iter_errors(value)

    monkeypatch.setattr(
        contracts,
        "_contract",
        lambda _: contracts._Contract(contract.survey, Watched()),  # type: ignore
    )
    assert len(validate(schema, list(range(100)))) == 20
    (error,) = validate(schema, list(range(50_000)))
    assert error == {"path": [0], "message": "It must be text."}
    assert listed == [100]


def test_alternatives_over_a_large_value_get_one_sentence() -> None:
    schema = {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    (error,) = validate(schema, list(range(20_000)))
    assert error["path"] == []
    assert "too large to say where" in error["message"]


def test_a_pattern_is_paid_for_by_the_character() -> None:
    schema = {"pattern": r"^(a+)+$"}
    assert validate(schema, "a" * 1_000) == []
    assert validate(schema, "a" * 40_000 + "b") != []  # backtracking would never end
    (error,) = validate(schema, "a" * 60_000)
    assert "too large" in error["message"]


SCHEMA_WORDS = (  # noqa: SIM905 - one a line is harder to read
    "type properties items allOf anyOf not if $ref $defs enum const pattern required "
    "additionalProperties $anchor $id dependencies prefixItems a "
).split()

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(SCHEMA_WORDS) | st.text(max_size=3),
            inner | st.sampled_from(["#", "#/$defs/a", "string", "#/items"]),
            max_size=4,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=300, deadline=None)
@given(schema=JSON, value=JSON)
def test_any_json_as_schema_is_taken_or_refused_and_nothing_else(schema: Any, value: Any) -> None:
    try:
        check_schema(schema, where="s")
    except Refusal as refusal:
        refusals = [refusal.code]
    else:
        refusals = []
    assert refusals in ([], ["validation_error"])
    if refusals:
        return
    errors = validate(schema, value)
    assert len(errors) <= 20
    assert all(set(error) == {"path", "message"} and error["message"] for error in errors)


SMALL = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "array", "object"])}),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.integers() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(schema=SMALL, value=VALUES)
def test_the_cheap_bound_is_never_below_the_count(schema: Any, value: Any) -> None:
    found = survey(schema)
    places, characters = schema_work.size(value)
    assert schema_work.at_most(found, places, characters) >= schema_work.work(found, value) >= 1
