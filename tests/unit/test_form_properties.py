"""Properties of forms, over schemas and values that nobody thought of."""

from __future__ import annotations

import json
import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from adapters.forms import form_from_questions, form_from_schema, initial_values, read_values
from adapters.views import Field
from host.contracts import validate

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
