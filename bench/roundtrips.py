"""A round trip as a program makes it: ask (run and question in one request), resolve, read the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from rawhttp import Connection
from resolve import quantile

Act = Callable[[Connection], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one measurement gave. Latencies in seconds, sorted; CPU in seconds of all gateways."""

    seconds: float
    latencies: list[float]
    cpu: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def at(self, share: float) -> float:
        return quantile(self.latencies, share) * 1000


def question() -> dict[str, Any]:
    """A body of `POST /host/sayso/interrupts`: an approval of ordinary size that nobody is told of."""
    data = {
        "artifactId": "refund-7",
        "artifactType": "refund",
        "title": "Refund 4,000.00 EUR to Acme Ltd",
        "description": "The customer sent the machine back within the return period, unused.",
        "actions": ["accept", "reject"],
    }
    payload = {"kind": "approval", "key": "gate:0", "data": data}
    return {"nodeId": "gate", "payload": payload, "notify": []}


async def ask(connection: Connection) -> dict[str, Any]:
    asked: dict[str, Any] = await connection.call("POST", "/host/sayso/interrupts", question())
    return asked


async def resolve(connection: Connection, asked: dict[str, Any]) -> None:
    path = f"/runs/{_segment(asked['runId'])}/interrupts/gate"
    await connection.call("POST", path, {"resumeValue": {"action": "accept"}})


async def read(connection: Connection, asked: dict[str, Any]) -> None:
    path = f"/host/sayso/interrupts/{_segment(asked['interruptId'])}?wait=30"
    found = await connection.call("GET", path)
    if found["status"] != "resolved":
        raise RuntimeError(f"the waiter was told {found['status']}")


async def trip(connection: Connection) -> None:
    asked = await ask(connection)
    await resolve(connection, asked)
    await read(connection, asked)


async def measure(
    urls: Sequence[str], key: str, pids: Sequence[int], act: Act, clients: int, seconds: float
) -> Figures:
    """`act` again and again from `clients` connections, spread over the gateways, for `seconds`."""
    connections = [await Connection.open(urls[n % len(urls)], key) for n in range(clients)]
    for connection in connections:
        await act(connection)  # what is only slow once is not in the figures
    latencies: list[float] = []
    before, began = cpu(pids), time.perf_counter()
    end = began + seconds

    async def client(connection: Connection) -> None:
        while (start := time.perf_counter()) < end:
            await act(connection)
            latencies.append(time.perf_counter() - start)

    await asyncio.gather(*map(client, connections))
    took = time.perf_counter() - began
    spent = cpu(pids) - before
    for connection in connections:
        connection.close()
    return Figures(took, sorted(latencies), spent)


def cpu(pids: Sequence[int]) -> float:
    """Seconds of CPU that these processes have used."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(t.user + t.system for t in times)


def rss_mib(pid: int) -> float:
    """Resident memory of one process."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def size_mib(folder: Path) -> float:
    """All files below a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 2**20


def _segment(bound_id: str) -> str:
    return bound_id.replace("/", "~2F")
