"""How long a click in Slack waits for its acknowledgement, and what it costs.

Starts the real program (`sayso dev`, everything embedded) against a Slack API of this process, asks for an
approval a click, and then sends signed clicks over HTTP at an even rate, whether or not the ones before have
been answered. Each decides its own request; the acknowledgement comes after the decision is on the disk.

Beside it, in the same run and by the same clicks: an empty listener of slack-bolt's `AsyncApp`, which
verifies, acknowledges and keeps nothing.

CPU is the server's own, user and system, a click; the private Valkey's is in its own column.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientSession, TCPConnector, web
from resolve import BenchFailed, gateway, positive, quantile

from adapters.slack.render import card
from adapters.views import Action, Card, Fact
from schemas.ids import path_segment

SECRET = "bench-signing-secret"
PATH = "/slack/events"
CARD = Card(
    interrupt_id="",
    kind="approval",
    state="open",
    version=1,
    title="Refund 120 EUR to Acme",
    body="Order 4711 came broken; the customer wants the money back.",
    facts=(Fact("Requested by", "robot"), Fact("Amount", "120 EUR"), Fact("Order", "4711")),
    evidence=json.dumps({"order": 4711, "amount": "120.00", "currency": "EUR"}, indent=2),
    actions=(
        Action("accept", "Approve", "primary"),
        Action("reject", "Reject", "danger", needs="reason"),
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One server. Latencies in seconds; CPU in seconds over all clicks."""

    what: str
    latencies: list[float]
    cpu: float
    beside: float
    durable: str = "-"

    def line(self) -> str:
        ordered, count = sorted(self.latencies), len(self.latencies)
        cells = [f"{quantile(ordered, share) * 1000:.2f} ms" for share in (0.5, 0.99, 1.0)]
        cost = [f"{seconds / count * 1e6:.0f} us" for seconds in (self.cpu, self.beside)]
        return "".join(
            [
                f"{self.what:<22}",
                f"{count:>7}",
                *(f"{c:>12}" for c in (*cells, *cost, self.durable)),
            ]
        )


HEAD = "".join(
    f"{name:>{width}}" if name else " " * width
    for name, width in (
        ("", 22),
        ("clicks", 7),
        ("ack p50", 12),
        ("ack p99", 12),
        ("ack max", 12),
        ("CPU/click", 12),
        ("Valkey", 12),
        ("durable p99", 12),
    )
)


