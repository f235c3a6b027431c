"""Ten thousand signed events, each sent three times, over two processes of which one is killed midway.

Half of the waits come before their events and half after. Every wait is resolved once, by its own event, and
no event is lost: an event that was acknowledged is on the shelf, whoever acknowledged it.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from tests.acceptance.program import until
from tests.faults.world import World

pytestmark = pytest.mark.faults

COUNT = 10_000
AT_ONCE = 48
SECRET = "whsec_of_a_provider_for_this_test"
HOOKS = {
    "pay": {
        "provider": "stripe",
        "secrets": [SECRET],
        "correlation": {"order": "data.object.order"},
    }
}
SETTLED = 180.0
"""Seconds after which what is acknowledged must have been applied."""


class Provider:
    """Sends until somebody acknowledges, as a provider does: to either replica."""

    def __init__(self, world: World, session: aiohttp.ClientSession) -> None:
        self._world = world
        self._session = session
        self.answers: Counter[str] = Counter()

    async def post(self, path: str, raw: bytes, headers: dict[str, str]) -> dict[str, Any]:
        async with asyncio.timeout(SETTLED):
            while True:
                url = random.choice(self._world.urls)
                try:
                    sent = self._session.post(url + path, data=raw, headers=headers)
                    async with sent as response:
                        if response.status < 300:
                            return dict(await response.json())
                        assert response.status in (409, 503), await response.text()
                except (aiohttp.ClientError, OSError, TimeoutError):
                    pass
                await asyncio.sleep(0.02)

    async def event(self, number: int) -> None:
        body = orjson.dumps(
            {
                "id": f"evt_{number}",
                "type": "payment.succeeded",
                "data": {"object": {"order": number}},
            }
        )
        stamp = int(time.time())
        mac = hmac.digest(SECRET.encode(), f"{stamp}.".encode() + body, "sha256").hex()
        headers = {"Stripe-Signature": f"t={stamp},v1={mac}", "Content-Type": "application/json"}
        self.answers[(await self.post("/hooks/pay", body, headers))["status"]] += 1

    async def wait(self, number: int) -> str:
        """A run that waits for one payment."""
        data = {"eventType": "payment.succeeded", "correlation": {"order": str(number)}}
        payload = {"kind": "external-event", "key": f"k{number}", "data": data}
        body = {"nodeId": "pay", "payload": payload, "notify": []}
        headers = {
            "Authorization": f"Bearer {self._world.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": f"wait-number-{number:012d}",
        }
        raw = orjson.dumps(body)
        return str((await self.post("/host/sayso/interrupts", raw, headers))["interruptId"])


async def test_ten_thousand_events_three_times_with_a_kill(tmp_path: Path) -> None:
    settings = {"SAYSO_HOOKS": json.dumps(HOOKS)}
    world = World(tmp_path / "world", settings, settings)
    rng = random.Random(20261129)
    early = [("wait", n) for n in range(0, COUNT, 2)]
    rest = [("wait", n) for n in range(1, COUNT, 2)] + [("event", n) for n in range(COUNT)] * 3
    rng.shuffle(rest)
    waits: dict[int, str] = {}
    left = iter([*early, *rest])
    done = 0
    try:
        await world.start()
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=AT_ONCE), timeout=aiohttp.ClientTimeout(total=30)
        ) as session:
            provider = Provider(world, session)

            async def worker() -> None:
                nonlocal done
                for what, number in left:
                    if what == "wait":
                        waits[number] = await provider.wait(number)
                    else:
                        await provider.event(number)
                    done += 1

            async def killer() -> None:
                half = (len(early) + len(rest)) // 2
                await until(lambda: done >= half, "half of the work", 4 * SETTLED)
                program = world.replicas[0].program
                await program.kill()
                await program.start()

            async with asyncio.TaskGroup() as group:
                group.create_task(killer())
                for _ in range(AT_ONCE):
                    group.create_task(worker())
            assert sum(provider.answers.values()) == 3 * COUNT
            # An event that was filed by a process that died before it said so is a duplicate ever after.
            assert provider.answers["stored"] <= COUNT
            await until(lambda: _all_over(world), "every wait to be over", SETTLED)
        await _check(world, waits)
    finally:
        await world.stop()


async def _all_over(world: World) -> bool:
    rows = await world.rows(
        "SELECT count(*) AS n FROM interrupts WHERE status <> 'resolved' "
        "UNION ALL SELECT count(*) FROM shelf WHERE state <> 'applied'"
    )
    return all(row["n"] == 0 for row in rows)


async def _check(world: World, waits: dict[int, str]) -> None:
    assert len(set(waits.values())) == COUNT
    resolved: Counter[str] = Counter()
    values: dict[str, str] = {}
    for row in await world.rows("SELECT events FROM log"):
        for kind, payload, *_ in orjson.loads(row["events"]):
            if kind == "interrupt.resolved":
                resolved[payload["interruptId"]] += 1
                values[payload["interruptId"]] = payload["resumeValue"]["id"]
    assert set(resolved.values()) == {1}
    assert set(resolved) == set(waits.values())
    assert values == {interrupt: f"evt_{number}" for number, interrupt in waits.items()}
    (shelved,) = await world.rows("SELECT count(*) AS n FROM shelf")
    assert shelved["n"] == COUNT
