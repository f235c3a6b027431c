"""Removes runs that have been over for long, one pass through the log and never a scan of all runs.

The log is read in order, each commit once. A run is looked at when its last commit is met: then it is either
over and old, and goes, or something is open in it, and a later commit of it is still to come. How far the
pass has come is kept in the store. Only what the audit trail has taken up is removed, and the trail says so
before it happens: it stays whole, and tells a run that was removed from one that somebody cut out.
"""

from __future__ import annotations

from typing import Final

import structlog

from gateway.metrics import Metrics
from gateway.workers import forever
from host.audit import removed
from host.host import Host
from host.retention import Removal, ends_with, is_over, opened
from host.store.audit import LoggedCommit
from host.store.records import Conflict, StoredEvent

log = structlog.get_logger("sayso.retention")

_KIND, _KEY = "retention", "position"
_COMMITS: Final = 50
_PAUSE: Final = 60.0  # seconds between two looks, once nothing old is left
_DAY_MS: Final = 86_400_000
_PAGE: Final = 500


class Retention:
    """Removes runs that have not changed for `days`. Replicas may do so side by side."""

    def __init__(self, host: Host, days: int, metrics: Metrics) -> None:
        self._host = host
        self._days = days
        self._metrics = metrics

    async def run(self) -> None:
        await forever("retention", self._host, "retention", _PAUSE, self.once)

    async def once(self) -> bool:
        """Look at the next commits. True when there may be more that are old enough."""
        store, now = self._host.store, self._host.clock()
        kept = await store.documents.get(_KIND, _KEY, now)
        after = int(kept.value) if kept is not None else 0
        audited = await store.audit.position()
        commits = [c for c in await store.feed.read(after, _COMMITS) if c.position <= audited]
        before = now - self._days * _DAY_MS
        position = after
        for commit in commits:
            if commit.events[0].at >= before:
                break
            await self._look_at(commit)
            position = commit.position
        if position == after:
            return False
        expected = kept.version if kept is not None else 0
        await store.documents.put(_KIND, _KEY, position, now, expected=expected)
        return True

    async def _look_at(self, commit: LoggedCommit) -> None:
        store, run_id = self._host.store, commit.events[0].run_id
        run = await store.log.run(run_id)
        if run is None or not is_over(run) or not ends_with(run, commit.events):
            return
        removal = await self._all_of(run_id, run.version)
        while True:
            end = await store.audit.last(run.tenant)
            position = await store.audit.position()
            try:
                await store.audit.extend(
                    (removed(run.tenant, run_id, run.version, self._host.clock(), end),),
                    position,
                    position,
                )
                break
            except Conflict:
                continue  # the trail has moved on: after its new end, then
        if await store.log.remove(removal):
            self._metrics.removed()
            log.info("run removed", run=run_id)

    async def _all_of(self, run_id: str, version: int) -> Removal:
        store = self._host.store
        events: list[StoredEvent] = []
        while page := await store.log.events(run_id, len(events) - 1, _PAGE):
            events += page
        interrupts, conversations = opened(events)
        found = [await store.log.interrupt(interrupt_id) for interrupt_id in interrupts]
        keys = tuple({i.match_key for i in found if i is not None and i.match_key is not None})
        return Removal(run_id, version, interrupts, conversations, keys)
