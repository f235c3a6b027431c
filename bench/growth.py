"""What grows with what: a resolve beside a million others, parked waiters, the start of a gateway."""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pending import fill
from rawhttp import Connection
from resolve import gateway
from roundtrips import Figures, ask, cpu, measure, read, resolve, rss_mib, size_mib, trip
from servers import embedded

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


async def pending(folder: Path, sizes: Sequence[int], seconds: float) -> Table:
    """A round trip at one client, beside so many pending interrupts."""
    async with gateway(folder) as (url, key, _):
        connection = await Connection.open(url, key)
        asked = await ask(connection)
        connection.close()
    rows: list[tuple[str, ...]] = []
    first: float | None = None
    have = 1
    for size in sizes:
        if size > have:
            fill(folder / "sayso.db", asked["runId"], asked["interruptId"], have, size)
            have = size
        found, memory = await _beside(folder, seconds)
        first = first or found.at(0.5)
        rows.append((f"{size:,} others pending", f"{found.at(0.5):.2f} ms", f"{found.at(0.99):.2f} ms",
                     f"{found.at(0.5) / first:.2f}", f"{memory:.0f} MiB",
                     f"{size_mib(folder):,.0f} MiB"))  # fmt: skip
    return ("Ask, resolve, read at 1 client", "p50", "p99", "of the first", "RSS", "on disk"), rows


async def _beside(folder: Path, seconds: float) -> tuple[Figures, float]:
    async with gateway(folder) as (url, key, pid):
        found = await measure([url], key, [pid], trip, 1, seconds)
        return found, rss_mib(pid)


async def parked(count: int) -> Table:
    """Programs that wait on their question with a request each, and how soon the last of them knows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    async with embedded() as running:
        (url,), (pid,) = running.urls, running.pids
        asking = await Connection.open(url, running.key)
        asked = [await ask(asking) for _ in range(count)]
        before = rss_mib(pid)
        waiting = [await Connection.open(url, running.key) for _ in range(count)]
        told = [
            asyncio.create_task(read(one, which)) for one, which in zip(waiting, asked, strict=True)
        ]
        await _all_wait(asking, count)
        held = rss_mib(pid) - before
        began = time.perf_counter()
        await resolve(asking, asked[-1])
        await told[-1]
        took = time.perf_counter() - began
        for task in told:
            task.cancel()
        await asyncio.gather(*told, return_exceptions=True)
        for one in (*waiting, asking):
            one.close()
    rows = [
        (f"{count:,} parked waiters", f"{held * 1024 / count:.1f} KiB", f"{took * 1000:.1f} ms")
    ]
    return ("On one process", "memory each", "one is told after"), rows


async def _all_wait(connection: Connection, count: int) -> None:
    """Until the gateway answers beside all that wait: it has read their requests by then."""
    for _ in range(3):
        await ask(connection)
        await asyncio.sleep(0)


async def cold_start(folder: Path) -> Table:
    """From the start of the program to its first durable answer, on an existing data folder: seconds of the
    clock, and the CPU seconds of the program, which say more where others use the machine too."""
    took: list[tuple[float, float]] = []
    for round_ in range(6):
        began = time.perf_counter()
        async with gateway(folder) as (url, key, pid):
            connection = await Connection.open(url, key)
            await trip(connection)
            if round_:  # the first one makes the folder
                took.append((time.perf_counter() - began, cpu([pid])))
            connection.close()
    clock, spent = (
        [f"{figure:.2f} s" for figure in sorted(column)] for column in zip(*took, strict=True)
    )
    rows = [
        ("Start to the first resolved question", clock[0], clock[-1]),
        ("CPU of it, without the Valkey", spent[0], spent[-1]),
    ]
    return ("Embedded Valkey included", "best", "worst"), rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as here:
        print(asyncio.run(cold_start(Path(here))))
