"""The event log and its projections in PostgreSQL.

An append is one round trip, shared by all appends that queued up while the last one ran. Point reads of
one kind share theirs in the same way; every read is one round trip.
"""

from __future__ import annotations

from typing import Any

from host.decisions.state import Conversation, Interrupt, Run
from host.retention import Removal
from host.store import codec
from host.store.postgres import append
from host.store.postgres.batches import Batches
from host.store.postgres.database import Database
from host.store.postgres.removal import remove
from host.store.records import Commit, Conflict, Page, StoredEvent, StoreUnavailable
from schemas.errors import Refusal

_COLUMNS = (
    "i.interrupt_id, i.run_id, i.node_id, i.key, i.kind, i.status, i.version, i.deadline, "
    "a.body, i.progress FROM interrupts i JOIN asked a ON a.interrupt_id = i.interrupt_id"
)


class PostgresLog:
    """`host.store.port.Log` on one PostgreSQL database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._appends: Batches[Commit, None] = Batches(self._append, append.names)
        self._runs: Batches[str, bytes | None] = Batches(self._read_runs)
        self._interrupts: Batches[str, Any | None] = Batches(self._read_interrupts)

    async def finish(self) -> None:
        """Wait for what is queued."""
        for batches in (self._appends, self._runs, self._interrupts):
            await batches.finish()

    async def append(self, commit: Commit) -> None:
        await self._appends(commit)

    async def run(self, run_id: str) -> Run | None:
        head = await self._runs(run_id)
        return None if head is None else codec.load_run(head)

    async def interrupt(self, interrupt_id: str) -> Interrupt | None:
        row = await self._interrupts(interrupt_id)
        return None if row is None else codec.load_interrupt(row)

    async def by_key(self, run_id: str, key: str) -> Interrupt | None:
        return await self._interrupt("WHERE i.run_id = $1 AND i.key = $2", run_id, key)

    async def by_node(self, run_id: str, node_id: str) -> Interrupt | None:
        return await self._interrupt(
            "WHERE i.run_id = $1 AND i.node_id = $2 "
            "ORDER BY i.status = 'open' DESC, i.interrupt_id DESC LIMIT 1",
            run_id,
            node_id,
        )

    async def conversation(self, tenant: str, conversation_id: str) -> Conversation | None:
        row = await self._db.one(
            "SELECT body FROM conversations WHERE tenant = $1 AND conversation_id = $2",
            tenant,
            conversation_id,
        )
        return codec.load_conversation(row[0]) if row else None

    async def events(self, run_id: str, after: int, limit: int) -> list[StoredEvent]:
        rows = await self._db.fetch(
            "SELECT sequence, at, events FROM log WHERE run_id = $1 AND sequence >= coalesce("
            "(SELECT max(sequence) FROM log WHERE run_id = $1 AND sequence <= $2), 0) "
            "ORDER BY sequence LIMIT $3",
            run_id,
            after + 1,
            limit,
        )
        found: list[StoredEvent] = []
        for sequence, at, blob in rows:
            found += [
                e for e in codec.load_events(run_id, sequence, at, blob) if e.sequence > after
            ]
            if len(found) >= limit:
                break
        return found

    async def interrupts(
        self, tenant: str, status: str | None, limit: int, cursor: str | None
    ) -> Page:
        where = "WHERE i.interrupt_id > $1 AND i.interrupt_id < $2"
        args: list[Any] = [f"{tenant}/", cursor or f"{tenant}0", limit + 1]  # '0' follows '/'
        if status == "open":  # written out, so that the index of the open ones fits
            where += " AND i.status = 'open'"
        elif status is not None:
            where += " AND i.status = $4"
            args.append(status)
        rows = await self._db.fetch(
            f"SELECT {_COLUMNS} {where} ORDER BY i.interrupt_id DESC LIMIT $3", *args
        )
        found = tuple(codec.load_interrupt(row) for row in rows[:limit])
        return Page(found, found[-1].interrupt_id if len(rows) > limit else None)

    async def due(self, now: int, limit: int) -> list[str]:
        rows = await self._db.fetch(
            "SELECT interrupt_id FROM interrupts WHERE status = 'open' AND deadline IS NOT NULL "
            "AND deadline <= $1 ORDER BY deadline LIMIT $2",
            now,
            limit,
        )
        return [row[0] for row in rows]

    async def to_wake(self, now: int, limit: int) -> list[str]:
        rows = await self._db.fetch(
            "SELECT run_id FROM runs WHERE wake_at IS NOT NULL AND wake_at <= $1 "
            "ORDER BY wake_at LIMIT $2",
            now,
            limit,
        )
        return [row[0] for row in rows]

    async def remove(self, removal: Removal) -> bool:
        return await remove(self._db, removal)

    async def _interrupt(self, where: str, *args: object) -> Interrupt | None:
        row = await self._db.one(f"SELECT {_COLUMNS} {where}", *args)
        return codec.load_interrupt(row) if row else None

    async def _read_runs(self, ids: list[str]) -> list[bytes | Exception | None]:
        rows = await self._db.fetch(
            "SELECT run_id, head FROM runs WHERE run_id = ANY ($1::text[])", ids
        )
        found = dict(rows)
        return [found.get(run_id) for run_id in ids]

    async def _read_interrupts(self, ids: list[str]) -> list[Any | Exception | None]:
        rows = await self._db.fetch(
            f"SELECT {_COLUMNS} WHERE i.interrupt_id = ANY ($1::text[])", ids
        )
        found = {row[0]: row for row in rows}
        return [found.get(interrupt_id) for interrupt_id in ids]

    async def _append(self, commits: list[Commit]) -> list[Exception | None]:
        """The verdicts, in order. A batch that the database refuses is halved until the commit that is
        to blame stands alone; one that it doesn't answer to has failed as a whole."""
        order = sorted(range(len(commits)), key=lambda i: commits[i].run.run_id)
        try:
            moved = set(await self._send([commits[i] for i in order]))
        except StoreUnavailable as away:
            return [StoreUnavailable(str(away)) for _ in commits]
        except (Conflict, Refusal) as refused:
            if len(commits) == 1:
                return [refused]
            half = len(commits) // 2
            return [*await self._append(commits[:half]), *await self._append(commits[half:])]
        verdicts: list[Exception | None] = [None] * len(commits)
        for position, i in enumerate(order, start=1):
            if position not in moved:
                verdicts[i] = Conflict("the run has moved on")
        return verdicts

    async def _send(self, commits: list[Commit]) -> list[int]:
        [row] = await self._db.fetch(append.STATEMENT, *append.columns(commits))
        moved: list[int] = row[0]
        return moved
