"""The worker that keeps the audit trail: follows the log by position, never on the way of an answer."""

from __future__ import annotations

import structlog

from gateway.workers import forever
from host.audit import Entry, extend
from host.host import Host
from host.store.records import Conflict
from schemas.ids import tenant_of

log = structlog.get_logger("sayso.audit")

_COMMITS = 50  # a batch is worked out on the event loop: a few milliseconds and no more


class AuditWorker:
    """Takes up what the log has and the trail has not. Replicas may do so side by side: one is first, and the
    others look again a second later."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def run(self) -> None:
        await forever("audit", self._host, "audit", 1.0, self.once)

    async def once(self) -> bool:
        """Take up one batch. True when there may be more."""
        audit = self._host.store.audit
        after = await audit.position()
        commits = await self._host.store.feed.read(after, _COMMITS)
        if not commits:
            return False
        events = [event for commit in commits for event in commit.events]
        ends: dict[str, Entry | None] = {}
        for tenant in {tenant_of(event.run_id) for event in events}:
            ends[tenant] = await audit.last(tenant)
        try:
            await audit.extend(tuple(extend(ends, events)), after, commits[-1].position)
        except Conflict:
            return False  # another gateway was first, and goes on: two at once do the work twice
        return len(commits) == _COMMITS
