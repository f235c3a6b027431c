"""How many signed events a second one gateway takes, and how long each waits until it is durable.

Starts the real program (`sayso dev`, everything embedded, on a free port of this machine) with one source and
sends it signed events over HTTP, each answered only when it is on the disk:

    stored      events that nobody waits for
    duplicate   the very same ones again
    matched     events that each end a wait; the worker resolves them while more come in

and, of the last, how long it took from the first event until every wait had ended. Bodies are signed before
the clock starts. The client's own cost is in the numbers: with few cores it competes with the gateway.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, TCPConnector
from resolve import BenchFailed, Row, gateway, positive, rss, table, timed

SECRET = "whsec_the_secret_of_the_bench_endpoint"
SETTINGS = {
    "SAYSO_HOOKS__PAY__PROVIDER": "stripe",
    "SAYSO_HOOKS__PAY__SECRETS": json.dumps([SECRET]),
    "SAYSO_HOOKS__PAY__CORRELATION": json.dumps({"order": "data.object.metadata.order"}),
}
PADDING = "x" * 1500  # an ordinary event has one to three kilobytes


@dataclass(frozen=True, slots=True)
class Signed:
    """A request that is ready to be sent."""

    body: bytes
    headers: dict[str, str]


def signed(number: int, batch: str) -> Signed:
    """An event of Stripe's, as it signs it."""
    payment = {"metadata": {"order": f"{batch}-{number}"}, "description": PADDING}
    event = {"id": f"evt_{batch}_{number}", "type": "paid", "data": {"object": payment}}
    body, stamp = json.dumps(event).encode(), int(time.time())
    mac = hmac.digest(SECRET.encode(), f"{stamp}.".encode() + body, "sha256").hex()
    return Signed(
        body, {"Stripe-Signature": f"t={stamp},v1={mac}", "Content-Type": "application/json"}
    )


class Client:
    """The provider's side, and the waiting run's."""

    def __init__(self, session: ClientSession, url: str, key: str) -> None:
        self._session = session
        self._url = url
        self._key = {"Authorization": f"Bearer {key}"}
        self._run = ""

    async def send(self, request: Signed, expected: str) -> None:
        async with self._session.post(
            f"{self._url}/hooks/pay", data=request.body, headers=request.headers
        ) as response:
            said = await response.json()
        if response.status != 200 or said["status"] != expected:
            raise BenchFailed(f"an event was answered {response.status} {said}, not {expected}")

    async def wait_for(self, number: int, batch: str) -> None:
        run = (await self._call("POST", "/runs", {"workflowId": "sayso.external"}))["runId"]
        data = {"eventType": "paid", "correlation": {"order": f"{batch}-{number}"}}
        payload = {"kind": "external-event", "key": "paid", "data": data}
        path = f"/host/sayso/runs/{run.replace('/', '~2F')}/interrupts"
        await self._call("POST", path, {"nodeId": "gate", "payload": payload, "notify": []})

    async def until_all_ended(self) -> None:
        """The newest open interrupt is one of ours as long as there is any: the sample is older."""
        path, kind = "/host/sayso/interrupts?status=open&limit=1", "external-event"
        async with asyncio.timeout(120):
            while any(one["kind"] == kind for one in (await self._call("GET", path))["interrupts"]):
                await asyncio.sleep(0.01)

    async def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        async with self._session.request(
            method, self._url + path, json=body, headers=self._key
        ) as response:
            if response.status >= 300:
                raise BenchFailed(f"{method} {path}: HTTP {response.status}")
            found: dict[str, Any] = await response.json()
            return found


async def measure(client: Client, count: int, level: int, pid: int) -> list[Row]:
    """The rows of one concurrency."""
    rows = []
    quiet = [signed(number, f"q{level}") for number in range(count)]
    for what in ("stored", "duplicate"):

        async def send(number: int, what: str = what) -> None:
            await client.send(quiet[number], what)

        seconds, latencies = await timed(send, count, level)
        rows.append(Row(what, min(level, count), seconds, latencies, rss(pid)))

    async def prepare(number: int) -> None:
        await client.wait_for(number, f"w{level}")

    await timed(prepare, count, 20)
    awaited = [signed(number, f"w{level}") for number in range(count)]

    async def match(number: int) -> None:
        await client.send(awaited[number], "stored")

    began = time.perf_counter()
    seconds, latencies = await timed(match, count, level)
    rows.append(Row("matched", min(level, count), seconds, latencies, rss(pid)))
    await client.until_all_ended()
    ended = time.perf_counter() - began
    print(f"at {level}: all {count} waits ended in {ended:.2f} s, {count / ended:,.0f}/s")
    return rows


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=positive, default=2000, help="events a row (2000)")
    parser.add_argument(
        "--concurrency", type=positive, nargs="+", default=[1, 50], help="levels (1 50)"
    )
    return parser.parse_args()


async def main() -> None:
    """Measure, and print the table."""
    options = arguments()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="sayso-bench-") as data:
        connector = TCPConnector(limit=0)
        async with (
            gateway(Path(data), SETTINGS) as (url, key, pid),
            ClientSession(connector=connector) as session,
        ):
            client = Client(session, url, key)
            for level in options.concurrency:
                rows += await measure(client, options.count, level, pid)
    print(table(rows))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except* BenchFailed as failed:
        sys.exit(f"bench: {failed.exceptions[0]}")
