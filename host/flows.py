"""The registered workflows, and what they add to a decision: the host calls it, the rules are pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from host import ids
from host.decisions import workflow
from host.decisions.evolve import evolve
from host.decisions.session import WORKFLOW
from host.decisions.session_moves import Moves, Rules
from host.decisions.session_resume import settled
from host.decisions.session_thread import tell
from host.decisions.state import NewEvent, Policy, Principal, Run, State
from host.decisions.steps import Step
from schemas.errors import Refusal
from schemas.runs import EXTERNAL_WORKFLOW
from schemas.workflows import Workflow

Recorded = Callable[[str], NewEvent | None]
"""The recorded end of an interrupt, by its key."""


@dataclass(frozen=True, slots=True)
class Flows:
    """Workflows by id. `notify` is where their questions go unless they say otherwise.

    `sessions` gives the rules of runs that are branching sessions (set by `host.branches`).
    """

    workflows: Mapping[str, Workflow]
    policy: Policy
    notify: tuple[str, ...] = ()
    sessions: Callable[[Run, int], Rules] | None = None

    @classmethod
    def of(
        cls, workflows: Iterable[Workflow], policy: Policy, notify: tuple[str, ...] = ()
    ) -> Flows:
        return cls({w.workflow_id: w for w in workflows}, policy, notify)

    def check(self, workflow_id: str | None) -> None:
        """Raise `Refusal` (`not_found`) for a workflow that is not registered."""
        if workflow_id == EXTERNAL_WORKFLOW or workflow_id in self.workflows:
            return
        raise Refusal(
            "not_found",
            f"No workflow {workflow_id!r} here. A run that your own program drives has the "
            f"workflowId {EXTERNAL_WORKFLOW!r}.",
            field="workflowId",
        )

    def begin(
        self, state: State, events: list[NewEvent], now: int, recorded: Recorded | None = None
    ) -> list[NewEvent]:
        """`events`, and what the workflow does first. `recorded` gives the answers of a replay."""
        flow = self.workflows.get(state.run.workflow_id)
        if flow is None:
            return events
        after = evolve(state, events, now)
        step = self._step(flow, state.run, now, recorded)
        return events + workflow.begin(flow, after, step)

    def after(
        self,
        state: State,
        interrupt_id: str,
        events: list[NewEvent],
        now: int,
        recorded: Recorded | None = None,
    ) -> list[NewEvent]:
        """`events`, and how the workflow or the session goes on if they end this interrupt."""
        if state.run.workflow_id == WORKFLOW and events:
            return self._session(state, interrupt_id, events, now)
        flow = self.workflows.get(state.run.workflow_id)
        if flow is None or not events:
            return events
        after = evolve(state, events, now)
        ended = next(i for i in after.interrupts if i.interrupt_id == interrupt_id)
        step = self._step(flow, state.run, now, recorded)
        return events + workflow.settle(flow, after, ended, step)

    def _session(
        self, state: State, interrupt_id: str, events: list[NewEvent], now: int
    ) -> list[NewEvent]:
        assert self.sessions is not None, "sessions are not set up"
        assert state.session is not None, "the session was not loaded"
        moves = Moves(state, self.sessions(state.run, now))
        moves.extend(events)
        settled(moves, interrupt_id)
        tell(moves)
        return moves.events

    def elapsed(self, state: State, now: int) -> list[NewEvent]:
        """How the workflow goes on when a delay is over; nothing if none is."""
        flow = self.workflows.get(state.run.workflow_id)
        if flow is None:
            return []
        return workflow.elapsed(flow, state, self._step(flow, state.run, now))

    def _step(self, flow: Workflow, run: Run, now: int, recorded: Recorded | None = None) -> Step:
        subject = run.owner.get("subject", {}).get("subjectId", "")
        return Step(
            now=now,
            mint=lambda: ids.bound(run.tenant, now),
            principal=Principal(subject, run.tenant, kind="workload"),
            policy=self.policy,
            notify=self.notify if flow.notify is None else flow.notify,
            recorded=recorded,
        )
