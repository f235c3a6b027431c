"""Branches: what parks one, and what resumes it. Numbers are those of the list of behaviours
in docs/dialects/substructure.md."""

from __future__ import annotations

from typing import Any

import pytest

from host.decisions import session_inputs
from schemas.errors import Refusal
from tests.unit.branch_asked import (
    INTERRUPT,
    MODEL,
    TOOL,
    asked,
    refused,
    world,
)
from tests.unit.branch_world import World, user

__all__ = ["asked", "world"]


# --- raising --------------------------------------------------------------------------------------


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


# --- resuming -------------------------------------------------------------------------------------


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
