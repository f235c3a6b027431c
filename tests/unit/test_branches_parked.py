"""Branches: what passes a parked one, what is held and voided. Numbers are those of the list of behaviours
in docs/dialects/substructure.md."""

from __future__ import annotations

from typing import Any

import pytest

from host.decisions import session_inputs
from host.decisions.session import parking, turn_waits_for, waits_for
from host.decisions.session_delivery import proposed
from host.decisions.session_fold import fold
from host.decisions.session_resume import approved
from host.decisions.state import NewEvent
from tests.unit.branch_asked import (
    TOOL,
    asked,
    refused,
    world,
)
from tests.unit.branch_world import LEASE, World, user

__all__ = ["asked", "world"]


# --- while parked ---------------------------------------------------------------------------------


def test_22_a_users_message_is_refused_and_not_stored(asked: World) -> None:
    before = len(asked.log)
    with refused("run_state_conflict"):
        asked.say("more")
    with refused("run_state_conflict"):
        asked.do(lambda m: session_inputs.append(m, [user("x"), user("y")], None))
    assert len(asked.log) == before


def test_23_an_edit_of_an_earlier_message_goes_on(asked: World) -> None:
    events = asked.view(user("u1-edited"))
    assert "head-moved" in events
    assert not asked.parked
    assert asked.session.pause("i1") is not None
    asked.accept(asked.next("client.messages"))
    assert asked.session.head == "u1-edited"


def test_24_going_back_is_parked_again_and_can_be_answered(asked: World) -> None:
    asked.view(user("other"))
    asked.accept(asked.next("client.messages"))
    asked.accept(asked.next("llm.execute"))
    asked.view(user("u1"), {"id": "a1", "role": "assistant"})
    assert asked.parked
    asked.resume("i1", {"approved": True})
    resumed = asked.next("interrupt.resumed")
    asked.answer(resumed, actions=[{"type": "tool.result", "result": "sent"}])
    assert asked.next("tool.finished").trigger["result"] == "sent"


@pytest.mark.parametrize(
    ("view", "passes"),
    [
        ([user("u1"), {"id": "a1", "role": "assistant"}, user("x")], False),
        ([user("u1"), user("x")], True),
        ([user("x")], True),
    ],
    ids=["at the anchor", "at its parent", "at the root"],
)
def test_25_a_fork_passes_above_the_anchor_alone(
    asked: World, view: list[dict[str, Any]], passes: bool
) -> None:
    if passes:
        asked.view(*view)
        return
    with refused("run_state_conflict"):
        asked.view(*view)


def test_25_a_fork_at_a_descendant_of_the_anchor_is_refused(world: World) -> None:
    world.told("u1")
    world.told("u2")
    world.view(user("u1"))
    world.ask("i1")
    with refused("run_state_conflict"):
        world.view(user("u1"), user("u2"), user("x"))


def test_26_results_of_client_tools_are_recorded_and_what_follows_is_held(world: World) -> None:
    world.told("u1")
    agent = {"model": "m", "tools": [{"name": "pick", "handler": "client"}]}
    call = {"type": "tool.call", "id": "c1", "name": "pick", "arguments": {}}
    world.say("u2")
    second = world.next("client.messages")
    world.answer(second, messages=second.trigger["new"], actions=[call], agent=agent)
    world.ask("i1")
    result = {"role": "tool", "tool_call_id": "c1", "content": "red"}
    events = world.view(user("u1"), user("u2"), result)
    assert events == ["call-settled", "decision-queued"]
    assert world.deliver() is None
    world.resume("i1", True)
    assert world.next("interrupt.resumed")


def test_27_what_follows_is_delivered_after_the_resume_once(asked: World) -> None:
    asked.settle("t1", result="sent")
    assert asked.deliver() is None
    [held] = asked.session.decisions
    assert waits_for(asked.session, held) == ["interrupt:i1"]
    asked.resume("i1", True)
    asked.answer(asked.next("interrupt.resumed"), actions=[])
    finished = asked.next("tool.finished")
    assert (finished.id, finished.trigger["result"]) == (held.id, "sent")
    asked.answer(finished, actions=[])
    assert asked.deliver() is None


def test_28_held_work_blocks_no_other_branch_and_no_time_runs(asked: World) -> None:
    asked.settle("t1", result="sent")
    asked.view(user("other"))
    assert asked.session.decisions[0].trigger["type"] == "tool.finished", "kept, and first in line"
    live = asked.next("client.messages")
    asked.answer(live, messages=live.trigger["new"], actions=[])
    asked.view(user("u1"), {"id": "a1", "role": "assistant"})
    asked.now += 365 * 86_400_000
    assert asked.deliver() is None
    assert asked.state.run.due is None, "nothing is due while it is held"
    asked.resume("i1", True)
    resumed = asked.next("interrupt.resumed")
    assert resumed.until == asked.now + LEASE, "its time begins with its delivery"


