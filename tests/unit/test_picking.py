"""Which values of an answer were picked: the schema walked beside the value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.decisions.picking import MOST, Pick, picks
from schemas.errors import Refusal

ONE = {"type": "string", "x-sayso-picker": "customers"}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        (ONE, "c1", [((), "c1")]),
        (ONE, 7, []),
        ({"type": "array", "items": ONE}, ["c1", "c2"], [((0,), "c1"), ((1,), "c2")]),
        (
            {"properties": {"who": ONE, "note": {"type": "string"}}},
            {"who": "c1", "note": "c9"},
            [(("who",), "c1")],
        ),
        ({"anyOf": [ONE, {"type": "null"}]}, None, []),
        ({"anyOf": [ONE, {"type": "null"}]}, "c1", [((), "c1")]),
        ({"oneOf": [{"const": "nobody"}, ONE]}, "nobody", []),
        ({"oneOf": [{"enum": ["nobody"]}, ONE]}, "c1", [((), "c1")]),
        ({"allOf": [{"minLength": 1}, ONE]}, "c1", [((), "c1")]),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": ONE}}, "c1", [((), "c1")]),
        ({"prefixItems": [ONE], "items": {}}, ["c1", "c2"], [((0,), "c1")]),
        ({"additionalProperties": ONE}, {"x": "c1"}, [(("x",), "c1")]),
        ({"$ref": "https://elsewhere/x"}, "c1", []),
        (True, "c1", []),
    ],
)
def test_picks(schema: Any, value: Any, found: list[tuple[Any, str]]) -> None:
    assert picks(schema, value) == [Pick("customers", option, path) for path, option in found]


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"$ref": "#", "items": {"$ref": "#"}, "x-sayso-picker": "customers"}
    nested: Any = "c1"
    for _ in range(200):
        nested = [nested]
    assert len(picks(schema, nested)) <= MOST


def test_no_more_than_so_many() -> None:
    with pytest.raises(Refusal, match="too many"):
        picks({"items": ONE}, ["c"] * (2 * MOST))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["items", "anyOf", "$ref", "x-sayso-picker", "a"]), inner)
    ),
    max_leaves=15,
)


@settings(deadline=None)
@given(json_values, json_values)
def test_any_schema_and_any_value_are_walked(schema: Any, value: Any) -> None:
    assert isinstance(picks(schema, value), list)
