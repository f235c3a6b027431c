"""Turns of a session and its worker: leases, attempts, fences."""

from __future__ import annotations

import pytest

from host.decisions import session_answers, session_inputs
from tests.unit.branch_asked import (
    TOOL,
    asked,
    refused,
    world,
)
from tests.unit.branch_world import LEASE, World, user

__all__ = ["asked", "world"]


def test_a_second_turn_is_refused_or_queued(world: World) -> None:
    world.say("u1", turn="turn-1")
    with refused("run_state_conflict"):
        world.say("u2")
    assert world.say("u2", turn="turn-2", queue=True).queued
    assert session_inputs.known_turn(world.session, "turn-2") == world.result


def test_an_answer_while_an_interrupt_came_waits_whole(world: World) -> None:
    world.told("u1", TOOL)
    execute = world.next("tool.execute")
    world.ask("i1")
    late = {"id": "a1", "role": "assistant", "content": "done"}
    end = {"type": "tool.result", "result": "sent"}
    events = world.answer(execute, messages=[late], actions=[end])
    assert events == ["call-settled", "decision-queued", "decision-answered"]
    world.resume("i1", True)
    assert world.session.head == "a1"
    assert world.next("interrupt.resumed").anchor == "a1"


def test_a_lease_that_ran_out_is_taken_over_and_the_late_answer_is_nothing(world: World) -> None:
    world.say("u1")
    first = world.next("client.messages")
    assert world.deliver() is None
    world.now += LEASE
    again = world.next("client.messages")
    assert (again.id, again.attempts) == (first.id, 2)
    world.answer(again, messages=again.trigger["new"], actions=[])
    assert world.answer(first, messages=[user("twice")], actions=[]) == []


def test_a_question_without_an_answer_is_held_once_its_branch_is_parked(world: World) -> None:
    world.say("u1")
    first = world.next("client.messages")
    world.ask("i1")
    world.now += LEASE
    assert world.deliver() is None
    world.resume("i1", True)
    world.answer(world.next("interrupt.resumed"), actions=[])
    assert world.next("client.messages").id == first.id


def test_after_the_last_attempt_the_turn_fails_and_the_queue_goes_on(world: World) -> None:
    world.say("u1", turn="turn-1")
    world.say("u2", turn="turn-2", queue=True)
    for _ in range(3):
        world.next("client.messages")
        world.now += LEASE
    assert world.next("client.messages").turn == "turn-2"
    assert world.session.turns["turn-1"] == "failed"


@pytest.mark.parametrize("open_calls", [0, 2])
def test_an_end_without_an_id_needs_exactly_one_open_call(world: World, open_calls: int) -> None:
    calls = [{**TOOL, "id": f"t{n}"} for n in range(open_calls)]
    world.told("u1", *calls)
    for _ in calls:
        world.answer(world.next("tool.execute"), actions=[])
    world.do(lambda m: session_inputs.action(m, "click", None, None))
    click = world.next("client.action")
    with refused("validation_error"):
        session_answers.check_answer(
            world.session, click, {"actions": [{"type": "tool.result", "result": 1}]}
        )


def test_settling_is_fenced(asked: World) -> None:
    with refused("not_found"):
        asked.settle("nobody")
    with refused("forbidden"):
        asked.settle("t1", level="frontend")
    with refused("run_state_conflict"):
        asked.do(lambda m: session_inputs.settle(m, "t1", "machine", 2, {"result": 1}))
    asked.settle("t1")
    with refused("run_state_conflict"):
        asked.settle("t1")


def test_a_failing_tool_is_tried_again_as_it_asks(world: World) -> None:
    world.told("u1", TOOL)
    again = {"type": "tool.error", "error": "busy", "retryable": True}
    for attempt in (1, 2, 3):
        execute = world.next("tool.execute")
        call = world.session.call("t1")
        assert call is not None
        assert call.attempt == attempt
        world.answer(execute, actions=[again])
        world.now += 60_000
    assert world.next("tool.finished").trigger["error"] == "busy"


def test_the_whole_of_the_usual_way(world: World) -> None:
    """Model, tool, model again, done: a worker that only runs its tools and models."""
    world.say("u1", turn="turn-1")
    world.accept(world.next("client.messages"))
    call = {"id": "t1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    response = {"model": "m", "tool_calls": [call]}
    world.answer(world.next("llm.execute"), actions=[{"type": "llm.result", "response": response}])
    world.accept(world.next("llm.finished"))
    world.answer(world.next("tool.execute"), actions=[{"type": "tool.result", "result": "2"}])
    world.accept(world.next("tool.finished"))
    response = {"model": "m", "content": "Two."}
    world.answer(world.next("llm.execute"), actions=[{"type": "llm.result", "response": response}])
    world.accept(world.next("llm.finished"))
    roles = [m["role"] for m in world.session.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert (world.session.turn, world.session.status) == (None, "done")
    assert world.session.turns == {"turn-1": "completed"}
