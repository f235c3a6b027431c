"""Copies of records: the same as the standard library's `replace`."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.audit import Entry
from host.decisions.copies import quick, replace
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
    with pytest.raises(AttributeError):
        replace(RECORDS[0], colour="red")


def test_a_record_made_quickly_is_the_one_that_dataclasses_make() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Plain:
        name: str
        tags: tuple[str, ...] = ()
        members: dict[str, int] = dataclasses.field(default_factory=dict)

    @quick
    @dataclasses.dataclass(frozen=True, slots=True)
    class Quick:
        name: str
        tags: tuple[str, ...] = ()
        members: dict[str, int] = dataclasses.field(default_factory=dict)

    right: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (("a",), {}),
        (("a", ("b",)), {"members": {"c": 1}}),
        ((), {"tags": (), "name": ""}),
    ]
    for args, kwargs in right:
        assert dataclasses.asdict(Quick(*args, **kwargs)) == dataclasses.asdict(
            Plain(*args, **kwargs)
        )
    assert Quick("a").members is not Quick("b").members
    assert type(Quick("a")) is Quick
    make: Any = Quick
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        (("a",), {"colour": 1}),
        (("a", (), {}, 1), {}),
    ]
    for args, kwargs in wrong:
        with pytest.raises(TypeError):
            make(*args, **kwargs)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_made_quickly_is_frozen(record: Any) -> None:
    for made in (record, replace(record)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, dataclasses.fields(made)[0].name, "other")
        assert copy.copy(made) == made


def test_a_record_with_a_init_of_its_own_is_not_made_quickly() -> None:
    with pytest.raises(TypeError, match="its own __init__"):

        @quick
        @dataclasses.dataclass(frozen=True, slots=True)
        class Checked:
            name: str

            def __post_init__(self) -> None: ...