def test_29_a_named_action_always_passes(world: World) -> None:
    world.ask("i1", level="system")
    world.do(lambda m: session_inputs.action(m, "click", {"n": 1}, None))
    click = world.next("client.action")
    assert click.trigger["args"] == {"n": 1}


def test_29_what_its_answer_would_add_waits_for_the_resume(asked: World) -> None:
    asked.do(lambda m: session_inputs.action(m, "click", None, None))
    click = asked.next("client.action")
    note = {"id": "n1", "role": "assistant", "content": "Clicked."}
    assert asked.answer(click, messages=[note], actions=[]) == ["decision-answered"]
    assert "n1" not in asked.session.nodes
    asked.resume("i1", True)
    assert asked.session.nodes["n1"].parent == "a1"


def test_29_what_its_answer_would_add_goes_with_its_branch(asked: World) -> None:
    """The branch is left before the interrupt on it is cleared: nothing is there to add it to."""
    asked.do(lambda m: session_inputs.action(m, "click", None, None))
    click = asked.next("client.action")
    note = {"id": "n1", "role": "assistant", "content": "Clicked."}
    asked.answer(click, messages=[note], actions=[])
    asked.view(user("other"))
    asked.accept(asked.next("client.messages"))
    assert "decision-dropped" in asked.resume("i1", True)
    assert asked.session.decision(click.id) is None
    assert "n1" not in asked.session.nodes


def test_30_a_queued_message_waits_for_interrupt_and_turn(asked: World) -> None:
    accepted = asked.say("later", turn="turn-2", queue=True)
    assert accepted.queued
    assert turn_waits_for(asked.session, 0) == ["interrupt:i1", "turn:turn-1"]
    asked.resume("i1", True)
    resumed = asked.next("interrupt.resumed")
    asked.answer(resumed, actions=[{"type": "tool.result", "result": "sent"}])
    finished = asked.next("tool.finished")
    assert asked.session.turn == "turn-1"
    asked.answer(finished, actions=[{"type": "done"}])
    assert asked.next("client.messages").turn == "turn-2"


# --- branches, restart, end -----------------------------------------------------------------------


def test_31_moving_up_writes_nothing_and_voids_the_work_left_behind(world: World) -> None:
    world.told("u1")
    world.told("u2", TOOL)
    events = world.view(user("u1"))
    assert events[0] == "head-moved"
    assert {"call-voided", "decision-dropped"} <= set(events)
    assert not {"message-added", "decision-queued"} & set(events)
    assert world.session.calls == ()


def test_31_the_interrupt_is_not_voided_nor_what_it_keeps(asked: World) -> None:
    assert asked.view(user("u1")) == ["head-moved"]
    assert asked.session.pause("i1") is not None
    assert [c.id for c in asked.session.calls] == ["t1"]


def test_33_an_interrupt_without_an_anchor_in_the_log_is_global(world: World) -> None:
    world.told("u1")
    event = NewEvent(
        "sayso.branch-parked",
        {
            "interruptId": "old",
            "hostInterruptId": "acme/0123456789abcdef",
            "origin": "system",
            "reason": "budget",
        },
    )
    session = fold(world.session, event)
    assert session is not None
    assert parking(session, "u1") == parking(session, None) == session.pauses


def test_35_after_the_end_a_resume_is_nothing(asked: World) -> None:
    cancelled = NewEvent("run.cancelled", {"cancelledBy": "ops"})
    asked.do(lambda m: m.extend([cancelled]))
    assert asked.resume("i1", True) == []
    assert asked.state.run.due is None
    with refused("run_terminal"):
        asked.say("more")


@pytest.mark.parametrize(
    ("payload", "yes"),
    [
        ({"approved": True}, True),
        ({"status": "resolved", "payload": {"approved": True}}, True),
        ({"status": "resolved", "approved": True, "payload": {"approved": True}}, True),
        ({"status": "cancelled", "payload": {"approved": True}}, False),
        ({"status": "cancelled", "approved": True}, False),
        ({"approved": False, "payload": {"approved": True}}, False),
        ({"approved": "true"}, False),
        ({"approved": 1}, False),
        ({}, False),
        (None, False),
        ("true", False),
    ],
)
def test_41_what_reads_as_a_yes(payload: Any, yes: bool) -> None:
    assert approved(payload) is yes


def test_28_a_model_is_asked_again_whatever_is_held_elsewhere(asked: World) -> None:
    asked.settle("t1", result="sent")
    asked.view(user("other"))
    live = asked.next("client.messages")
    said = {"id": "a2", "role": "assistant", "content": "At once."}
    call = {**TOOL, "id": "t2"}
    asked.answer(live, messages=[*live.trigger["new"], said], actions=[call])
    asked.answer(asked.next("tool.execute"), actions=[{"type": "tool.result", "result": "done"}])
    finished = asked.next("tool.finished")
    assert finished.trigger["id"] == "t2"
    assert proposed(asked.session, finished)["actions"] == [{"type": "llm.call"}]
