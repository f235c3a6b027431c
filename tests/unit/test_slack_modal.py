"""Forms as Slack's modals, and what comes back from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.forms import form_from_schema, read_values
from adapters.slack import modal
from adapters.views import Choice, Field, Form
from tests.fakes.slack_blocks import (
    VIEW_BYTES,
    check_view,
    view_bytes,
)
from tests.fakes.slack_state import state_of

anything = st.text(
    alphabet=st.one_of(st.sampled_from("<>&`*_~ \n😀\u202e\x00"), st.characters()), max_size=400
)
long_text = st.one_of(anything, anything.map(lambda text: text * 60))

BINDING = modal.Binding("int_1", "answer", 2, "C1", "1.1")
REGIONS = tuple(Choice(f"r{n}", f"Region {n}") for n in range(7))
FIELDS = (
    Field("f0", ("name",), "Name", "text", required=True, max_length=20, placeholder="who"),
    Field("f1", ("why",), "Why", "longtext", default="so", has_default=True),
    Field("f2", ("one",), "One", "choice", choices=REGIONS[:2], default="r1", has_default=True),
    Field("f3", ("big",), "Big", "choice", choices=REGIONS),
    Field("f4", ("any",), "Any", "choices", choices=REGIONS[:3], default=["r2"], has_default=True),
    Field("f5", ("few",), "Few", "choices", choices=REGIONS, max_items=2),
    Field("f6", ("yes",), "Yes?", "boolean", default=False, has_default=True),
    Field("f7", ("count",), "Count", "integer", minimum=0, maximum=9, default=3, has_default=True),
    Field("f8", ("rate",), "Rate", "number", minimum=1e-7, default=0.5, has_default=True),
    Field("f9", ("day",), "Day", "date", default="2026-02-28", has_default=True, group="When"),
    Field("f10", ("at",), "At", "time", default="09:30", has_default=True, group="When"),
    Field("f11", ("moment",), "Moment", "datetime", default="soon", has_default=True),
    Field("f12", ("mail",), "Mail", "email"),
    Field("f13", ("page",), "Page", "url"),
    Field("f14", ("tags",), "Tags", "list", default=["a", "b"], has_default=True),
    Field("f15", ("raw",), "Raw", "json", default={"a": 1}, has_default=True),
    Field("f16", ("fixed",), "Fixed", "constant", default=7, has_default=True),
)
FORM = Form("A form with a rather long title", FIELDS, "Please answer.")


def test_each_kind_of_field_is_asked_with_what_is_there_already() -> None:
    assert modal.unfit(FORM) == ""
    view = modal.form_view(FORM, BINDING)
    assert check_view(view) == []
    assert modal.Binding.load(view["private_metadata"]) == BINDING
    state = state_of(view, {"Name": "ada", "Few": ["Region 6", "Region 1"]})
    raw = modal.values(FORM, state)
    assert raw == {
        "f0": "ada",
        "f1": "so",
        "f2": "1",
        "f4": ["2"],
        "f5": ["1", "6"],
        "f6": "false",
        "f7": "3",
        "f8": "0.5",
        "f9": "2026-02-28",
        "f10": "09:30",
        "f14": "a\nb",
        "f15": '{\n  "a": 1\n}',
    }
    assert "Name: ada" in modal.typed(view["blocks"], state)
    assert "Few: Region 6, Region 1" in modal.typed(view["blocks"], state)


def test_a_moment_comes_back_with_its_zone() -> None:
    view = modal.form_view(FORM, BINDING)
    raw = modal.values(FORM, state_of(view, {"Name": "a", "Moment": 1767268800}))
    assert raw["f11"] == "2026-01-01T12:00:00+00:00"


def test_labels_that_are_cut_alike_are_told_apart() -> None:
    choices = tuple(Choice(n, "x" * 80 + str(n)) for n in range(3))
    view = modal.form_view(Form("F", (Field("f0", (), "L", "choice", choices=choices),)), BINDING)
    assert check_view(view) == []
    shown = [one["text"]["text"] for one in view["blocks"][0]["element"]["options"]]
    assert len(set(shown)) == 3


def test_errors_stand_at_inputs_only() -> None:
    form = replace(FORM, fields=(FIELDS[0], FIELDS[16]))
    first = modal.block_of(form, "f0")
    assert modal.errors(form, {"f0": "Too short."}) == {first: "Too short."}
    assert modal.errors(form, {"f16": "Not 7.", "f99": "Gone."}) == {first: "Not 7. Gone."}
    assert modal.errors(replace(form, fields=(FIELDS[16],)), {"f16": "Not 7."}) == {}


def test_another_form_has_other_ids() -> None:
    other = replace(FORM, fields=(replace(FIELDS[0], path=("other",)), *FIELDS[1:]))
    view = modal.form_view(FORM, BINDING)
    assert modal.shows(FORM, view["blocks"])
    assert not modal.shows(other, view["blocks"])
    assert not modal.shows(FORM, [])
    assert modal.values(other, state_of(view, {"Name": "ada"})) == {}


@pytest.mark.parametrize(
    "field",
    [
        Field("f0", (), "L", "choice", choices=tuple(Choice(n, str(n)) for n in range(101))),
        Field("f0", (), "L", "choice"),
        Field("f0", (), "L", "longtext", min_length=3001),
        Field("f0", (), "L", "longtext", default="x" * 3001, has_default=True),
    ],
)
def test_what_a_modal_cannot_hold_is_said(field: Field) -> None:
    assert modal.unfit(Form("F", (field,)))


def test_too_many_fields_or_too_much_text_is_said() -> None:
    many = tuple(Field(f"f{n}", (str(n),), "L", "text") for n in range(96))
    assert "more fields" in modal.unfit(Form("F", many))
    assert modal.unfit(Form("F", many[:95])) == ""
    choices = tuple(Choice(n, f"{n}" + "é" * 72, "é" * 75) for n in range(100))
    heavy = tuple(Field(f"f{n}", (str(n),), "L", "choice", choices=choices) for n in range(12))
    assert "larger" in modal.unfit(Form("F", heavy))


schemas = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "maxLength": 5000, "default": "<&>" * 20},
            {"type": "integer", "minimum": 1, "default": 0},
            {"type": "number", "default": 1e30},
            {"type": "boolean", "default": True},
            {"enum": ["a", 1, None, True]},
            {"type": "array", "items": {"enum": ["x", "y"]}, "default": ["y"]},
            {"type": "array", "items": {"type": "string"}, "default": ["x"]},
            {"type": "string", "format": "date", "default": "2026-13-01"},
            {"type": "string", "format": "date-time", "default": "1999-01-01T00:00:00Z"},
            {"type": "string", "format": "email"},
            {"const": {"a": 1}},
        ]
    ),
    lambda inner: st.dictionaries(anything.map(lambda t: t[:30]), inner, max_size=5).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:2],
        }
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(schema=schemas, title=anything, intro=long_text)
def test_every_form_is_one_that_slack_takes_or_is_said_not_to(
    schema: dict[str, Any], title: str, intro: str
) -> None:
    form = form_from_schema(schema, title=title, intro=intro)
    if modal.unfit(form):
        return
    view = modal.form_view(form, BINDING)
    assert check_view(view) == []
    assert view_bytes(view) <= VIEW_BYTES
    assert modal.shows(form, view["blocks"])
    _, problems = read_values(form, modal.values(form, {}))
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    assert modal.errors(form, problems).keys() <= inputs


@given(kept=long_text, sentence=long_text, title=anything)
def test_every_notice_is_one_that_slack_takes(kept: str, sentence: str, title: str) -> None:
    view = modal.notice_view(title, sentence, BINDING, link="https://x.example", kept=kept)
    assert check_view(view) == []
    assert check_view(modal.loading_view(BINDING)) == []