@asynccontextmanager
async def slack_api() -> AsyncIterator[str]:
    """As much of the Web API as is called: every method answers, at once."""
    answer = {
        "ok": True,
        "team_id": "T0TEAM",
        "user_id": "U0BOT",
        "bot_id": "B0BOT",
        "channel": "C0OPS",
        "ts": "1.1",
        "user": {
            "id": "U0ADA",
            "team_id": "T0TEAM",
            "name": "ada",
            "deleted": False,
            "is_bot": False,
            "is_restricted": False,
            "is_email_confirmed": True,
            "tz": "Europe/Paris",
            "locale": "en-US",
            "profile": {"display_name": "Ada", "email": "ada@example.com"},
        },
    }

    async def method(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response(answer, headers={"x-oauth-scopes": "chat:write"})

    app = web.Application()
    app.router.add_route("*", "/api/{method}", method)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    finally:
        await runner.cleanup()


async def ask(session: ClientSession, url: str, key: str, count: int) -> list[str]:
    """So many open approvals, shown nowhere: their ids."""
    headers = {"Authorization": f"Bearer {key}"}
    data = {
        "artifactId": "bench",
        "artifactType": "refund",
        "title": CARD.title,
        "actions": ["accept", "reject"],
    }
    found: list[str] = []
    numbers = iter(range(count))

    async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with session.post(url + path, json=body, headers=headers) as response:
            if response.status not in (200, 201):
                raise BenchFailed(f"{path} answered {response.status}: {await response.text()}")
            return dict(await response.json())

    async def worker() -> None:
        for number in numbers:
            run = path_segment((await post("/runs", {"workflowId": "sayso.external"}))["runId"])
            payload = {"kind": "approval", "key": f"k{number}", "data": data}
            asked = {"nodeId": "gate", "payload": payload, "notify": []}
            record = await post(f"/host/sayso/runs/{run}/interrupts", asked)
            found.append(str(record["interruptId"]))

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(worker())
    return found


def click(interrupt_id: str, number: int) -> bytes:
    """A click as Slack sends it: the whole message comes along."""
    message = card(replace(CARD, interrupt_id=interrupt_id))
    (button, *_) = (b["elements"][0] for b in message.blocks if b["type"] == "actions")
    user = {"id": "U0ADA", "username": "ada", "name": "ada", "team_id": "T0TEAM"}
    payload = {
        "type": "block_actions",
        "user": user,
        "api_app_id": "A0APP",
        "token": "legacy",
        "team": {"id": "T0TEAM", "domain": "example"},
        "enterprise": None,
        "is_enterprise_install": False,
        "container": {
            "type": "message",
            "message_ts": f"17.{number:06}",
            "channel_id": "C0OPS",
            "is_ephemeral": False,
        },
        "trigger_id": f"1.2.{number:024x}",
        "channel": {"id": "C0OPS", "name": "ops"},
        "message": {
            "type": "message",
            "user": "U0BOT",
            "bot_id": "B0BOT",
            "app_id": "A0APP",
            "team": "T0TEAM",
            "ts": f"17.{number:06}",
            "text": message.text,
            "blocks": message.blocks,
        },
        "state": {"values": {}},
        "response_url": f"https://hooks.slack.com/actions/T0TEAM/{number}/x",
        "actions": [{**button, "block_id": "b", "action_ts": f"18.{number:06}"}],
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


def signed(body: bytes) -> dict[str, str]:
    stamp = str(int(time.time()))
    digest = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return {
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": f"v0={digest.hexdigest()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }


async def press(session: ClientSession, url: str, bodies: list[bytes], rate: float) -> list[float]:
    """Send each at its time. A late answer delays none, and counts from the time it should have gone."""
    latencies: list[float] = []

    async def one(body: bytes, due: float) -> None:
        async with session.post(url + PATH, data=body, headers=signed(body)) as response:
            text = await response.text()
            if response.status != 200:
                raise BenchFailed(f"a click was answered {response.status}: {text[:200]}")
        latencies.append(time.perf_counter() - due)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number, body in enumerate(bodies):
            due = begun + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(one(body, due))
    return latencies


def cpu(pid: int, *, children: bool = False) -> float:
    """Seconds of CPU that a process (or its children) has used."""
    pids = [pid]
    if children:
        pids = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    ticks = 0
    for one in pids:
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def ours(options: argparse.Namespace, api: str) -> Measured:
    """Sayso."""
    count = options.rate * options.seconds
    settings = {
        "SLACK_BOT_TOKEN": "xoxb-bench",
        "SLACK_SIGNING_SECRET": SECRET,
        "SAYSO_SLACK__API_URL": api,
        "SAYSO_APPROVALS__UNLISTED": "anyone",
        "SAYSO_LOG_LEVEL": "info",
    }
    with tempfile.TemporaryDirectory(prefix="sayso-bench-") as data:
        async with gateway(Path(data), settings) as (url, key, pid), _session() as session:
            ids = await ask(session, url, key, count + options.rate)
            bodies = [click(one, number) for number, one in enumerate(ids)]
            await press(session, url, bodies[count:], options.rate)  # warm
            before, beside = cpu(pid), cpu(pid, children=True)
            latencies = await press(session, url, bodies[:count], options.rate)
            spent, valkey = cpu(pid) - before, cpu(pid, children=True) - beside
            decided = await _metrics(session, url, key)
    if decided["decided"] != len(ids):
        raise BenchFailed(f"{decided['decided']:.0f} of {len(ids)} clicks decided something")
    return Measured("Sayso (SQLite)", latencies, spent, valkey, decided["p99"])


async def theirs(options: argparse.Namespace, api: str) -> Measured:
    """slack-bolt's empty listener."""
    listener = Path(__file__).with_name("slack_listener.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(listener), api, SECRET, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        port = int(await asyncio.wait_for(process.stdout.readline(), 30))
        count = options.rate * options.seconds
        bodies = [click(f"main/{number:026}", number) for number in range(count)]
        async with _session() as session:
            url = f"http://127.0.0.1:{port}"
            await press(session, url, bodies[: options.rate], options.rate)
            before = cpu(process.pid)
            latencies = await press(session, url, bodies, options.rate)
            return Measured("slack-bolt, empty", latencies, cpu(process.pid) - before, 0.0)
    finally:
        process.kill()
        await process.wait()


def _session() -> ClientSession:
    return ClientSession(connector=TCPConnector(limit=100))


async def _metrics(session: ClientSession, url: str, key: str) -> dict[str, Any]:
    """How many clicks decided something, and the bucket that holds the 99th of a hundred."""
    async with session.get(
        f"{url}/metrics", headers={"Authorization": f"Bearer {key}"}
    ) as response:
        text = await response.text()
    decided = re.search(
        r'^sayso_resolves_total\{channel="slack",[^}]*"decided"\} (\S+)', text, re.M
    )
    buckets = re.findall(
        r'^sayso_click_to_durable_seconds_bucket\{channel="slack",le="([^"]+)"\} (\S+)', text, re.M
    )
    total = float(buckets[-1][1]) if buckets else 0.0
    within = next((le for le, n in buckets if float(n) >= 0.99 * total), "nan")
    return {
        "decided": float(decided[1]) if decided else 0.0,
        "p99": f"<= {float(within) * 1000:g} ms",
    }


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=positive, default=200, help="clicks a second (200)")
    parser.add_argument("--seconds", type=positive, default=20, help="how long (20)")
    return parser.parse_args(given)


async def main() -> None:
    """Measure both, and print the table."""
    options = arguments()
    async with slack_api() as api:
        rows = [await theirs(options, api), await ours(options, api)]
    print(f"{options.rate} clicks a second for {options.seconds} s")
    print(HEAD)
    for row in rows:
        print(row.line())


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except* BenchFailed as failed:
        sys.exit(f"bench: {failed.exceptions[0]}")
