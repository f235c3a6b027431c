"""Forks of runs: what the host does around `host.decisions.forking`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from host import children, contract_use, history, ids
from host.decisions import forking
from host.decisions.evolve import evolve
from host.decisions.session import WORKFLOW
from host.decisions.state import NewEvent, Principal, Run, State
from host.host import Host
from host.journal import Decided, MakeReply
from schemas.errors import Refusal
from schemas.payloads import problems
from schemas.runs import TERMINAL, Configurable, ForkBody


async def fork(
    host: Host, principal: Principal, run_id: str, body: ForkBody, reply: MakeReply | None = None
) -> Run:
    """A replay or a branch of a run, as a run of its own.

    Raises `Refusal`: `not_found`, `id_tenant_mismatch`, `validation_error`, `fork_point_invalid`.
    """
    source = await host.run(principal, run_id)
    if source.workflow_id == WORKFLOW:
        raise Refusal("fork_point_invalid", "A session branches by itself: edit a message of it.")
    cut = forking.check_fork_point(body.mode, body.from_seq, source.version)
    if body.run_options_overlay is not None and body.mode == "replay":
        raise Refusal("validation_error", "runOptionsOverlay is for a branch only.")
    configurable = _configurable(body, source)
    found = await history.all_events(host.store.log, run_id)
    events = [forking.copy_of(history.told(event), run_id) for event in found]
    now = host.clock()
    run = Run(
        run_id=ids.bound(principal.tenant, now),
        workflow_id=source.workflow_id,
        created_at=now,
        owner=source.owner,
        inputs=source.inputs,
        configurable=configurable,
        tags=source.tags,
        metadata=source.metadata,
        replay_of=run_id if body.mode == "replay" else None,
        root=source.root or source.run_id,
    )

    if run.configurable is not source.configurable:
        await children.adopt(host, principal, run)

    async def load() -> State:
        return State(run)

    def decide(state: State, now: int) -> Decided:
        return Decided(state, _events(host, state, events, cut, body.mode, now))

    after = await host.journal.change(run.run_id, load, decide, reply)
    return after.run


def _configurable(body: ForkBody, source: Run) -> dict[str, Any] | None:
    """The source's, or the overlay's in its place, held to what a new run's is held to.

    Raises `Refusal` (`validation_error`).
    """
    overlay = body.run_options_overlay or {}
    if "configurable" not in overlay:
        return source.configurable
    try:
        given = Configurable.model_validate(overlay["configurable"]).wire()
    except ValidationError as error:
        found = problems(error, ("runOptionsOverlay", "configurable"))
        where = ".".join(str(step) for step in found[0]["path"])
        raise Refusal(
            "validation_error", f"{where}: {found[0]['message']}.", errors=found
        ) from None
    contract_use.use_of(given)
    return given


def _events(
    host: Host, state: State, events: list[NewEvent], cut: int, mode: str, now: int
) -> list[NewEvent]:
    run = state.run

    def mint() -> str:
        return ids.bound(run.tenant, now)

    copied, _ = forking.history(events[:cut], mint, mode, now)
    recorded = by_key(events) if mode == "replay" else None
    if not copied:
        first = [events[0]]
        return host.flows.begin(state, first, now, recorded)
    after = evolve(state, copied, now)
    if mode == "replay":
        copied = _answer_pending(host, state, after, copied, recorded, now)
    elif after.run.status not in TERMINAL and not after.run.open and after.run.nodes:
        raise Refusal("fork_point_invalid", "A branch leaves its source where it waits.")
    return copied


def _answer_pending(
    host: Host,
    state: State,
    after: State,
    copied: list[NewEvent],
    recorded: Callable[[str], NewEvent | None] | None,
    now: int,
) -> list[NewEvent]:
    """What waits at the fork point of a replay gets its recorded end, and the run goes on."""
    events = list(copied)
    for interrupt in after.interrupts:
        end = recorded(interrupt.key) if recorded else None
        if interrupt.status != "open" or end is None:
            continue
        told = forking.replayed(end, interrupt)
        here = evolve(state, events, now)
        target = next(i for i in here.interrupts if i.interrupt_id == interrupt.interrupt_id)
        others = tuple(i for i in here.interrupts if i is not target)
        here = replace(here, interrupts=(target, *others))
        events += host.flows.after(here, interrupt.interrupt_id, told, now, recorded)
    return events


def by_key(events: list[NewEvent]) -> Callable[[str], NewEvent | None]:
    """The recorded end of an interrupt, looked up by its key."""
    ids_by_key = {
        (e.record or {}).get("asked", e.payload)["key"]: e.record["opens"]
        for e in events
        if e.record is not None and "opens" in e.record
    }

    def find(key: str) -> NewEvent | None:
        interrupt_id = ids_by_key.get(key)
        return forking.recorded_end(events, interrupt_id) if interrupt_id else None

    return find
