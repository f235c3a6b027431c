"""decide: how a run of a registered workflow goes on. Pure, like every rule.

`begin` starts the root nodes; `settle` is called when an interrupt of the run has ended, `elapsed` when a
delay is over. Each returns the events up to the next pause or the end of the run, to be appended in the
same commit as what caused them, so that no crash can leave a run between two nodes.

What a rejection and a timeout do (OpenWOP: disposition, timeout): the gate's node fails with
`approval_rejected`, never retried. Only edges with the rules `any_failed` or `all_complete` lead on from a
failed node; without one the run fails with that code and names the node.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from host.decisions.ending import timed_out
from host.decisions.evolve import evolve
from host.decisions.state import Interrupt, NewEvent, State
from host.decisions.steps import Step, close_conversation, enter
from schemas.runs import TERMINAL
from schemas.workflows import Edge, Node, Workflow

_MOST_STEPS = 1000


class Progress:
    """The events of one move, and the state after them."""

    def __init__(self, flow: Workflow, state: State, step: Step) -> None:
        self.flow = flow
        self.state = state
        self.events: list[NewEvent] = []
        self._step = step
        self._ready: deque[Node] = deque()

    def begin(self) -> list[NewEvent]:
        """Start the root nodes, and go on from there."""
        self._ready.extend(self.flow.roots())
        return self.go_on()

    def ended(self, node_id: str, event: NewEvent) -> list[NewEvent]:
        """A node has ended by `event` (`node.completed` or `node.failed`): go on from there."""
        self.add([event])
        self.leave(node_id)
        return self.go_on()

    def go_on(self) -> list[NewEvent]:
        for _ in range(_MOST_STEPS):
            if not self._ready or self.state.run.status in TERMINAL:
                break
            node = self._ready.popleft()
            self.add(enter(node, self.state, self._step))
            self._follow(node)
        else:
            error = {"code": "internal_error", "message": "The workflow loops without a pause."}
            self.add([NewEvent("run.failed", {"error": error})])
        self._finish()
        return self.events

    def _follow(self, node: Node) -> None:
        """Go on from a node that has ended already; in a replay also when its question has."""
        after = self.state.run.node(node.id)
        if after is not None and after.status != "running":
            self.leave(node.id)
            return
        if self._step.recorded is not None and self.state.interrupts:
            met = self.state.interrupt
            if met.node_id == node.id and met.status != "open":
                self.close(met)

    def close(self, interrupt: Interrupt) -> None:
        """The interrupt of a running node has ended: end the node."""
        self.add(node_end(self.state, interrupt, self._step))
        self.leave(interrupt.node_id)

    def add(self, events: list[NewEvent]) -> None:
        self.events += events
        self.state = evolve(self.state, events, self._step.now)

    def leave(self, node_id: str) -> None:
        leading = [
            edge.to for edge in self.flow.edges if edge.from_ == node_id and self._fires(edge)
        ]
        for target in dict.fromkeys(leading):
            node = self.flow.node(target)
            assert node is not None
            self._ready.append(node)
        ended = self.state.run.node(node_id)
        if ended is not None and ended.status == "failed" and not leading:
            self._fail(node_id)

    def _fires(self, edge: Edge) -> bool:
        """An `any_` rule looks at its own source; an `all_` rule waits for the target's other sources."""
        if edge.rule.startswith("any_"):
            return self._matches(edge)
        together = [e for e in self.flow.edges if e.to == edge.to and e.rule.startswith("all_")]
        return all(self._matches(e) for e in together)

    def _matches(self, edge: Edge) -> bool:
        source = self.state.run.node(edge.from_)
        if source is None or source.status == "running":
            return False
        if edge.rule == "all_complete":
            return True
        return (source.status == "failed") is (edge.rule == "any_failed")

    def _fail(self, node_id: str) -> None:
        failed = next(
            (
                e for e in reversed(self.events)
                if e.type == "node.failed" and e.payload["nodeId"] == node_id
            ),
            None,
        )  # fmt: skip
        # Failed before this move: by its deadline, which is all that fails a node from outside.
        error = failed.payload["error"] if failed is not None else timed_out()
        payload = {"error": error, "failedNodeId": node_id}
        self.add([NewEvent("run.failed", payload)])

    def _finish(self) -> None:
        run = self.state.run
        busy = run.open or any(n.status == "running" for n in run.nodes)
        if run.status not in TERMINAL and not busy:
            self.add([NewEvent("run.completed", {"outputs": run.outputs or {}})])


def begin(flow: Workflow, state: State, step: Step) -> list[NewEvent]:
    """The events after `run.started`."""
    return Progress(flow, state, step).begin()


def settle(flow: Workflow, state: State, interrupt: Interrupt, step: Step) -> list[NewEvent]:
    """An interrupt of this run has ended: its node completes or fails, and the run goes on.

    Nothing for an interrupt that is still open, or whose end already ended its node.
    """
    node = state.run.node(interrupt.node_id)
    outcome = interrupt.outcome
    if node is None or outcome is None or interrupt.status in ("open", "cancelled"):
        return []
    progress = Progress(flow, state, step)
    if node.status == "failed":  # a deadline of a kind that nobody may answer for
        progress.leave(interrupt.node_id)
    else:
        progress.close(interrupt)
    return progress.go_on()


def node_end(state: State, interrupt: Interrupt, step: Step) -> list[NewEvent]:
    """`node.completed` or `node.failed`, as the outcome of its interrupt has it."""
    outcome, node_id = interrupt.outcome, interrupt.node_id
    assert outcome is not None
    if interrupt.kind == "approval" and outcome.decision == "rejected":
        message = "The approval was rejected."
        if interrupt.status == "expired":
            message = "Nobody approved before the deadline."
        error = {"code": "approval_rejected", "message": message, "retryable": False}
        return [NewEvent("node.failed", {"nodeId": node_id, "error": error}, node_id)]
    done: dict[str, Any] = {"nodeId": node_id}
    if step.policy.capture_answers:
        done["outputs"] = {"value": outcome.value}
    completed = NewEvent("node.completed", done, node_id)
    if interrupt.kind == "conversation.exchange" and step.recorded is None:
        name = interrupt.data["conversationId"]
        return [*close_conversation(state, node_id, name, step), completed]
    return [completed]


def elapsed(flow: Workflow, state: State, step: Step) -> list[NewEvent]:
    """The first delay of this run that is over completes, and the run goes on."""
    for node in state.run.nodes:
        if node.until is not None and node.until <= step.now:
            done = {"nodeId": node.node_id}
            return Progress(flow, state, step).ended(
                node.node_id, NewEvent("node.completed", done, node.node_id)
            )
    return []
