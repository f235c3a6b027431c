"""How many answers a second one gateway takes, and how long each waits.

Starts the real program (`sayso dev`, everything embedded, on a free port of this machine), requests
interrupts and resolves them over HTTP:

    resolve     POST /runs/{runId}/interrupts/{nodeId}, at each concurrency
    round trip  create a run, request, resolve, and poll events until `interrupt.resolved`

The clock starts before the first request is written and stops when the last answer has been read, so
the client's own cost is in the numbers: on a machine with few cores it competes with the gateway.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

READY_SECONDS = 60.0
STOP_SECONDS = 20.0
LARGEST_POOL = 100


class BenchFailed(Exception):
    """A measurement that would mean nothing. The text says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Times in seconds, memory in MiB (None where it can't be read)."""

    what: str
    concurrency: int
    seconds: float
    latencies: list[float]
    rss: float | None

    def cells(self) -> tuple[str, ...]:
        ordered = sorted(self.latencies)
        count = len(ordered)
        return (
            self.what,
            str(self.concurrency),
            str(count),
            f"{count / self.seconds:,.0f}/s",
            f"{quantile(ordered, 0.50) * 1000:.2f} ms",
            f"{quantile(ordered, 0.99) * 1000:.2f} ms",
            "-" if self.rss is None else f"{self.rss:.0f} MiB",
        )


HEADINGS = ("", "concurrency", "count", "throughput", "p50", "p99", "gateway RSS")


def quantile(ordered: list[float], share: float) -> float:
    """The smallest value that at least `share` of a sorted, non-empty list doesn't exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def table(rows: list[Row]) -> str:
    """The rows in aligned columns: words left, numbers right."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def rss(pid: int | None) -> float | None:
    """Resident memory of a process in MiB: from /proc, else from `ps`, else None."""
    if pid is None:
        return None
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    shown = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return int(shown.stdout) / 1024 if shown.stdout.strip().isdigit() else None


class Client:
    """The four calls that are measured."""

    def __init__(self, session: ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def create_run(self) -> str:
        body = {"workflowId": "sayso.external", "metadata": {"bench": "resolve"}}
        return str((await self._call("POST", "/runs", body))["runId"])

    async def request(self, run_id: str, node: str) -> None:
        data = {
            "artifactId": "bench",
            "artifactType": "text",
            "title": "Bench",
            "actions": ["accept", "reject"],
        }
        payload = {"kind": "approval", "key": f"{node}:0", "data": data}
        path = f"/host/sayso/runs/{run_id.replace('/', '~2F')}/interrupts"
        await self._call("POST", path, {"nodeId": node, "payload": payload, "notify": []})

    async def resolve(self, run_id: str, node: str) -> None:
        path = f"/runs/{run_id.replace('/', '~2F')}/interrupts/{node}"
        await self._call("POST", path, {"resumeValue": {"action": "accept"}})

    async def until_resolved(self, run_id: str) -> None:
        after = ""
        while True:
            path = f"/runs/{run_id.replace('/', '~2F')}/events/poll?timeout=30{after}"
            polled = await self._call("GET", path)
            if any(event["type"] == "interrupt.resolved" for event in polled["events"]):
                return
            after = f"&afterSequence={polled['lastSequence']}"

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        async with self._session.request(method, self._url + path, json=body) as response:
            text = await response.text()
            if response.status >= 300:
                raise BenchFailed(f"{method} {path}: HTTP {response.status} {text[:500]}")
            return json.loads(text)


async def timed(
    act: Callable[[int], Awaitable[None]], count: int, concurrency: int
) -> tuple[float, list[float]]:
    """Do `act(0)` to `act(count - 1)`, `concurrency` at a time: total seconds, and each one's."""
    latencies: list[float] = []
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            began = time.perf_counter()
            await act(number)
            latencies.append(time.perf_counter() - began)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, count)):
            group.create_task(worker())
    return time.perf_counter() - began, latencies


