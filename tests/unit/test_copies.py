"""Copies of records: the same as the standard library's `replace`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.audit import Entry
from host.decisions.copies import replace
from host.decisions.state import Interrupt, NewEvent, Run

RECORDS = (
    Run("acme/r1", "flow", tags=("a",)),
    Interrupt("acme/i1", "acme/r1", "gate", "k", "approval", {"data": {}}, 5),
    NewEvent("run.started", {}, record={"by": "ada"}),
    Entry("acme", 1, 2, "requested", "acme/r1", 0),
)


@given(st.sampled_from(RECORDS), st.data())
def test_a_copy_is_what_the_standard_library_makes(record: Any, data: st.DataObject) -> None:
    names = [field.name for field in dataclasses.fields(record)]
    chosen = data.draw(st.dictionaries(st.sampled_from(names), st.integers()))
    before = dataclasses.replace(record)
    made = replace(record, **chosen)
    assert made == dataclasses.replace(record, **chosen)
    assert type(made) is type(record)
    assert record == before


def test_an_unknown_member_is_refused() -> None:
    with pytest.raises(KeyError):
        replace(RECORDS[0], colour="red")
