"""`make bench`: round trips a second beside the peers', in one run, and what grows with what.

A round trip is: ask (durable), resolve (durable), the waiter has the answer. Sayso is measured over HTTP
from another process, with everything on: keys, events and aliases, projections, metrics, audit trail. The
peers run inside their own benchmark's process, without HTTP, which is the easier case; those that are not
installed are left out (bench/peers/requirements.txt; BENCH_PEER_PYTHON names another interpreter).

Quote ratios of one run. Absolute figures of a shared machine drift by a factor of two within an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from growth import cold_start, parked, pending
from resolve import positive
from roundtrips import Figures, measure, rss_mib, trip
from servers import distributed, embedded

PEERS = ("langgraph_sqlite", "dbos_sqlite")
HEADINGS = ("", "clients", "trips/s", "p50", "p99", "CPU a trip", "RSS", "of LangGraph")


def show(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns: words left, numbers right."""
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print()


def row(name: str, clients: int, found: Figures, rss: str, base: float | None) -> tuple[str, ...]:
    return (
        name,
        str(clients),
        f"{found.rate:,.0f}",
        f"{found.at(0.5):.1f} ms",
        f"{found.at(0.99):.1f} ms",
        f"{found.cpu / len(found.latencies) * 1000:.2f} ms",
        rss,
        "-" if base is None else f"{found.rate / base:.1f}",
    )


def peer(name: str, clients: int, seconds: float) -> tuple[str, Figures] | None:
    """One peer in a process of its own, or None when it can't be run here."""
    python = os.environ.get("BENCH_PEER_PYTHON", sys.executable)
    script = Path(__file__).parent / "peers" / "run.py"
    done = subprocess.run(
        [python, script, name, "--clients", str(clients), "--seconds", str(seconds)],
        capture_output=True, text=True, check=False, cwd=script.parent,
    )  # fmt: skip
    if done.returncode:
        print(f"{name}: left out ({done.stderr.strip().splitlines()[-1][:120]})", file=sys.stderr)
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    return found["name"], Figures(found["seconds"], found["latencies"], found["cpu"])


async def round_trips(levels: list[int], seconds: float) -> None:
    """The first table. The peers are measured before and after us: a machine that slows down shows, and
    ratios are of the better one."""
    measured: list[tuple[str, int, Figures, str]] = []
    base: dict[int, float] = {}

    def peers(names: Sequence[str]) -> None:
        for name in names:
            for level in levels:
                found = peer(name, level, seconds)
                if found is None:
                    break
                if name == PEERS[0]:
                    base[level] = max(base.get(level, 0.0), found[1].rate)
                measured.append((found[0], level, found[1], "-"))

    peers(PEERS)
    for name, servers in (
        ("Sayso, SQLite, 1 process", embedded()),
        ("Sayso, PostgreSQL and Valkey, 1 process", distributed(1)),
        ("Sayso, PostgreSQL and Valkey, 2 processes", distributed(2)),
    ):
        async with servers as running:
            for level in levels:
                found = await measure(running.urls, running.key, running.pids, trip, level, seconds)
                rss = " + ".join(f"{rss_mib(pid):.0f}" for pid in running.pids) + " MiB"
                measured.append((name, level, found, rss))
                print(f"{name} at {level}: done", file=sys.stderr)
    peers(PEERS[:1])
    show(HEADINGS, [row(*one, base.get(one[1])) for one in measured])


async def growth(options: argparse.Namespace) -> None:
    """The second table."""
    with tempfile.TemporaryDirectory(prefix="sayso-bench-") as folder:
        sizes = [100, 10_000, options.pending]
        show(*await pending(Path(folder), sizes, options.seconds))
    show(*await parked(options.waiters))
    with tempfile.TemporaryDirectory(prefix="sayso-bench-") as folder:
        show(*await cold_start(Path(folder)))


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=positive, nargs="+", default=[1, 50, 200])
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement (8)")
    parser.add_argument("--pending", type=positive, default=1_000_000)
    parser.add_argument("--waiters", type=positive, default=10_000)
    parser.add_argument("--only", choices=("trips", "growth"))
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f} before\n")  # fmt: skip
    if options.only != "growth":
        await round_trips(options.clients, options.seconds)
    if options.only != "trips":
        await growth(options)


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(main())
    else:
        uvloop.run(main())
