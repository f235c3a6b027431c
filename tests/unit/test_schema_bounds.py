"""Hostile schemas and values cost a bounded count of steps.

Bounds are asserted as counts of what is done, never as seconds: a test that is slow under load would
say nothing about the bound.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host import contracts, schema_bounds, schema_work
from host.contracts import check_schema, validate
from host.schema_bounds import survey
from schemas.errors import Refusal


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
    counter = schema_work._Counter(survey(TREE).targets, schema_work._checks)
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


FRACTIONS = [n + 0.5 for n in range(2_000)]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        # Each of these took from two to forty seconds.
        ({"contains": {"enum": FRACTIONS}}, [-n - 0.25 for n in range(2_000)]),
        ({"contains": {"enum": list(range(2_000))}}, [-n - 0.25 for n in range(2_000)]),
        ({"contains": {"enum": [[n] for n in range(4_000)]}}, [[-1 - n] for n in range(20_000)]),
        ({"contains": {"const": FRACTIONS}}, [[*FRACTIONS[:-1], 0.25] for _ in range(20)]),
        ({"items": {"multipleOf": 1e-300}}, [1e300 + n for n in range(20_000)]),
        ({"items": {"uniqueItems": True}}, [FRACTIONS[n : n + 15] for n in range(1_900)]),
        ({"allOf": [{"uniqueItems": True}] * 1_000}, list(range(20_000))),
        (
            {"properties": {"r": {"$ref": "#"}}, "allOf": [{"uniqueItems": True}] * 900},
            list(range(20_000)),
        ),
        ({"items": {"required": [str(n) for n in range(3_000)]}}, [{} for _ in range(5_000)]),
    ],
)
def test_what_few_checks_would_cost_is_counted_too(schema: Any, value: Any) -> None:
    (error,) = validate(schema, value)
    assert "too large" in error["message"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"enum": [1, 2, 3, 4, 5]}}, [n % 5 + 1 for n in range(5_000)]),
        ({"items": {"enum": [0.5, 1.0, 1.5]}}, [0.5] * 1_000),
        ({"items": {"minimum": 0.0, "maximum": 1e6, "multipleOf": 0.01}}, [19.99] * 2_000),
        ({"uniqueItems": True, "items": {"type": "string"}}, [f"tag {n}" for n in range(5_000)]),
        ({"items": {"required": ["a", "b"], "properties": {"a": {}}}}, [{"a": 1, "b": 2}] * 9_000),
    ],
)
def test_large_and_honest_is_taken(schema: Any, value: Any) -> None:
    assert validate(schema, value) == []


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


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.integers() | st.text(max_size=2) | FLOATS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)
SMALL = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "array", "object"])}),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"items": inner, "uniqueItems": st.booleans()}),
        st.fixed_dictionaries({"enum": st.lists(VALUES, max_size=3), "allOf": st.tuples(inner)}),
        st.fixed_dictionaries({"multipleOf": st.sampled_from([3, 0.1, 1e-300]), "minimum": FLOATS}),
        st.fixed_dictionaries({"const": VALUES, "required": st.lists(st.sampled_from("ab"))}),
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(schema=SMALL, value=VALUES)
def test_the_cheap_bound_is_never_below_the_count(schema: Any, value: Any) -> None:
    found = survey(schema)
    places, characters = schema_work.size(value)
    assert schema_work.at_most(found, places, characters) >= schema_work.work(found, value) >= 1
    assert found.costs * places >= schema_work.costs(found, value) >= 0
