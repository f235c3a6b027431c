"""A cancelled run takes with it what it called, and what those called (OpenWOP: runs).

A family is many logs, so it can't end in one commit. What makes it whole all the same: a mark is written
before the parent's own end, and whoever finds it later, after a crash too, cancels what is left. A child that
was being made meanwhile looks at its parent once more when it's there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from host.children import KIND as CHILDREN
from host.children import family
from host.contract_use import parent_of
from host.decisions import request as asking
from host.decisions.state import Principal, Run
from host.journal import Decided
from schemas.errors import Refusal
from schemas.runs import TERMINAL

if TYPE_CHECKING:
    from host.host import Host

MARK: Final = "cancelled-family"
SETTLED_MS: Final = 10_000
"""A mark older than this is acted on and goes: a child whose parent was looked at before the cancel is
there by then."""


async def mark(host: Host, run: Run, by: Principal) -> bool:
    """Say that a run with children is about to be cancelled. False for one that called nobody."""
    now, store = host.clock(), host.store.documents
    if not await store.list(CHILDREN, now, prefix=f"{run.run_id}:", limit=1):
        return False
    value = {"by": by.id, "name": by.name, "at": now}
    await store.put(MARK, run.run_id, value, now)
    return True


async def spread(host: Host, by: Principal, run: Run) -> int:
    """Cancel what is left of the family of a cancelled run. Returns how many were."""
    ended = 0
    for member, _ in (await family(host, run))[1:]:
        if member.status not in TERMINAL:
            ended += await _end(host, by, member)
    return ended


async def follow(host: Host, by: Principal, child: Run) -> None:
    """End a run that was just made if it's a child whose parent was cancelled meanwhile."""
    called = parent_of(child.configurable)
    parent = await host.store.log.run(called.run_id) if called is not None else None
    if parent is not None and parent.status == "cancelled" and child.status not in TERMINAL:
        await _end(host, by, child)


async def once(host: Host, limit: int = 100) -> int:
    """Finish what a crash left. Returns how many runs were cancelled."""
    now, ended = host.clock(), 0
    for found in await host.store.documents.list(MARK, now, limit=limit):
        if found.value["at"] > now - SETTLED_MS:
            continue
        run = await host.store.log.run(found.key)
        if run is not None and run.status == "cancelled":
            by = Principal(found.value["by"], run.tenant, found.value["name"])
            ended += await spread(host, by, run)
        await host.store.documents.delete(MARK, found.key, expected=found.version)
    return ended


async def _end(host: Host, by: Principal, run: Run) -> bool:
    called = parent_of(run.configurable)
    assert called is not None, "a child names its parent"

    def decide(state: Any, _: int) -> Decided:
        return Decided(state, asking.cancel_run(state, "", by, parent=called.run_id))

    try:
        await host.journal.change(run.run_id, lambda: host.runs.load_open(by, run.run_id), decide)
    except Refusal as refusal:
        if refusal.code != "run_terminal":
            raise
        return False
    return True
