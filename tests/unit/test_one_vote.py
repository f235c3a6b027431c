"""One person has one vote, whatever they are called the second time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.decisions.approval import vote
from host.decisions.evolve import evolve
from host.decisions.state import Interrupt, Policy, Principal, Run, State
from host.store.codec import dump_asked, dump_progress, load_interrupt

ANYONE = Policy(open_gates="anyone")


def gate(required: int = 2) -> Interrupt:
    data: dict[str, Any] = {
        "artifactId": "a",
        "artifactType": "t",
        "title": "T",
        "actions": ["accept", "reject"],
        "requiredApprovals": required,
    }
    payload = {"kind": "approval", "key": "k", "data": data}
    return Interrupt("acme/i", "acme/r", "n", "k", "approval", payload, 0)


def person(principal_id: str, *names: str) -> Principal:
    return Principal(principal_id, "acme", names=frozenset({principal_id, *names}))


def after(interrupt: Interrupt, *voters: Principal, action: str = "accept") -> Interrupt:
    state = State(Run("acme/r", "w", created_at=0, owner={}), (interrupt,))
    for number, voter in enumerate(voters, start=1):
        events = vote(state.interrupt, voter, {"action": action}, "slack", number, ANYONE)
        state = evolve(state, events, number)
        # As the store has it: kept and read again.
        kept = state.interrupt
        head = (kept.interrupt_id, kept.run_id, kept.node_id, kept.key, kept.kind, kept.status)
        row = (*head, kept.version, kept.deadline, dump_asked(kept), dump_progress(kept))
        assert load_interrupt(row) == kept
    return state.interrupt


CLICK = person("slack:T1:U1", "slack:T1/U1", "email:x@example.com")


@pytest.mark.parametrize(
    "again",
    [
        CLICK,
        person("email:x@example.com"),  # by mail
        person("ada", "email:x@example.com"),  # the directory has got an entry meanwhile
        person("slack:T1:U1", "slack:T1/U1", "email:y@example.com"),  # another address
        person("slack:E1:U1", "slack:E1/U1", "slack:T1/U1"),  # another spelling of the account
    ],
)
def test_the_same_person_again_is_no_second_vote(again: Principal) -> None:
    found = after(gate(), CLICK, again)
    assert found.status == "open"
    (standing,) = found.votes
    assert standing.principal == again.id
    # Nor when the names that they share were those of the first vote alone.
    assert after(gate(), again, CLICK).status == "open"


def test_a_chain_of_names_is_one_person() -> None:
    ada = person("ada", "email:x@example.com", "slack:T1/U1")
    changed = person("slack:T1:U1", "slack:T1/U1", "email:y@example.com")
    for again in ("email:y@example.com", "email:x@example.com", "ada"):
        assert after(gate(), ada, changed, person(again)).status == "open"


def test_two_people_are_two_votes() -> None:
    assert after(gate(), CLICK, person("slack:T1:U2", "slack:T1/U2")).status == "resolved"
    assert after(gate(), person("ada"), person("bob")).status == "resolved"


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12))
def test_as_many_votes_stand_as_people_voted(order: list[str]) -> None:
    voters = [person(one, f"email:{one}@example.com") for one in order]
    found = after(gate(required=50), *voters)
    assert sorted(v.principal for v in found.votes) == sorted(set(order))


def test_a_log_from_before_names_were_kept_is_read() -> None:
    found = after(gate(), person("ada"))
    (old,) = found.votes
    assert old.names == ()
    assert b"names" not in dump_progress(found)
    assert replace(old, names=()) == old
