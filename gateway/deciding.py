"""The deliverer of sessions: takes each question that is due to its worker, one at a time a session.

Durable and shared: what is due is in the store, the slot of a session is taken in its log with a lease,
and another gateway takes it over when the lease has run out. A worker hears of a question at least once;
its answer counts once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import structlog

from gateway.routes.compat.substructure_prompts import Agent
from gateway.routes.compat.substructure_wire import decision_request
from gateway.worker_client import DeliveryFailed, WorkerClient
from gateway.workers import forever
from host.branches import TOPIC, Branches, Caller
from host.decisions import session_inputs
from host.decisions.session import Decision, Errand, Session
from host.decisions.session_begin import Beginning
from host.decisions.state import Principal
from host.host import Host
from schemas.errors import Refusal

log = structlog.get_logger("sayso.sessions")

_TICK_SECONDS: Final = 0.5
_MOST_SESSIONS: Final = 256
_SPARE_MS: Final = 2_000


class Deciders:
    """One per process. `seconds` is how long a worker may take."""

    def __init__(
        self,
        host: Host,
        branches: Branches,
        agents: Mapping[str, Agent],
        client: WorkerClient,
        seconds: float,
    ) -> None:
        self._host = host
        self._branches = branches
        self._agents = agents
        self._client = client
        self._lease_ms = int(seconds * 1000) + _SPARE_MS
        self._working: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """For ever. Ends by cancellation; what was with a worker is delivered again by whoever is left."""
        try:
            await forever("sessions", self._host, TOPIC, _TICK_SECONDS, self.once)
        finally:
            for task in self._working.values():
                task.cancel()
            await asyncio.gather(*self._working.values(), return_exceptions=True)

    async def once(self) -> bool:
        """Begin with every session that is due and that nobody here works on."""
        due = await self._host.store.log.to_wake(self._host.clock(), _MOST_SESSIONS)
        for run_id in due:
            if run_id not in self._working and len(self._working) < _MOST_SESSIONS:
                self._working[run_id] = asyncio.create_task(self._work(run_id))
        return False

    async def _work(self, run_id: str) -> None:
        """Deliver what this session has, one question after the other."""
        try:
            with self._host.waiters.on(run_id) as changed:
                while await self._step(run_id) or changed.is_set():
                    changed.clear()
        except Refusal as refusal:
            log.warning("session not worked on", run=run_id, code=refusal.code)
        except Exception as error:
            log.error("session broke off", run=run_id, error=repr(error))
        finally:
            self._working.pop(run_id, None)

    async def _step(self, run_id: str) -> bool:
        session = await self._branches.session(run_id)
        if session is None:
            return False
        for errand in session.errands:
            await self._errand(run_id, session, errand)
        taken = await self._branches.dispatch(run_id, self._lease_ms)
        if taken is None:
            return False
        await self._deliver(run_id, *taken)
        return True

    async def _deliver(self, run_id: str, session: Session, decision: Decision) -> None:
        agent = self._agents.get(session.agent_id)
        caller = _engine(run_id)
        try:
            if agent is None:
                raise DeliveryFailed("There is no such agent in the configuration (any more).")
            answer = await self._client.decide(agent, decision_request(session, decision))
            await self._branches.answered(caller, session.session_id, decision.id, answer)
        except (
            asyncio.CancelledError
        ):  # this gateway stops: the next one need not wait for the lease
            await self._branches.failed(run_id, decision.id, "The gateway stopped.")
            raise
        except DeliveryFailed as failure:
            await self._failed(run_id, decision, failure)
        except Refusal as refusal:
            if refusal.status >= 500:
                raise
            await self._failed(run_id, decision, DeliveryFailed(refusal.message))

    async def _failed(self, run_id: str, decision: Decision, failure: DeliveryFailed) -> None:
        log.warning(
            "worker gave no answer",
            run=run_id,
            trigger=decision.trigger["type"],
            attempt=decision.attempts,
            reason=failure.message,
        )
        await self._branches.failed(
            run_id, decision.id, failure.message, retryable=failure.retryable
        )

    # --- other sessions -----------------------------------------------------------------------------

    async def _errand(self, run_id: str, session: Session, errand: Errand) -> None:
        """Done at least once, and of one effect: ids say what has been done already."""
        do = {"spawn": self._spawn, "send": self._send, "report": self._report}[errand.kind]
        try:
            await do(_engine(run_id), session, errand)
        except Refusal as refusal:
            if refusal.status >= 500:
                raise
            log.warning("errand refused", run=run_id, kind=errand.kind, code=refusal.code)
            if errand.kind == "spawn":
                failed = {"error": f"The child session could not be started: {refusal.message}"}
                await self._settle(_engine(run_id), session, errand.data["session_id"], failed)
        await self._branches.ran(run_id, errand.id)

    async def _spawn(self, caller: Caller, session: Session, errand: Errand) -> None:
        what = errand.data
        if what["agent_id"] not in self._agents:
            raise Refusal("not_found", "there is no such agent")
        first = what.get("message") or {"role": "user", "content": ""}
        begin = Beginning(
            what["agent_id"],
            session.owner,
            ancestry=(*session.ancestry, session.session_id),
            parent_call=what["session_id"],
        )
        await self._say(caller, what["session_id"], begin, first, errand.id)

    async def _send(self, caller: Caller, session: Session, errand: Errand) -> None:
        other = errand.data["session_id"]
        _, there = await self._branches.read(caller, other)
        begin = Beginning(there.agent_id, there.owner)
        await self._say(caller, other, begin, errand.data["message"], errand.id)

    async def _say(
        self, caller: Caller, name: str, begin: Beginning, message: dict[str, Any], turn: str
    ) -> None:
        await self._branches.put(
            caller,
            name,
            begin,
            turn,
            lambda moves: session_inputs.append(moves, [message], turn, queue=True),
        )

    async def _report(self, caller: Caller, session: Session, errand: Errand) -> None:
        what = errand.data
        outcome = {"result": what.get("result") or ""}
        if not what["ok"]:
            outcome = {"error": "The child session's turn failed."}
        _, parent = await self._branches.read(caller, what["session_id"])
        await self._settle(caller, parent, what["call_id"], outcome)

    async def _settle(
        self, caller: Caller, session: Session, call_id: str, outcome: dict[str, Any]
    ) -> None:
        with contextlib.suppress(Refusal):  # the call is over: it was voided, or reported before
            await self._branches.settle(caller, session.session_id, call_id, None, outcome)


def _engine(run_id: str) -> Caller:
    tenant = run_id.partition("/")[0]
    return Caller(Principal("sayso", tenant, kind="workload"), "system")
