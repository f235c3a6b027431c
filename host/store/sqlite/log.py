"""The event log and its projections in SQLite."""

from __future__ import annotations

import sqlite3

from host.decisions.state import Conversation, Interrupt, Run
from host.retention import Removal
from host.store import codec
from host.store.records import Commit, Conflict, Page, StoredEvent
from host.store.sqlite.database import Database
from host.store.sqlite.recent import Recent
from host.store.sqlite.removal import remove
from host.store.sqlite.webhooks import enqueue

_COLUMNS = (
    "i.interrupt_id, i.run_id, i.node_id, i.key, i.kind, i.status, i.version, i.deadline, "
    "a.body, i.progress FROM interrupts i JOIN asked a ON a.interrupt_id = i.interrupt_id"
)


_RECENT = 4096


class SqliteLog:
    """`host.store.port.Log` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._runs: Recent[Run] = Recent(_RECENT)
        self._interrupts: Recent[Interrupt] = Recent(_RECENT)

    async def append(self, commit: Commit) -> None:
        await self._db.write(lambda connection: _append(connection, commit))
        self._runs.put(commit.run.run_id, commit.run)
        for interrupt in commit.interrupts:
            self._interrupts.put(interrupt.interrupt_id, interrupt)

    async def run(self, run_id: str) -> Run | None:
        run = self._runs.get(run_id)
        if run is None:
            row = self._db.one("SELECT head FROM runs WHERE run_id = ?", (run_id,))
            if row is None:
                return None
            run = codec.load_run(row[0])
            self._runs.put(run_id, run)
        return run

    async def interrupt(self, interrupt_id: str) -> Interrupt | None:
        found = self._interrupts.get(interrupt_id)
        if found is None:
            found = self._interrupt("WHERE i.interrupt_id = ?", interrupt_id)
            if found is not None:
                self._interrupts.put(interrupt_id, found)
        return found

    async def by_key(self, run_id: str, key: str) -> Interrupt | None:
        return self._interrupt("WHERE i.run_id = ? AND i.key = ?", run_id, key)

    async def by_node(self, run_id: str, node_id: str) -> Interrupt | None:
        return self._interrupt(
            "WHERE i.run_id = ? AND i.node_id = ? "
            "ORDER BY i.status = 'open' DESC, i.interrupt_id DESC LIMIT 1",
            run_id,
            node_id,
        )

    async def conversation(self, tenant: str, conversation_id: str) -> Conversation | None:
        row = self._db.one(
            "SELECT body FROM conversations WHERE tenant = ? AND conversation_id = ?",
            (tenant, conversation_id),
        )
        return codec.load_conversation(row[0]) if row else None

    async def events(self, run_id: str, after: int, limit: int) -> list[StoredEvent]:
        rows = self._db.read(
            "SELECT sequence, at, events FROM log WHERE run_id = ?1 AND sequence >= coalesce("
            "(SELECT max(sequence) FROM log WHERE run_id = ?1 AND sequence <= ?2), 0) "
            "ORDER BY sequence LIMIT ?3",
            (run_id, after + 1, limit),
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
        where = "WHERE i.interrupt_id > ? AND i.interrupt_id < ?"
        args: list[object] = [f"{tenant}/", cursor or f"{tenant}0"]  # '0' follows '/'
        if status is not None:
            where += " AND i.status = ?"
            args.append(status)
        rows = self._db.read(
            f"SELECT {_COLUMNS} {where} ORDER BY i.interrupt_id DESC LIMIT ?",
            (*args, limit + 1),
        )
        found = tuple(codec.load_interrupt(row) for row in rows[:limit])
        return Page(found, found[-1].interrupt_id if len(rows) > limit else None)

    async def due(self, now: int, limit: int) -> list[str]:
        rows = self._db.read(
            "SELECT interrupt_id FROM interrupts WHERE status = 'open' AND deadline IS NOT NULL "
            "AND deadline <= ? ORDER BY deadline LIMIT ?",
            (now, limit),
        )
        return [row[0] for row in rows]

    async def to_wake(self, now: int, limit: int) -> list[str]:
        rows = self._db.read(
            "SELECT run_id FROM runs WHERE wake_at IS NOT NULL AND wake_at <= ? "
            "ORDER BY wake_at LIMIT ?",
            (now, limit),
        )
        return [row[0] for row in rows]

    async def remove(self, removal: Removal) -> bool:
        gone = await self._db.write(lambda connection: remove(connection, removal))
        if gone:
            self._runs.drop(removal.run_id)
            for interrupt_id in removal.interrupts:
                self._interrupts.drop(interrupt_id)
        return gone

    def _interrupt(self, where: str, *args: object) -> Interrupt | None:
        row = self._db.one(f"SELECT {_COLUMNS} {where}", args)
        return codec.load_interrupt(row) if row else None


def _append(connection: sqlite3.Connection, commit: Commit) -> None:
    execute = connection.execute
    run = commit.run
    if commit.expected == 0:
        execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?)",
            (run.run_id, run.version, run.wake_at, codec.dump_run(run)),
        )
    else:
        moved = execute(
            "UPDATE runs SET version = ?, wake_at = ?, head = ? WHERE run_id = ? AND version = ?",
            (run.version, run.wake_at, codec.dump_run(run), run.run_id, commit.expected),
        )
        if moved.rowcount != 1:
            raise Conflict("the run has moved on")
    execute(
        "INSERT INTO log (run_id, sequence, at, events) VALUES (?, ?, ?, ?)",
        (run.run_id, commit.expected, commit.at, codec.dump_events(commit.events)),
    )
    opened = {e.record["opens"] for e in commit.events if e.record and "opens" in e.record}
    for interrupt in commit.interrupts:
        if interrupt.interrupt_id in opened:
            _open_interrupt(connection, interrupt)
        else:
            _change_interrupt(connection, interrupt, commit.at)
        if interrupt.match_key is not None:
            _put_wait(connection, interrupt)
    for message in commit.messages:
        execute(
            "INSERT INTO messages (interrupt_id, channel, address, tenant, thread, wanted, due_at) "
            "VALUES (?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING",
            (
                message.interrupt_id,
                message.channel,
                message.address,
                run.tenant,
                message.thread,
                commit.at,
            ),
        )
    _put_conversations(connection, commit)
    enqueue(connection, commit)
    if commit.reply is not None:
        reply = commit.reply
        execute(
            "INSERT INTO replies VALUES (?, ?, ?, ?, ?)",
            (reply.scope, reply.digest, reply.status, reply.body, commit.at),
        )


def _open_interrupt(connection: sqlite3.Connection, interrupt: Interrupt) -> None:
    connection.execute(
        "INSERT INTO interrupts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            interrupt.interrupt_id,
            interrupt.run_id,
            interrupt.node_id,
            interrupt.key,
            interrupt.kind,
            interrupt.status,
            interrupt.version,
            interrupt.deadline,
            codec.dump_progress(interrupt),
        ),
    )
    connection.execute(
        "INSERT INTO asked VALUES (?, ?)", (interrupt.interrupt_id, codec.dump_asked(interrupt))
    )


def _change_interrupt(connection: sqlite3.Connection, interrupt: Interrupt, at: int) -> None:
    connection.execute(
        "UPDATE interrupts SET status = ?, version = ?, progress = ? WHERE interrupt_id = ?",
        (
            interrupt.status,
            interrupt.version,
            codec.dump_progress(interrupt),
            interrupt.interrupt_id,
        ),
    )
    if interrupt.notify:
        connection.execute(
            "UPDATE messages SET wanted = ?, due_at = coalesce(due_at, ?) WHERE interrupt_id = ?",
            (interrupt.version, at, interrupt.interrupt_id),
        )


def _put_wait(connection: sqlite3.Connection, interrupt: Interrupt) -> None:
    """An open wait makes the shelved events of its key due, in this very transaction."""
    if interrupt.status != "open":
        connection.execute(
            "DELETE FROM waits WHERE match_key = ? AND interrupt_id = ?",
            (interrupt.match_key, interrupt.interrupt_id),
        )
        return
    connection.execute(
        "INSERT OR IGNORE INTO waits VALUES (?, ?)", (interrupt.match_key, interrupt.interrupt_id)
    )
    connection.execute(
        "UPDATE shelf SET state = 'due' WHERE match_key = ? AND state = 'shelved'",
        (interrupt.match_key,),
    )


def _put_conversations(connection: sqlite3.Connection, commit: Commit) -> None:
    """A conversation that this commit opens must be new to its tenant: the primary key says so."""
    if not commit.conversations:
        return
    opened = {e.payload["conversationId"] for e in commit.events if e.type == "conversation.opened"}
    for conversation in commit.conversations:
        new = conversation.conversation_id in opened
        clause = "" if new else " ON CONFLICT DO UPDATE SET body = excluded.body"
        connection.execute(
            f"INSERT INTO conversations VALUES (?, ?, ?){clause}",  # noqa: S608 - fixed text
            (
                conversation.tenant,
                conversation.conversation_id,
                codec.dump_conversation(conversation),
            ),
        )
