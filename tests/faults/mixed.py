"""A rolling upgrade under a load: an older program and this one on one database, then this one alone.

    python -m tests.faults.mixed --commit 418e1b9 --runs 50      # of this repository's history
    python -m tests.faults.mixed --tree /somewhere/else          # any unpacked older version

The older program makes the schema, the newer one migrates it while the older goes on, and faults happen to
both. What the checker says of two like programs must be true of these.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import secrets
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from tests.faults.campaign import Campaign, Report
from tests.faults.faults import (
    Fault,
    flush_valkey,
    kill_gateway,
    pause_gateway,
    stop_gateway,
    terminate_backends,
)
from tests.faults.world import REPOSITORY, World

MIXED: Sequence[Fault] = (flush_valkey, pause_gateway, terminate_backends)
"""While both run: nothing that starts the older one again, which refuses the newer schema by then."""
AFTER: Sequence[Fault] = (*MIXED, kill_gateway, stop_gateway)


def before_the_last_migration() -> str:
    """The newest commit with an older schema. Raises `LookupError` where the history doesn't reach it."""
    scripts = "host/store/postgres/*.sql"
    try:
        added = _git("log", "-1", "--diff-filter=A", "--format=%H", "--", scripts).decode().strip()
        return _git("rev-parse", "--verify", f"{added}^").decode().strip() if added else _none()
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        raise LookupError("no git history, or not so far back") from error


def unpack(commit: str, folder: Path) -> None:
    """The files of a commit."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", commit))) as files:
        files.extractall(folder, filter="data")


async def rolling(tree: Path, folder: Path, seed: int, runs: int) -> list[Report]:
    """Half of the runs with `tree` and this version side by side, half after it. Raises `Violation`."""
    world = World(folder, {"PYTHONPATH": str(tree)}, {})
    try:
        await world.start()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            mixed = await Campaign(world, session, seed, MIXED).run(runs // 2)
            old = world.replicas[0].program
            assert await old.stop() == 0, old.output
            old.settings["PYTHONPATH"] = str(REPOSITORY)
            await old.start()
            upgraded = Campaign(world, session, seed + 1, AFTER)
            upgraded.report.cases += mixed.cases  # they are in the database, and checked once more
            after = await upgraded.run(runs - runs // 2)
            return [mixed, after]
    except BaseException:
        for replica in world.replicas:
            print("\n".join(replica.program.lines[-40:]))
        raise
    finally:
        await world.stop()


def _none() -> str:
    raise LookupError("no migration in the history")


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(REPOSITORY), *arguments], check=True, capture_output=True
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.mixed", description=__doc__)
    parser.add_argument("--commit", help="left out: the last one with an older schema")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None, help="drawn when left out")
    chosen = parser.parse_args()
    seed = secrets.randbits(32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="sayso-mixed-") as folder:
        tree = chosen.tree
        if tree is None:
            tree = Path(folder) / "old"
            unpack(chosen.commit or before_the_last_migration(), tree)
        for report in asyncio.run(rolling(tree, Path(folder) / "world", seed, chosen.runs)):
            print(report)


if __name__ == "__main__":
    main()
