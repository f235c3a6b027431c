"""How many bytes an interrupt takes: on disk in both stores, open and answered, and in memory.

    python bench/sizes.py --count 20000
    python bench/sizes.py --postgres postgresql://sayso@127.0.0.1/empty_database

Each interrupt is an approval of ordinary size in a run of its own, with one message, asked and answered with
idempotency keys: what most deployments are made of. The stores are used in this process, through the host.
Answers to keys are forgotten after 26 hours; they are counted apart.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sqlite3
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import psutil

from host.decisions.resolve import Answer
from host.decisions.state import Policy, Principal, State
from host.host import Host
from host.journal import MakeReply
from host.store.port import Store
from host.store.postgres.store import PostgresStore
from host.store.records import Reply
from host.store.sqlite.store import SqliteStore
from schemas.payloads import check_payload
from schemas.runs import EXTERNAL_WORKFLOW, CreateRun

AT_ONCE = 200
WAITERS = 5000
ROBOT = Principal("robot", "main", name="robot", kind="workload", names=frozenset({"robot"}))
TITLE = "Refund 4,000.00 EUR to Acme Ltd"
DESCRIPTION = "The customer sent the machine back within the return period, unused and complete."


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes an interrupt. `written`: to the write-ahead log until it was answered; 0 where not known."""

    store: str
    opened: float
    answered: float
    replies: float
    written: float = 0.0


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


async def ask(host: Host, number: int) -> str:
    """One run and its question."""
    run = await host.runs.start(ROBOT, CreateRun(workflow_id=EXTERNAL_WORKFLOW))
    payload = check_payload(
        {
            "kind": "approval",
            "key": f"refund-{number}",
            "data": {
                "artifactId": str(number),
                "artifactType": "refund",
                "title": TITLE,
                "description": DESCRIPTION,
                "artifactData": {"order": str(number), "amount": 4000.0, "currency": "EUR"},
                "actions": ["accept", "reject"],
            },
        }
    )
    requested = await host.request(
        ROBOT, run.run_id, "refund", payload, ("web:",), reply=_kept(f"ask-{number}")
    )
    return requested.interrupt.interrupt_id


async def answer(host: Host, interrupt_id: str) -> None:
    """Answer it, and settle its message."""
    value = {"action": "accept", "comment": "Checked with the warehouse."}
    await host.resolve(interrupt_id, Answer(ROBOT, value, "api"), _kept(interrupt_id))


def _kept(key: str) -> MakeReply:
    scope = hashlib.sha256(key.encode()).hexdigest()

    def make(state: State) -> Reply:
        return Reply(scope, scope, 200, state.run.run_id.encode() * 6)

    return make


async def settle(store: Store) -> None:
    """Mark all messages as shown."""
    while claimed := await store.deliveries.claim(now() + 1, "bench", 60_000, 500):
        await asyncio.gather(*(store.deliveries.shown(m, {"page": 1}, now()) for m in claimed))


async def filled(host: Host, count: int) -> list[str]:
    """So many open interrupts."""
    ids: list[str] = []
    for start in range(0, count, AT_ONCE):
        some = range(start, min(start + AT_ONCE, count))
        ids += await asyncio.gather(*(ask(host, number) for number in some))
    await settle(host.store)
    return ids


async def answered(host: Host, ids: list[str]) -> None:
    """All of them answered."""
    for start in range(0, len(ids), AT_ONCE):
        await asyncio.gather(*(answer(host, one) for one in ids[start : start + AT_ONCE]))
    await settle(host.store)


async def sqlite(count: int) -> Sizes:
    """The file, after a checkpoint."""
    with tempfile.TemporaryDirectory(prefix="sayso-sizes-") as folder:
        path = Path(folder) / "sayso.db"
        store = SqliteStore(path)
        await store.start()
        host = Host(store, Policy(open_gates="anyone"), now)
        ids = await filled(host, count)
        before = _sqlite_bytes(path)
        await answered(host, ids)
        await store.stop()
        after = _sqlite_bytes(path)
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM replies")
            connection.commit()
            connection.execute("VACUUM")
        return Sizes("SQLite", before / count, after / count, (after - path.stat().st_size) / count)


def _sqlite_bytes(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    return int((pages - free) * size)


async def postgres(url: str, count: int) -> Sizes:
    """All tables with their indexes, after a vacuum."""
    store = PostgresStore(url)
    await store.start()
    host = Host(store, Policy(open_gates="anyone"), now)
    began = await _written(url)
    ids = await filled(host, count)
    asked = await _written(url) - began
    before, _ = await _postgres_bytes(url)
    began = await _written(url)
    await answered(host, ids)
    written = asked + await _written(url) - began
    after, replies = await _postgres_bytes(url)
    await store.stop()
    return Sizes("PostgreSQL", before / count, after / count, replies / count, written / count)


async def _written(url: str) -> int:
    """Bytes of write-ahead log since the beginning of the server."""
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))
    finally:
        await connection.close()


async def _postgres_bytes(url: str) -> tuple[int, int]:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("VACUUM ANALYZE")
        row = await connection.fetchrow(
            "SELECT sum(pg_total_relation_size(c.oid)), pg_total_relation_size('replies') "
            "FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE relkind = 'r' AND nspname = current_schema()"
        )
        return int(row[0]), int(row[1])
    finally:
        await connection.close()


async def waiting() -> float:
    """Bytes of memory for each program that waits in this process (without its connection)."""
    with tempfile.TemporaryDirectory(prefix="sayso-sizes-") as folder:
        store = SqliteStore(Path(folder) / "sayso.db")
        await store.start()
        host = Host(store, Policy(open_gates="anyone"), now)
        ids = await filled(host, WAITERS)
        memory = psutil.Process().memory_info
        before = memory().rss
        tasks = [asyncio.create_task(host.wait(ROBOT, one, 600.0)) for one in ids]
        while len(host.waiters) < WAITERS:
            await asyncio.sleep(0)
        after = memory().rss
        host.waiters.close()
        await asyncio.gather(*tasks)
        await store.stop()
        return float(after - before) / WAITERS


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--postgres", default="", help="the URL of an empty database")
    chosen = parser.parse_args()
    found = [await sqlite(chosen.count)]
    if chosen.postgres:
        found.append(await postgres(chosen.postgres, chosen.count))
    print("bytes an interrupt   open   answered   of which answers to keys (26 h)   log written")
    for one in found:
        print(
            f"{one.store:18} {one.opened:6.0f}   {one.answered:8.0f}   {one.replies:31.0f}   "
            f"{one.written:11.0f}"
        )
    print(f"memory of a wait   {await waiting():6.0f}")


if __name__ == "__main__":
    asyncio.run(main())
