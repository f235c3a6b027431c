"""What time alone does: a deadline passes, a delay is over. Each has its effect once, whoever gets there."""

from __future__ import annotations

from host.decisions.ending import expired_events
from host.decisions.state import NewEvent, State
from host.host import Host
from host.journal import Decided
from schemas.runs import TERMINAL


class Timers:
    """Fires what is due on one host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def expire(self, interrupt_id: str) -> bool:
        """Let a passed deadline have its effect, once. False when there was nothing (more) to do."""
        found = await self._host.store.log.interrupt(interrupt_id)
        if found is None or found.deadline is None:
            return False
        fired: list[bool] = []

        def decide(state: State, now: int) -> Decided:
            interrupt = state.interrupt
            late = interrupt.deadline is not None and now >= interrupt.deadline
            if interrupt.status != "open" or not late:
                return Decided(state, [])
            fired.append(True)
            events = expired_events(interrupt, now, self._host.policy.aliases)
            return Decided(state, self._host.flows.after(state, interrupt_id, events, now))

        await self._host.journal.change(
            found.run_id, lambda: self._host.load(found.run_id, interrupt_id), decide
        )
        return bool(fired)

    async def wake(self, run_id: str) -> bool:
        """Let a run go on whose delay is over. False when there was nothing (more) to do."""
        moved: list[NewEvent] = []

        async def load() -> State:
            run = await self._host.store.log.run(run_id)
            assert run is not None
            return State(run)

        def decide(state: State, now: int) -> Decided:
            moved[:] = [] if state.run.status in TERMINAL else self._host.flows.elapsed(state, now)
            return Decided(state, moved)

        await self._host.journal.change(run_id, load, decide)
        return bool(moved)