async def measure(
    client: Client, count: int, round_trips: int, levels: list[int], pid: int | None
) -> AsyncIterator[Row]:
    """The rows of the table, as they are measured."""
    for level in levels:
        runs: list[str] = [""] * count

        async def prepare(number: int, runs: list[str] = runs) -> None:
            runs[number] = await client.create_run()
            await client.request(runs[number], "gate")

        async def answer(number: int, runs: list[str] = runs) -> None:
            await client.resolve(runs[number], "gate")

        seconds, latencies = await timed(prepare, count, 20)
        yield Row("create and request", min(20, count), seconds, latencies, rss(pid))
        seconds, latencies = await timed(answer, count, level)
        yield Row("resolve", min(level, count), seconds, latencies, rss(pid))

    async def whole(number: int) -> None:
        run_id = await client.create_run()
        await client.request(run_id, "gate")
        await client.resolve(run_id, "gate")
        await client.until_resolved(run_id)

    for level in levels if round_trips else []:
        seconds, latencies = await timed(whole, round_trips, level)
        yield Row("round trip", min(level, round_trips), seconds, latencies, rss(pid))


@asynccontextmanager
async def gateway(
    data: Path, settings: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[str, str, int]]:
    """The program, started and ready: its URL, API key and process id. Stopped at the end.

    `settings` are further environment variables.
    """
    program = Path(sys.executable).with_name("sayso")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SAYSO_")}
    environ |= {"SAYSO_HTTP__PORT": "0", "SAYSO_DATA_DIR": str(data), **(settings or {})}
    with (data / "output").open("wb") as output:
        process = subprocess.Popen(
            [str(program), "dev"], env=environ, cwd=data, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        url = await ready(process, data)
        yield url, (data / "dev-api-key").read_text().strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(process.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def ready(process: subprocess.Popen[bytes], data: Path) -> str:
    """Wait until the program has written its address and says that it's well."""
    deadline = time.monotonic() + READY_SECONDS
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                url = (data / "url").read_text().strip().rstrip("/")
                async with session.get(f"{url}/healthz") as response:
                    if response.status == 200:
                        return url
            except (OSError, ClientError, TimeoutError):
                pass
            await asyncio.sleep(0.05)
    said = (data / "output").read_text(errors="replace")[-2000:]
    raise BenchFailed(f"the gateway did not become ready (exit code {process.poll()}):\n{said}")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=positive, default=2000, help="interrupts a row (2000)")
    parser.add_argument("--round-trips", type=int, default=500, help="full round trips (500)")
    parser.add_argument(
        "--concurrency", type=positive, nargs="+", default=[1, 50], help="levels (1 50)"
    )
    parser.add_argument(
        "--url", help="measure a gateway that runs already (its key in SAYSO_API_KEY)"
    )
    parser.add_argument("--pid", type=int, help="with --url: the process whose memory is shown")
    return parser.parse_args(given)


def positive(text: str) -> int:
    """An integer from 1 for argparse."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


async def run(options: argparse.Namespace, url: str, api_key: str, pid: int | None) -> list[Row]:
    """All rows, with progress on standard error."""
    headers = {"Authorization": f"Bearer {api_key}"}
    connector = TCPConnector(limit=LARGEST_POOL + max(options.concurrency))
    rows: list[Row] = []
    async with ClientSession(headers=headers, connector=connector) as session:
        client = Client(session, url)
        measured = measure(client, options.count, options.round_trips, options.concurrency, pid)
        async for row in measured:
            rows.append(row)
            print(f"{row.what} at {row.concurrency}: done", file=sys.stderr)
    return rows


async def main() -> None:
    """Measure, and print the table."""
    options = arguments()
    if options.url:
        if urlsplit(options.url).scheme not in ("http", "https"):
            raise BenchFailed("--url: give the gateway's base URL, http://127.0.0.1:8787")
        key = os.environ.get("SAYSO_API_KEY", "")
        rows = await run(options, options.url.rstrip("/"), key, options.pid)
    else:
        with tempfile.TemporaryDirectory(prefix="sayso-bench-") as data:
            async with gateway(Path(data)) as (url, key, pid):
                rows = await run(options, url, key, pid)
    print(table(rows))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except* BenchFailed as failed:
        sys.exit(f"bench: {failed.exceptions[0]}")
