"""Branches: what parks, what passes, what is held and voided. Numbers are those of the list of behaviours
in docs/dialects/substructure.md."""

from __future__ import annotations

from typing import Any

import pytest

from host.decisions import session_answers, session_inputs
from host.decisions.session import parking, turn_waits_for, waits_for
from host.decisions.session_fold import fold
from host.decisions.session_resume import approved
from host.decisions.state import NewEvent
from schemas.errors import Refusal
from tests.unit.branch_world import LEASE, World, user

TOOL = {"type": "tool.call", "id": "t1", "name": "send_email", "arguments": {"to": "bob"}}
MODEL = {"type": "llm.call", "id": "l1"}
INTERRUPT = {"type": "interrupt", "interrupt_id": "i1", "reason": "confirm"}


def refused(code: str) -> Any:
    """The block is refused with this code."""
    return pytest.raises(Refusal, match=f"^{code}:")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def asked(world: World) -> World:
    """u1 -> a1, parked by i1 at a1; a tool runs, its question was answered with the interrupt."""
    world.say("u1", turn="turn-1")
    first = world.next("client.messages")
    a1 = {"id": "a1", "role": "assistant", "content": "Shall I?"}
    world.answer(first, messages=[*first.trigger["new"], a1], actions=[TOOL])
    world.answer(world.next("tool.execute"), actions=[INTERRUPT])
    assert world.parked
    return world


# --- raising ----------------------------------------------------------------------------------------


def test_01_the_anchor_is_the_message_that_came_with_the_interrupt(world: World) -> None:
    world.say("u1")
    first = world.next("client.messages")
    said = {"id": "a1", "role": "assistant", "content": "?"}
    world.answer(first, messages=[*first.trigger["new"], said], actions=[INTERRUPT])
    assert world.session.pauses[0].anchor == "a1" == world.session.head


def test_02_without_a_message_it_parks_every_branch(world: World) -> None:
    world.ask("i1")
    assert world.session.pauses[0].anchor is None
    with refused("run_state_conflict"):
        world.view(user("u1"))
    with refused("run_state_conflict"):
        world.say("u1")
    assert world.session.nodes == {}


def test_03_an_id_is_minted_or_kept(world: World) -> None:
    world.ask()
    world.ask("mine")
    first, second = world.session.pauses
    assert first.interrupt_id.startswith("int_")
    assert second.interrupt_id == "mine"


def test_05_where_one_may_park_a_second_is_refused_and_told_which_does() -> None:
    world = World(several=False)
    world.ask("i1")
    with pytest.raises(Refusal) as refusal:
        world.ask("i2")
    assert refusal.value.details["interrupts"] == ["i1"]
    assert [p.interrupt_id for p in world.session.pauses] == ["i1"]


def test_05_a_workers_second_interrupt_is_no_event_where_one_may_park() -> None:
    world = World(several=False)
    world.told("u1", INTERRUPT, {**INTERRUPT, "interrupt_id": "i2"})
    assert [p.interrupt_id for p in world.session.pauses] == ["i1"]


def test_06_two_branches_can_be_parked_at_once(asked: World) -> None:
    asked.view(user("other"))
    second = asked.next("client.messages")
    more = {**INTERRUPT, "interrupt_id": "i2"}
    asked.answer(second, messages=second.trigger["new"], actions=[more])
    assert {p.interrupt_id: p.anchor for p in asked.session.pauses} == {"i1": "a1", "i2": "other"}


def test_07_only_model_calls_of_the_parked_path_are_voided(world: World) -> None:
    world.told("u1", TOOL, MODEL, {"type": "sub_agent.spawn", "session_id": "child",
                                   "agent_id": "kid", "tool_call_id": "t2"})  # fmt: skip
    events = world.ask("i1")
    assert events.count("call-voided") == 1
    assert [c.id for c in world.session.calls] == ["t1", "child"]
    assert world.session.ended == {"l1": "voided"}


def test_07_a_sibling_s_model_call_goes_on(asked: World) -> None:
    asked.view(user("other"))
    second = asked.next("client.messages")
    asked.answer(second, messages=second.trigger["new"], actions=[MODEL])
    execute = asked.next("llm.execute")
    asked.view(user("u1"), {"id": "a1", "role": "assistant"})
    assert asked.parked
    assert asked.session.live == execute, "it is with the worker, on the other branch"


def test_08_a_result_for_a_voided_call_is_passed_over(world: World) -> None:
    world.told("u1", MODEL)
    world.ask("i1")
    assert world.settle("l1", message={"id": "l1", "role": "assistant"}) == []


def test_09_an_end_beside_the_interrupt_that_voids_it_is_swallowed(world: World) -> None:
    world.told("u1", MODEL)
    execute = world.next("llm.execute")
    result = {"type": "llm.result", "response": {"model": "m", "content": "hi"}}
    events = world.answer(execute, actions=[result, INTERRUPT])
    assert "call-settled" not in events
    assert world.session.ended["l1"] == "voided"
    assert world.deliver() is None


def test_10_a_workers_interrupt_is_of_the_frontend_whatever_it_claims(world: World) -> None:
    world.told("u1", {**INTERRUPT, "payload": {"origin": "system"}, "origin": "system"})
    assert world.session.pauses[0].origin == "frontend"


# --- resuming ---------------------------------------------------------------------------------------


def ours(events: list[str]) -> list[str]:
    """The session's own events, without those of the interrupt that people see."""
    return [e for e in events if not e.startswith(("interrupt.", "node."))]


