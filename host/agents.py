"""What an agent reports of its own decisions, and when that asks a person.

An `agent.decided` below the run's escalation threshold is followed, in the same commit, by the
low-confidence interrupt and `node.suspended` with that reason (interrupt specification, section 'Payload').
"""

from __future__ import annotations

from typing import Any

from host import ids
from host.decisions.state import Interrupt, Principal, State
from host.decisions.steps import Step, low_confidence
from host.host import Host
from host.journal import Decided
from schemas.errors import Refusal
from schemas.runs import TERMINAL, AgentDecision


async def report(
    host: Host, principal: Principal, run_id: str, body: AgentDecision, notify: tuple[str, ...]
) -> Interrupt | None:
    """The interrupt that a person has to answer, or None when the agent was sure enough.

    The same key again answers with the same interrupt and reports nothing twice. Raises `Refusal`:
    `not_found`, `id_tenant_mismatch`, `run_terminal`, `run_state_conflict`.
    """
    old: list[Interrupt] = []

    async def load() -> State:
        run = await host.run(principal, run_id)
        found = await host.store.log.by_key(run_id, body.key)
        old[:] = [found] if found else []
        return State(run, tuple(old))

    def decide(state: State, now: int) -> Decided:
        if old:
            return Decided(state, [])
        if state.run.status in TERMINAL:
            raise Refusal("run_terminal", f"This run is {state.run.status}; it decides no more.")
        decided: dict[str, Any] = {"agentId": body.agent_id, "decision": body.decision}
        if body.confidence is not None:
            decided["confidence"] = body.confidence
        step = Step(now, lambda: ids.bound(principal.tenant, now), principal, host.policy, notify)
        return Decided(state, low_confidence(state, body.node_id, decided, body.key, step))

    after = await host.journal.change(run_id, load, decide)
    return after.interrupts[0] if after.interrupts else None
