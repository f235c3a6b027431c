"""Runs one peer: `python bench/peers/run.py langgraph_sqlite --clients 50 --seconds 10`. Prints JSON."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import tempfile
import time
from importlib.metadata import version
from pathlib import Path


async def measure(name: str, clients: int, seconds: float) -> dict[str, object]:
    module = importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="sayso-peer-") as folder:
        peer = module.Peer(Path(folder))
        await peer.start()
        numbers = iter(range(10**9))
        for _ in range(min(clients, 5)):
            await peer.trip(next(numbers))
        latencies: list[float] = []
        spent, began = time.process_time(), time.perf_counter()
        end = began + seconds

        async def client() -> None:
            while (start := time.perf_counter()) < end:
                await peer.trip(next(numbers))
                latencies.append(time.perf_counter() - start)

        await asyncio.gather(*(client() for _ in range(clients)))
        took, cpu = time.perf_counter() - began, time.process_time() - spent
        await peer.stop()
    named = ", ".join(f"{package} {version(package)}" for package in module.PACKAGES)
    return {"name": f"{module.NAME} ({named})", "seconds": took, "cpu": cpu,
            "latencies": sorted(latencies)}  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer")
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args()
    print(json.dumps(asyncio.run(measure(given.peer, given.clients, given.seconds))))
