"""What a row says to the Sayso before this one, and what this one says to a row of the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import orjson
import pytest

from host.decisions.state import (
    Conversation,
    Interrupt,
    NodeState,
    OpenWait,
    Outcome,
    Question,
    Run,
    Vote,
)
from host.store import codec
from host.store.records import StoreUnavailable

RUN = Run(
    "acme/1",
    "w",
    open=(OpenWait("acme/2", "gate", "approval"),),
    tags=("a",),
    nodes=(NodeState("gate", "running", until=7),),
)
INTERRUPT = Interrupt(
    "acme/2",
    "acme/1",
    "gate",
    "k",
    "approval",
    {"key": "k"},
    5,
    notify=("web:",),
    votes=(Vote("p", "P", "accept", 6),),
    questions=(Question("p", "P", "why?", 6),),
    outcome=Outcome(value={"a": 1}, by="p"),
)
TALK = Conversation("c", "acme/1", notify=("web:",))


def row_of(found: Interrupt, **more: Any) -> tuple[Any, ...]:
    asked = orjson.loads(codec.dump_asked(found)) | more
    head = [found.interrupt_id, found.run_id, found.node_id, found.key, found.kind, found.status]
    return (*head, found.version, found.deadline, orjson.dumps(asked), codec.dump_progress(found))


def test_all_of_it_comes_back() -> None:
    assert codec.load_run(codec.dump_run(RUN)) == RUN
    assert codec.load_interrupt(row_of(INTERRUPT)) == INTERRUPT
    assert codec.load_conversation(codec.dump_conversation(TALK)) == TALK


def test_what_came_later_is_written_only_where_it_says_something() -> None:
    """An older replica refuses a member that it does not know, and goes on where there is none."""
    first = {name for name, _ in orjson.loads(codec.dump_run(RUN)).items()}
    assert first == set(codec._FIRST[Run].split())
    assert set(orjson.loads(codec.dump_asked(INTERRUPT))) <= set(codec._FIRST[Interrupt].split())
    assert set(orjson.loads(codec.dump_conversation(TALK))) == set(
        codec._FIRST[Conversation].split()
    )
    due = replace(RUN, due=9)
    assert orjson.loads(codec.dump_run(due))["due"] == 9
    assert codec.load_run(codec.dump_run(due)) == due


@pytest.mark.parametrize("kind", codec._FIRST)
def test_what_every_version_knows_is_still_there(kind: Any) -> None:
    assert set(codec._FIRST[kind].split()) <= {one.name for one in fields(kind)}


def test_a_member_that_came_later_needs_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Changed:
        known: int
        new: int

    monkeypatch.setitem(codec._FIRST, Changed, "known")
    with pytest.raises(TypeError, match=r"Changed\.new needs a default"):
        codec.later_members(Changed)


def _newer_run(member: str) -> None:
    run = orjson.loads(codec.dump_run(RUN))
    changed = {member: 1} if member != "open" else {"open": [run["open"][0] | {"unheard_of": 1}]}
    codec.load_run(orjson.dumps(run | changed))


def _newer_vote() -> None:
    *head, progress = row_of(INTERRUPT)
    more = orjson.loads(progress)
    more["votes"][0]["unheard_of"] = 1
    codec.load_interrupt((*head, orjson.dumps(more)))


def _newer_talk() -> None:
    talk = orjson.loads(codec.dump_conversation(TALK))
    codec.load_conversation(orjson.dumps(talk | {"unheard_of": 1}))


@pytest.mark.parametrize(
    "load",
    [
        lambda: _newer_run("unheard_of"),
        lambda: _newer_run("open"),
        lambda: codec.load_interrupt(row_of(INTERRUPT, unheard_of=1)),
        _newer_vote,
        _newer_talk,
    ],
)
def test_what_a_newer_sayso_wrote_is_refused_and_not_cut_down(load: Callable[[], object]) -> None:
    with pytest.raises(StoreUnavailable, match="newer Sayso"):
        load()