def test_11_a_resume_is_three_events_and_hands_on_the_payload(asked: World) -> None:
    payload = {"approved": True, "note": ["as", {"it": "is"}]}
    assert ours(asked.resume("i1", payload)) == ["branch-resumed", "decision-queued"]
    resumed = asked.next("interrupt.resumed")
    assert (resumed.trigger["interrupt_id"], resumed.trigger["answer"]) == ("i1", {"raw": payload})


def test_12_the_same_resume_again_writes_nothing(asked: World) -> None:
    asked.resume("i1", True)
    assert asked.resume("i1", True) == []


def test_14_an_unknown_id_writes_nothing(asked: World) -> None:
    assert asked.resume("nobody", True) == []
    assert asked.parked


@pytest.mark.parametrize(
    ("origin", "level", "may"),
    [
        ("frontend", "frontend", True),
        ("machine", "frontend", False),
        ("machine", "machine", True),
        ("operator", "machine", False),
        ("system", "operator", False),
        ("system", "system", True),
    ],
)
def test_15_who_may_clear_what(world: World, origin: Any, level: Any, may: bool) -> None:
    world.ask("i1", level=origin)
    if may:
        world.resume("i1", level=level)
    else:
        with refused("forbidden"):
            world.resume("i1", level=level)
    assert (world.session.pause("i1") is None) is may


def test_15_a_click_never_clears_what_the_system_raised(world: World) -> None:
    world.ask("i1", level="system")
    with refused("forbidden"):
        world.click("i1", {})
    assert world.session.pause("i1") is not None


def test_16_a_frontend_acts_on_its_own_sessions(world: World) -> None:
    session_inputs.check_owner(world.session, "frontend", "ada")
    with refused("forbidden"):
        session_inputs.check_owner(world.session, "frontend", "bob")


def test_17_a_resolve_without_the_rights_is_dropped_and_the_rest_stands(world: World) -> None:
    world.told("u1")
    world.ask("i1", level="system")
    world.do(lambda m: session_inputs.action(m, "click", None, None))
    click = world.next("client.action")
    world.answer(
        click,
        actions=[{"type": "interrupt.resolve", "interrupt_id": "i1"}],
        state={"clicked": True},
    )
    assert world.session.pause("i1") is not None
    world.resume("i1", level="system")
    assert world.session.state == {"clicked": True}


def test_17_a_worker_resolves_its_own(asked: World) -> None:
    asked.do(lambda m: session_inputs.action(m, "click", {"position": 0}, None))
    click = asked.next("client.action")
    resolve = {"type": "interrupt.resolve", "interrupt_id": "i1", "payload": {"approved": True}}
    asked.answer(click, actions=[resolve])
    assert asked.next("interrupt.resumed").trigger["answer"] == {"raw": {"approved": True}}


def test_18_clearing_on_an_abandoned_branch_delivers_nothing(asked: World) -> None:
    asked.view(user("other"))
    asked.accept(asked.next("client.messages"))
    events = ours(asked.resume("i1", {"approved": True}))
    assert events == ["branch-resumed", "call-voided"], "the tool that was kept for it is over"
    asked.view(user("u1"), {"id": "a1", "role": "assistant"})
    assert not asked.parked
    assert not any(d.trigger["type"] == "interrupt.resumed" for d in asked.dispatched)


def test_19_the_resume_waits_for_the_slot_and_is_the_very_next(asked: World) -> None:
    asked.view(user("other"))
    live = asked.next("client.messages")
    asked.view(user("u1"), {"id": "a1", "role": "assistant"})
    asked.settle("t1", result="early")
    asked.resume("i1", {"approved": True})
    assert asked.deliver() is None
    asked.answer(live, messages=live.trigger["new"], actions=[])
    assert asked.next("interrupt.resumed")


def test_20_a_pause_ends_no_turn(asked: World) -> None:
    before = [e.type for e in asked.log]
    asked.resume("i1", True)
    assert asked.next("interrupt.resumed").turn == "turn-1" == asked.session.turn
    assert "sayso.turn-ended" not in before


def test_20_a_resume_whose_turn_is_gone_gets_a_new_one(world: World) -> None:
    world.told("u1", {"type": "done"})
    world.ask("i1")
    world.resume("i1", True)
    assert world.session.turn not in (None, "turn-1")
    assert world.next("interrupt.resumed").turn == world.session.turn


def test_21_one_resume_leaves_the_other_open(world: World) -> None:
    world.told("u1", {**INTERRUPT, "interrupt_id": "i1"})
    world.ask("i2")
    world.resume("i1", "first")
    assert world.parked
    assert world.deliver() is None, "the branch is still parked by i2"
    world.resume("i2", "second")
    told = [world.next("interrupt.resumed")]
    world.answer(told[0], actions=[])
    told.append(world.next("interrupt.resumed"))
    assert [d.trigger["answer"]["raw"] for d in told] == ["first", "second"]


def test_a_click_in_a_channel_resumes_as_well(asked: World) -> None:
    asked.click("i1", {"said": "yes"})
    answer = asked.next("interrupt.resumed").trigger["answer"]
    assert (answer["status"], answer["value"], answer["by"]) == ("resolved", {"said": "yes"}, "ada")


# --- while parked -----------------------------------------------------------------------------------


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


# --- branches, restart, end -------------------------------------------------------------------------


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


# --- turns and the worker ---------------------------------------------------------------------------


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
