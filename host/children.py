"""Child runs: what they ask is shown where their parent is shown, and is answered there.

A child names its parent when it is created. The index of children is a document a child, written before the
child itself: an entry whose run was never made is skipped. Depth and number are bounded (kortyx: children).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from host.contract_use import parent_of
from host.decisions.state import Interrupt, Principal, Run
from schemas.errors import Refusal
from schemas.runs import TERMINAL

if TYPE_CHECKING:
    from host.host import Host

KIND: Final = "child-run"
DEEPEST: Final = 16
MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Bridged:
    """An open interrupt below a root run, and the calls that lead to it, the root's first."""

    interrupt: Interrupt
    run: Run
    path: tuple[dict[str, Any], ...] = ()


async def adopt(host: Host, principal: Principal, run: Run) -> None:
    """Enter a new run under the parent that it names, if it names one.

    Raises `Refusal`: `validation_error` for a parent that isn't there, has ended or has too many children,
    and for a chain that is too deep; `id_tenant_mismatch`.
    """
    declared = parent_of(run.configurable)
    if declared is None:
        return
    try:
        parent = await host.run(principal, declared.run_id)
    except Refusal as refusal:
        if refusal.code != "not_found":
            raise
        raise _wrong("There is no such parent run.") from None
    if parent.status in TERMINAL:
        raise _wrong(f"The parent run is {parent.status}: it can't call another.")
    if await _depth(host, principal, parent) >= DEEPEST:
        raise _wrong(f"Runs call each other at most {DEEPEST} deep.")
    known = await host.store.documents.list(
        KIND, host.clock(), prefix=f"{parent.run_id}:", limit=MOST
    )
    if len(known) >= MOST:
        raise _wrong(f"A run calls at most {MOST} others.")
    await host.store.documents.put(KIND, f"{parent.run_id}:{run.run_id}", True, host.clock())


async def _depth(host: Host, principal: Principal, run: Run) -> int:
    depth = 1
    while depth <= DEEPEST and (above := parent_of(run.configurable)) is not None:
        run = await host.run(principal, above.run_id)
        depth += 1
    return depth


async def root_of(host: Host, principal: Principal, run: Run) -> Run:
    """The run at the top of a chain of calls: the run itself when nobody called it."""
    for _ in range(DEEPEST):
        above = parent_of(run.configurable)
        if above is None:
            return run
        run = await host.run(principal, above.run_id)
    return run


async def family(host: Host, run: Run) -> list[tuple[Run, tuple[dict[str, Any], ...]]]:
    """A run and everything that it called, each with the calls that lead to it."""
    found: list[tuple[Run, tuple[dict[str, Any], ...]]] = [(run, ())]
    for parent, path in found:
        if len(path) >= DEEPEST:
            continue
        prefix = f"{parent.run_id}:"
        for entry in await host.store.documents.list(KIND, host.clock(), prefix=prefix, limit=MOST):
            child = await host.store.log.run(entry.key.removeprefix(prefix))
            if child is not None:
                found.append((child, (*path, _call(child))))
    return found


def _call(child: Run) -> dict[str, Any]:
    declared = parent_of(child.configurable)
    call = {"workflowId": child.workflow_id, "invocationId": child.run_id}
    if declared is not None and declared.call_id is not None:
        call["callId"] = declared.call_id
    return call


async def open_requests(host: Host, run: Run) -> list[Bridged]:
    """What a run and all below it wait for: the oldest question first."""
    found = []
    for member, path in await family(host, run):
        for wait in member.open:
            interrupt = await host.store.log.interrupt(wait.interrupt_id)
            if interrupt is not None and interrupt.status == "open":
                found.append(Bridged(interrupt, member, path))
    return sorted(found, key=lambda one: (one.interrupt.requested_at, one.interrupt.interrupt_id))


def _wrong(message: str) -> Refusal:
    path = ["configurable", "extensions", "sayso.parent"]
    return Refusal("validation_error", message, errors=[{"path": path, "message": message}])
