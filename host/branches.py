"""The façade of branching sessions: open, say, raise, resume, settle, and what the deliverer does.

Every operation is one decision and one commit, as in `host.host`. The rules are in `host.decisions`
(`session*`); here is what is loaded before and what is woken after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from host import contracts, ids
from host.decisions import (
    session_answers,
    session_delivery,
    session_inputs,
    session_resume,
    session_thread,
)
from host.decisions.session import WORKFLOW, Decision, Level, Session
from host.decisions.session_begin import Beginning, begun, new_run
from host.decisions.session_inputs import Accepted
from host.decisions.session_moves import AskOf, Moves, Rules
from host.decisions.state import Principal, Run, State
from host.host import Host
from host.journal import Decided
from host.sessions import run_id_of
from schemas.errors import Refusal

TOPIC: Final = "sessions"
"""What is woken when a session has something for its worker."""
_READS: Final = 20


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts on a session: the level is of how they were authenticated, never of what they sent."""

    principal: Principal
    level: Level
    identity: str = ""


class Branches:
    """Sessions of one host. `ask` words what people are asked; `several`: whether more than one interrupt
    may park a branch; `most_attempts`: deliveries of one question before it fails."""

    def __init__(
        self, host: Host, ask: AskOf, *, several: bool = True, most_attempts: int = 10
    ) -> None:
        self._host = host
        self._ask = ask
        self._several = several
        self._most_attempts = most_attempts
        host.flows = replace(host.flows, sessions=self.rules)

    def rules(self, run: Run, now: int) -> Rules:
        """What the rules need for a decision at `now`."""
        return Rules(
            now=now,
            mint=lambda: ids.opaque(now),
            policy=self._host.policy,
            ask=self._ask,
            check=contracts.validate,
            most_attempts=self._most_attempts,
        )

    async def read(self, caller: Caller, session_id: str) -> tuple[Run, Session]:
        """Raises `Refusal`: `not_found`, `forbidden`."""
        run = await self._host.store.log.run(run_id_of(caller.principal.tenant, session_id))
        session = await self._host.sessions.of(run) if run is not None else None
        if run is None or session is None:
            raise Refusal("not_found", "session not found")
        session_inputs.check_owner(session, caller.level, caller.identity)
        return run, session

    async def put(
        self,
        caller: Caller,
        session_id: str,
        begin: Beginning,
        turn: str | None,
        act: Callable[[Moves], Accepted],
    ) -> Accepted:
        """An input that may be a session's first. `act` is one of `session_inputs`, with its arguments.

        Raises what `act` raises; `Refusal` (`forbidden`) for a session of somebody else or another agent.
        """
        done: list[Accepted] = []

        def move(moves: Moves) -> None:
            if moves.state.session is None:
                begun(moves, session_id, begin, self._several)
            session_inputs.check_owner(moves.session, caller.level, caller.identity)
            if moves.session.agent_id != begin.agent_id:
                raise Refusal("forbidden", "This session belongs to another agent.")
            known = session_inputs.known_turn(moves.session, turn)
            done[:] = [known if known is not None else act(moves)]

        await self._change(caller, session_id, move, begin=begin)
        return done[0]

    async def spoken(self, run_id: str, turn: str, act: Callable[[Moves], Accepted]) -> Accepted:
        """Something was said in the session's thread, once for each `turn`. `act` is one of
        `session_thread`, with its arguments. Raises what it raises; `Refusal` (`not_found`)."""
        done: list[Accepted] = []

        def move(moves: Moves) -> None:
            known = session_inputs.known_turn(moves.session, turn)
            done[:] = [known if known is not None else act(moves)]

        await self._change_run(run_id, move)
        return done[0]

    async def park(
        self,
        caller: Caller,
        session_id: str,
        reason: str,
        payload: Any,
        interrupt_id: str | None = None,
    ) -> str:
        """Raise an interrupt at the head. Its id. Raises `Refusal`: `not_found`, `forbidden`,
        `run_state_conflict`."""
        done: list[str] = []

        def move(moves: Moves) -> None:
            session_inputs.check_owner(moves.session, caller.level, caller.identity)
            done[:] = [session_inputs.park(moves, caller.level, reason, payload, interrupt_id)]

        await self._change(caller, session_id, move)
        return done[0]

    async def resume(self, caller: Caller, session_id: str, interrupt_id: str, payload: Any) -> str:
        """Answer an interrupt. An id that is not open changes nothing. The running turn's id, or "".

        Raises `Refusal`: `not_found` (the session), `forbidden`, `validation_error`.
        """

        def move(moves: Moves) -> None:
            session_inputs.check_owner(moves.session, caller.level, caller.identity)
            session_resume.resume(moves, interrupt_id, caller.level, caller.principal, payload)

        return await self._change(caller, session_id, move)

    async def settle(
        self,
        caller: Caller,
        session_id: str,
        call_id: str,
        attempt: int | None,
        outcome: dict[str, Any],
    ) -> str:
        """End a call. Raises `Refusal` as `session_inputs.settle` does."""

        def move(moves: Moves) -> None:
            session_inputs.check_owner(moves.session, caller.level, caller.identity)
            session_inputs.settle(moves, call_id, caller.level, attempt, outcome)
            moves.finish()

        return await self._change(caller, session_id, move)

    async def answered(
        self, caller: Caller, session_id: str, decision_id: str, response: dict[str, Any]
    ) -> bool:
        """A worker's answer. False for a late or a second one: it changes nothing.

        Raises `Refusal`: `not_found`, `validation_error` for an answer that names no call and must.
        """
        taken: list[bool] = []

        def move(moves: Moves) -> None:
            decision = session_answers.takes_answer(moves.session, decision_id)
            taken[:] = [decision is not None]
            if decision is not None:
                checked = session_answers.check_answer(moves.session, decision, response)
                session_answers.answered(moves, decision, checked)

        await self._change(caller, session_id, move)
        return taken[0]

    # --- the deliverer ----------------------------------------------------------------------------

    async def dispatch(self, run_id: str, lease_ms: int) -> tuple[Session, Decision] | None:
        """Take the slot of a session for its next question. None when there is none to deliver now."""
        taken: list[Decision | None] = []

        def move(moves: Moves) -> None:
            taken[:] = [session_delivery.dispatch(moves, lease_ms)]

        after = await self._change_run(run_id, move)
        decision = taken[0]
        return (after, decision) if decision is not None and after is not None else None

    async def failed(
        self, run_id: str, decision_id: str, message: str, *, retryable: bool = True
    ) -> None:
        """A delivery failed, as `session_delivery.failed` has it."""

        def move(moves: Moves) -> None:
            decision = session_answers.takes_answer(moves.session, decision_id)
            if decision is not None and decision.until is not None:
                session_delivery.failed(moves, decision, message, retryable=retryable)

        await self._change_run(run_id, move)

    async def ran(self, run_id: str, errand_id: str) -> None:
        """An errand in another session is done."""

        def move(moves: Moves) -> None:
            if any(e.id == errand_id for e in moves.session.errands):
                moves.add("errand-done", id=errand_id)

        await self._change_run(run_id, move)

    async def session(self, run_id: str) -> Session | None:
        """The session of a run, for the deliverer."""
        run = await self._host.store.log.run(run_id)
        return await self._host.sessions.of(run) if run is not None else None

    # --- around every change ----------------------------------------------------------------------

    async def _change(
        self,
        caller: Caller,
        session_id: str,
        move: Callable[[Moves], None],
        begin: Beginning | None = None,
    ) -> str:
        run_id = run_id_of(caller.principal.tenant, session_id)
        fresh = (
            new_run(run_id, caller.principal.tenant, begin, self._host.clock())
            if begin is not None
            else None
        )
        after = await self._change_run(run_id, move, fresh)
        return (after.turn or "") if after is not None else ""

    async def _change_run(
        self, run_id: str, move: Callable[[Moves], None], fresh: Run | None = None
    ) -> Session | None:
        async def load() -> State:
            for _ in range(_READS):
                state = await self._read(run_id, fresh)
                if all(i.status == "open" for i in state.interrupts):
                    break  # else another gateway committed between the reads: the run is older
            return state

        def decide(state: State, now: int) -> Decided:
            moves = Moves(state, self.rules(state.run, now))
            move(moves)
            session_thread.tell(moves)
            return Decided(state, moves.events)

        after = await self._host.journal.change(run_id, load, decide)
        if after.run.wake_at is not None:
            self._host.waiters.wake(TOPIC)
        if after.session is not None and after.session.thread:
            self._host.waiters.wake("messages")
        return after.session

    async def _read(self, run_id: str, fresh: Run | None) -> State:
        """The session, and the interrupts that people see of its open pauses."""
        run = await self._host.store.log.run(run_id) or fresh
        if run is None or run.workflow_id != WORKFLOW:
            raise Refusal("not_found", "session not found")
        session = await self._host.sessions.of(run)
        pauses = session.pauses if session is not None else ()
        reads = (self._host.store.log.interrupt(p.host_id) for p in pauses)
        found = await asyncio.gather(*reads)
        return State(run, tuple(i for i in found if i is not None), (), session)
