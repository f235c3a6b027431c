"""The façade that all others call: start a run, request, resolve, cancel, inspect, wait.

It knows no channel and no HTTP. Every operation takes the principal that asks for it; who that is was
established by the gateway. Ids of another tenant are refused before any look-up (OpenWOP: identifiers).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from host import contracts, history, ids
from host.checks import check_schemas, check_tenant
from host.decisions import forking
from host.decisions import request as asking
from host.decisions.eligibility import check_eligible
from host.decisions.ending import already_resolved, cancelled_events
from host.decisions.resolve import Answer, resolve
from host.decisions.state import (
    Conversation,
    Interrupt,
    NewEvent,
    Policy,
    Principal,
    Run,
    State,
)
from host.flows import Flows
from host.journal import Decided, Journal, MakeReply
from host.observer import Observer, Unwatched
from host.options import Options, check_picked
from host.runs import Runs
from host.sessions import Sessions
from host.store.port import Store
from host.store.records import StoredEvent
from host.waiters import Waiters
from schemas.errors import Refusal
from schemas.payloads import CONVERSATION_KINDS, InterruptPayload
from schemas.runs import TERMINAL


@dataclass(frozen=True, slots=True)
class Requested:
    """A requested interrupt; `created` is False when its key was known and this is the old one."""

    interrupt: Interrupt
    run: Run
    created: bool


class Host:
    """Owns interrupts, tokens and events of all tenants in one store."""

    def __init__(
        self,
        store: Store,
        policy: Policy,
        clock: Callable[[], int],
        announce: Callable[[Sequence[str]], Awaitable[None]] | None = None,
        flows: Flows | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.flows = flows or Flows({}, policy)
        self.store = store
        self.policy = policy
        self.clock = clock
        self.observer: Observer = observer or Unwatched()
        self.options: Options | None = None
        self.cross_check: Callable[[Interrupt, Any], None] | None = None
        self.waiters = Waiters()
        self.sessions = Sessions(store.log)
        self.journal = Journal(store, self.waiters, clock, announce)
        self.runs = Runs(self)

    async def run(self, principal: Principal, run_id: str) -> Run:
        """Raises `Refusal`: `id_tenant_mismatch`, `not_found`."""
        check_tenant(principal, run_id)
        run = await self.store.log.run(run_id)
        if run is None:
            raise Refusal("not_found", "No such run.")
        return run

    # --- interrupts -------------------------------------------------------------------------------

    async def request(
        self,
        principal: Principal,
        run_id: str,
        node_id: str,
        payload: InterruptPayload,
        notify: tuple[str, ...],
        *,
        follow: bool = False,
        self_approval: bool | None = None,
        replies: str = "",
        fallback: tuple[str, ...] = (),
        reply: MakeReply | None = None,
        may_ask: Callable[[Run], Awaitable[None]] | None = None,
    ) -> Requested:
        """Ask. The same key again answers with the same interrupt, whatever its state.

        `notify` holds `channel:address`; with `follow` (the caller named none) a conversation's turn
        goes where its start went. `fallback` is the same, for when none of them is reached. `may_ask` may
        refuse a new question, on the run that it is decided on. Raises `Refusal`: `validation_error`,
        `run_terminal`, `run_state_conflict`, `not_found`, `id_tenant_mismatch`.
        """
        check_schemas(payload)
        wire = payload.wire()
        old: list[Interrupt] = []
        recorded: list[NewEvent] = []

        async def load() -> State:
            run = await self.run(principal, run_id)
            old[:] = [i for i in [await self.store.log.by_key(run_id, payload.key)] if i]
            if may_ask is not None and not old:
                await may_ask(run)
            talks = await self.conversations(run.tenant, wire)
            if run.replay_of is not None and not old:
                recorded[:] = [await history.recorded_end(self.store.log, run, payload.key)]
            return State(run, tuple(old), talks)

        def decide(state: State, now: int) -> Decided:
            if old:
                return Decided(state, [])
            where = notify
            if follow and state.conversations:
                where = state.conversations[0].notify
            interrupt_id = ids.bound(principal.tenant, now)
            if recorded:
                told = forking.short_circuit(recorded[0], interrupt_id, node_id, wire)
                return Decided(state, told)
            ask = asking.Ask(
                interrupt_id, node_id, wire, where, principal, self_approval, replies, fallback
            )
            return Decided(state, asking.request(state, ask, now, self.policy))

        after = await self.journal.change(run_id, load, decide, reply)
        if old and old[0].node_id != node_id:
            raise Refusal(
                "validation_error",
                f"The key is already used by node {old[0].node_id} of this run. A key names one "
                "question of a run, once.",
            )
        return Requested(after.interrupt, after.run, created=not old)

    async def interrupt(self, principal: Principal, interrupt_id: str) -> Interrupt:
        """Raises `Refusal`: `id_tenant_mismatch`, `not_found`."""
        check_tenant(principal, interrupt_id)
        found = await self.store.log.interrupt(interrupt_id)
        if found is None:
            raise Refusal("not_found", "No such interrupt.")
        return found

    async def at_node(self, principal: Principal, run_id: str, node_id: str) -> State:
        """The interrupt that a node waits on, else its last, with its run. Raises `Refusal`
        (`not_found`)."""
        run = await self.run(principal, run_id)
        waits = [wait.interrupt_id for wait in run.open if wait.node_id == node_id]
        if waits:
            found: Interrupt | None = await self.interrupt(principal, waits[0])
        else:
            found = await self.store.log.by_node(run_id, node_id)
        if found is None:
            raise Refusal("not_found", "This run has no interrupt at that node.")
        talks = await self.conversations(run.tenant, found.payload)
        return State(run, (found,), talks, await self.sessions.of(run))

    async def resolve(
        self,
        interrupt_id: str,
        answer: Answer,
        reply: MakeReply | None = None,
        seen: State | None = None,
    ) -> State:
        """Decide and append. Returns once that is durable; the interrupt may still be open (a vote
        that doesn't decide, a question).

        `seen` is what `at_node` has just read: the first try decides on it, and the append's condition
        says whether it still holds.

        Raises `Refusal`: `id_tenant_mismatch`, `not_found`, `interrupt_already_resolved`, `forbidden`,
        `validation_error`; `StoreUnavailable`.
        """
        if seen is None:
            found = await self.interrupt(answer.principal, interrupt_id)
        else:
            check_tenant(answer.principal, interrupt_id)
            found = seen.interrupt
        if self.options is not None and not answer.matched and found.is_open(self.clock()):
            check_eligible(found, answer.principal, self.policy)
            await check_picked(self.options, found, answer.value)
        if self.cross_check is not None and found.is_open(self.clock()):
            check_eligible(found, answer.principal, self.policy)
            self.cross_check(found, answer.value)

        first = [seen] if seen is not None else []

        async def load() -> State:
            return first.pop() if first else await self.load(found.run_id, interrupt_id)

        def decide(state: State, now: int) -> Decided:
            if state.run.status in TERMINAL and state.interrupt.status == "open":
                raise already_resolved(replace(state.interrupt, status="cancelled"))
            events = resolve(state, answer, now, self.policy, contracts.validate)
            return Decided(state, self.flows.after(state, interrupt_id, events, now))

        with self.observer.resolving(found, answer) as settled:
            after = await self.journal.change(found.run_id, load, decide, reply)
            settled(after)
        if after.run.due is not None:
            self.waiters.wake("sessions")
        return after

    async def cancel(
        self,
        principal: Principal,
        interrupt_id: str,
        reason: str,
        reply: MakeReply | None = None,
    ) -> Interrupt:
        """Take one question back. Raises `Refusal` (`interrupt_already_resolved`) when it is over."""
        found = await self.interrupt(principal, interrupt_id)
        name = principal.name or principal.id

        def decide(state: State, now: int) -> Decided:
            if state.interrupt.status != "open":
                raise already_resolved(state.interrupt)
            events = cancelled_events(state.interrupt, reason, principal.id, name)
            return Decided(state, self.flows.after(state, interrupt_id, events, now))

        after = await self.journal.change(
            found.run_id, lambda: self.load(found.run_id, interrupt_id), decide, reply
        )
        return after.interrupt

    # --- waiting ----------------------------------------------------------------------------------

    async def wait(self, principal: Principal, interrupt_id: str, seconds: float) -> Interrupt:
        """The interrupt once it is no longer open, or as it is when `seconds` are over or we stop."""

        async def look() -> tuple[Interrupt, bool]:
            found = await self.interrupt(principal, interrupt_id)
            return found, found.status != "open"

        return await self.waiters.until(interrupt_id, seconds, look)

    async def wait_events(
        self, run_id: str, after: int, seconds: float, limit: int = 1000
    ) -> list[StoredEvent]:
        """The run's events above `after`, as soon as there are any, or [] when `seconds` are over."""

        async def look() -> tuple[list[StoredEvent], bool]:
            found = await self.store.log.events(run_id, after, limit)
            return found, bool(found)

        return await self.waiters.until(run_id, seconds, look)

    async def load(self, run_id: str, interrupt_id: str) -> State:
        run = await self.store.log.run(run_id)
        interrupt = await self.store.log.interrupt(interrupt_id)
        assert run is not None
        assert interrupt is not None
        talks = await self.conversations(run.tenant, interrupt.payload)
        return State(run, (interrupt,), talks, await self.sessions.of(run))

    async def conversations(self, tenant: str, payload: dict[str, Any]) -> tuple[Conversation, ...]:
        """The conversation that a payload is a turn of, if it exists."""
        if payload["kind"] not in CONVERSATION_KINDS:
            return ()
        found = await self.store.log.conversation(tenant, payload["data"]["conversationId"])
        return (found,) if found else ()
