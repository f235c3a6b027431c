"""Runs: started, cancelled, and ended by the outside program that drives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from host import cascade, children, contract_use, ids, scopes
from host.checks import check_schemas, owner_of
from host.decisions import request as asking
from host.decisions.state import Interrupt, Principal, Run, State
from host.journal import Decided, MakeReply
from schemas.payloads import InterruptPayload
from schemas.runs import EXTERNAL_WORKFLOW, AskBody, CreateRun

if TYPE_CHECKING:
    from host.host import Host


class Runs:
    """`Host.runs`. A workflow's run goes as far as its first question with the start."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def start(
        self,
        principal: Principal,
        body: CreateRun,
        reply: MakeReply | None = None,
        callback: str | None = None,
        *,
        alone: bool = False,
    ) -> Run:
        """A new run, started; with `alone` the only one of its scope that is active.

        Raises `Refusal`: `not_found` for an unknown workflow; `validation_error` for a parent or a use
        of contracts that can't be; `run_already_active`.
        """
        self._host.flows.check(body.workflow_id)
        assert body.workflow_id is not None
        now = self._host.clock()
        place = None
        if alone:
            place = await scopes.next_place(self._host, principal.tenant, body.scope_id or "")
        run = Run(
            run_id=place.run_id if place is not None else ids.bound(principal.tenant, now),
            workflow_id=body.workflow_id,
            created_at=now,
            owner=owner_of(principal),
            inputs=body.inputs,
            configurable=body.configurable.wire() if body.configurable else None,
            tags=tuple(body.tags or ()),
            metadata=body.metadata,
            callback=callback,
        )
        contract_use.use_of(run.configurable)
        await children.adopt(self._host, principal, run)

        async def load() -> State:
            if place is not None and await self._host.store.log.run(run.run_id) is not None:
                raise scopes.already_active(run.run_id)
            return State(run)

        def decide(state: State, now: int) -> Decided:
            started = asking.start_run(state.run, body.inputs)
            return Decided(state, self._host.flows.begin(state, started, now))

        after = await self._host.journal.change(run.run_id, load, decide, reply)
        await cascade.follow(self._host, principal, after.run)
        if place is not None:
            await scopes.made(self._host, place)
        return after.run

    async def ask(
        self,
        principal: Principal,
        body: AskBody,
        payload: InterruptPayload,
        notify: tuple[str, ...],
        reply: MakeReply | None = None,
        callback: str | None = None,
        fallback: tuple[str, ...] = (),
    ) -> Interrupt:
        """A new run of an outside program and its first question, in one commit.

        Raises `Refusal` (`validation_error`): a later turn of a conversation has no first question.
        """
        check_schemas(payload)
        now = self._host.clock()
        run = Run(
            run_id=ids.bound(principal.tenant, now),
            workflow_id=EXTERNAL_WORKFLOW,
            created_at=now,
            owner=owner_of(principal),
            inputs=body.inputs,
            tags=tuple(body.tags or ()),
            metadata=body.metadata,
            callback=callback,
        )
        wire = payload.wire()

        async def load() -> State:
            return State(run, (), await self._host.conversations(run.tenant, wire))

        def decide(state: State, now: int) -> Decided:
            ask = asking.Ask(
                ids.bound(principal.tenant, now),
                body.node_id,
                wire,
                notify,
                principal,
                body.self_approval,
                body.replies or "",
                fallback,
            )
            started = asking.start_run(state.run, body.inputs)
            return Decided(state, [*started, *asking.request(state, ask, now, self._host.policy)])

        after = await self._host.journal.change(run.run_id, load, decide, reply)
        return after.interrupt

    async def cancel(
        self, principal: Principal, run_id: str, reason: str, reply: MakeReply | None = None
    ) -> Run:
        """Cancel a run and what it called, and take back all that they ask. Raises `Refusal`
        (`run_terminal`)."""
        run = await self._host.run(principal, run_id)
        is_parent = await cascade.mark(self._host, run, principal)
        after = await self._host.journal.change(
            run_id,
            lambda: self.load_open(principal, run_id),
            lambda state, _: Decided(state, asking.cancel_run(state, reason, principal)),
            reply,
        )
        if is_parent:
            await cascade.spread(self._host, principal, after.run)
        return after.run

    async def complete(
        self,
        principal: Principal,
        run_id: str,
        outputs: dict[str, Any],
        reply: MakeReply | None = None,
    ) -> Run:
        """How an outside program ends its own run. Raises `Refusal`: `run_terminal`;
        `run_state_conflict` when it had to ask somebody first."""

        async def load() -> State:
            state = await self.load_open(principal, run_id)
            await contract_use.check_has_asked(self._host.store.log, state.run)
            return state

        after = await self._host.journal.change(
            run_id,
            load,
            lambda state, _: Decided(state, asking.complete_run(state, outputs)),
            reply,
        )
        return after.run

    async def load_open(self, principal: Principal, run_id: str) -> State:
        """A run with the questions that it waits for."""
        run = await self._host.run(principal, run_id)
        loaded = [await self._host.store.log.interrupt(w.interrupt_id) for w in run.open]
        return State(run, tuple(i for i in loaded if i is not None))
