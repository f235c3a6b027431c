"""Workflow runs as the rules have them: order, edges, rejections, loops, delays, conversations."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError

from host import contracts
from host.decisions import request as asking
from host.decisions import workflow
from host.decisions.ending import expired_events, timed_out
from host.decisions.evolve import evolve
from host.decisions.resolve import Answer, resolve
from host.decisions.state import NewEvent, Policy, Principal, Run, State
from host.decisions.steps import Step
from schemas.workflows import Workflow

NOW = 1_789_128_000_000
ADA = Principal("ada", "acme", names=frozenset({"ada"}))
POLICY = Policy()


class Play:
    """A run of a workflow, driven in memory."""

    def __init__(self, flow: dict[str, Any], **run: Any) -> None:
        self.flow = Workflow.model_validate(flow)
        self.ids = count(1)
        self.now = NOW
        self.events: list[NewEvent] = []
        start = Run("acme/run-000000000000001", self.flow.workflow_id, **run)
        self.state = State(start)
        self.add(asking.start_run(start, None))
        self.add(workflow.begin(self.flow, self.state, self.step))

    @property
    def step(self) -> Step:
        return Step(self.now, lambda: f"acme/int-{next(self.ids):016d}", ADA, POLICY)

    @property
    def types(self) -> list[str]:
        return [e.type for e in self.events]

    def add(self, events: list[NewEvent]) -> None:
        self.events += events
        self.state = evolve(self.state, events, self.now)

    def answer(self, value: Any) -> None:
        asked = next(i for i in self.state.interrupts if i.status == "open")
        others = tuple(i for i in self.state.interrupts if i is not asked)
        self.state = State(self.state.run, (asked, *others), self.state.conversations)
        answer = Answer(ADA, value, "test")
        self.add(resolve(self.state, answer, self.now, POLICY, contracts.validate))
        ended = next(i for i in self.state.interrupts if i.interrupt_id == asked.interrupt_id)
        self.add(workflow.settle(self.flow, self.state, ended, self.step))

    def expire(self) -> None:
        asked = next(i for i in self.state.interrupts if i.status == "open")
        self.add(expired_events(asked, self.now))
        ended = next(i for i in self.state.interrupts if i.interrupt_id == asked.interrupt_id)
        self.add(workflow.settle(self.flow, self.state, ended, self.step))


def flow(*nodes: dict[str, Any], edges: tuple[tuple[str, str, str], ...] = ()) -> dict[str, Any]:
    return {
        "workflowId": "w",
        "nodes": list(nodes),
        "edges": [{"from": a, "to": b, "rule": rule} for a, b, rule in edges],
    }


def noop(name: str) -> dict[str, Any]:
    return {"id": name, "type": "core.noop"}


GATE = {"id": "gate", "type": "core.approvalGate", "config": {"title": "T"}}


def test_nodes_in_sequence_complete_the_run() -> None:
    play = Play(flow(noop("a"), noop("b"), edges=(("a", "b", "all_success"),)))
    assert play.types == [
        "run.started",
        "node.started",
        "node.completed",
        "node.started",
        "node.completed",
        "run.completed",
    ]
    assert play.state.run.status == "completed"


def test_an_approval_pauses_and_an_accept_goes_on() -> None:
    play = Play(flow(GATE, noop("b"), edges=(("gate", "b", "all_success"),)))
    assert play.state.run.status == "waiting-approval"
    assert play.state.run.current_node == "gate"
    assert play.state.interrupt.key == "acme/run-000000000000001:gate:1"
    play.answer({"action": "accept"})
    assert play.state.run.status == "completed"


def test_a_rejection_without_a_route_fails_the_run() -> None:
    play = Play(flow(GATE, noop("b"), edges=(("gate", "b", "any_success"),)))
    play.answer({"action": "reject"})
    assert play.state.run.status == "failed"
    assert play.state.run.error is not None
    assert play.state.run.error["code"] == "approval_rejected"
    assert play.types[-2:] == ["node.failed", "run.failed"]
    assert play.state.run.node("b") is None


@pytest.mark.parametrize("rule", ["any_failed", "all_complete"])
def test_a_rejection_is_routed(rule: str) -> None:
    edges = (("gate", "no", rule), ("gate", "yes", "all_success"))
    play = Play(flow(GATE, noop("no"), noop("yes"), edges=edges))
    play.answer({"action": "reject"})
    assert play.state.run.status == "completed"
    assert play.state.run.node("no") is not None
    assert play.state.run.node("yes") is None


def test_a_loop_asks_again_under_a_new_key() -> None:
    edges = (
        ("start", "gate", "any_success"),
        ("gate", "revise", "any_failed"),
        ("revise", "gate", "any_success"),
    )
    play = Play(flow(noop("start"), GATE, noop("revise"), edges=edges))
    first = play.state.interrupt.key
    play.answer({"action": "reject"})
    assert play.state.run.status == "waiting-approval"
    assert play.state.interrupt.key != first
    assert play.types.count("interrupt.resolved") == 1
    play.answer({"action": "accept"})
    assert play.state.run.status == "completed"


@pytest.mark.parametrize("on_timeout", ["reject", "approve", "escalate"])
def test_a_timeout_never_grants(on_timeout: str) -> None:
    gate = {**GATE, "config": {"title": "T", "timeoutMs": 10, "onTimeout": on_timeout}}
    play = Play(flow(gate))
    play.now += 10
    play.expire()
    assert play.state.run.status == "failed"
    assert play.state.run.error is not None
    assert play.state.run.error["code"] == "approval_rejected"


def test_a_join_waits_for_all_its_sources() -> None:
    edges = (("a", "c", "all_success"), ("gate", "c", "all_success"))
    play = Play(flow(noop("a"), GATE, noop("c"), edges=edges))
    assert play.state.run.node("c") is None
    play.answer({"action": "accept"})
    assert play.state.run.node("c") is not None
    assert play.state.run.status == "completed"


def test_a_delay_is_over_when_its_time_has_come() -> None:
    play = Play(flow({"id": "w", "type": "core.delay"}), inputs={"delayMs": 50})
    assert play.state.run.wake_at == NOW + 50
    assert workflow.elapsed(play.flow, play.state, play.step) == []
    play.now += 50
    play.add(workflow.elapsed(play.flow, play.state, play.step))
    assert play.state.run.status == "completed"
    assert play.state.run.wake_at is None


def test_a_failing_node_fails_the_run_and_is_named() -> None:
    play = Play(flow({"id": "f", "type": "core.fail"}))
    assert play.state.run.status == "failed"
    assert play.types[-2:] == ["node.failed", "run.failed"]


@pytest.mark.parametrize(
    ("confidence", "asks"), [(0.5, True), (0.7, False), (0.69, True), (0.9, False), (None, False)]
)
def test_low_confidence_asks_a_person(confidence: float | None, asks: bool) -> None:
    config: dict[str, Any] = {"agent": {"agentId": "a.b"}}
    if confidence is not None:
        config["mockConfidence"] = confidence
    play = Play(flow({"id": "d", "type": "core.identity", "config": config}))
    assert ("node.suspended" in play.types) is asks
    if asks:
        assert play.types.index("agent.decided") < play.types.index("node.suspended")
        assert play.state.run.status == "waiting-approval"
        told = {e.type: e.payload for e in play.events}
        assert told["node.suspended"]["reason"] == "low-confidence"
        figures = {"agentId": "a.b", "threshold": 0.7, "observed": confidence}
        assert told["interrupt.requested"]["data"].items() >= figures.items()
        play.answer({"confirmed": True})
    assert play.state.run.status == "completed"


def test_the_threshold_is_the_runs_own() -> None:
    config = {"agent": {"agentId": "a.b"}, "mockConfidence": 0.5}
    node = {"id": "d", "type": "core.identity", "config": config}
    play = Play(flow(node), configurable={"run": {"escalationThreshold": 0.4}})
    assert play.state.run.status == "completed"


def test_a_conversation_gate_opens_asks_and_closes() -> None:
    play = Play(flow({"id": "talk", "type": "core.conversationGate", "config": {"prompt": "?"}}))
    assert play.state.run.status == "waiting-input"
    play.answer("an answer")
    assert play.state.run.status == "completed"
    talks = [t for t in play.types if t.startswith("conversation.")]
    assert talks == ["conversation.opened", "conversation.exchanged", "conversation.closed"]
    assert not play.state.conversations[0].open


def test_a_workflow_that_loops_without_a_pause_is_ended() -> None:
    edges = (("s", "a", "any_success"), ("a", "b", "any_success"), ("b", "a", "any_success"))
    play = Play(flow(noop("s"), noop("a"), noop("b"), edges=edges))
    assert play.state.run.status == "failed"


@pytest.mark.parametrize(
    "broken",
    [
        flow(noop("a"), noop("a")),
        flow(noop("a"), edges=(("a", "x", "all_success"),)),
        flow(noop("a"), noop("b"), edges=(("a", "b", "any_success"), ("b", "a", "any_success"))),
        {"workflowId": "w", "nodes": []},
        flow({"id": "a", "type": "core.unknown"}),
    ],
)
def test_a_definition_that_cannot_work_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Workflow.model_validate(broken)


def test_a_deadline_of_a_question_fails_the_run_and_says_why() -> None:
    config = {"questions": [{"id": "q", "question": "?"}], "timeoutMs": 1000}
    play = Play(flow({"id": "gate", "type": "core.clarificationGate", "config": config}))
    play.now += 1000
    play.expire()
    run = play.state.run
    assert (run.status, run.error) == ("failed", timed_out())
    assert play.types[-1] == "run.failed"
