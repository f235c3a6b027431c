"""The worker of outbound webhooks by hand: a clock that the test moves, and a real receiver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from adapters.egress import Egress
from adapters.webhooks.deliver import Sender
from adapters.webhooks.retry import DAY_MS, RetryPolicy
from gateway.outbound import Outbound, signing
from gateway.webhook_wire import RETENTION_MS
from host.decisions.state import Policy, Principal
from host.host import Host
from host.ids import bound
from host.store.sqlite.store import SqliteStore
from host.store.webhooks import Subscription
from schemas.runs import CreateRun
from tests.fakes.webhook_receiver import Receiver

NOW = 1_789_128_000_000
ADA = Principal("ada", "acme", names=frozenset({"ada"}))
SECRET = "a-secret-of-the-test"


@dataclass
class World:
    """A host, its worker and a receiver. `now` in ms."""

    receiver: Receiver
    host: Host
    egress: Egress
    outbound: Outbound
    clock: list[int] = field(default_factory=lambda: [NOW])

    @property
    def now(self) -> int:
        return self.clock[0]

    async def subscribe(self, receiver: Receiver | None = None, **more: Any) -> str:
        base: dict[str, Any] = {
            "webhook_id": bound("acme", self.now),
            "url": (receiver or self.receiver).url,
            "events": ("run.started", "run.completed"),
            "secret": SECRET,
            "created_at": self.now,
        }
        one = Subscription(**{**base, **more})
        await self.host.store.subscriptions.add(one)
        return one.webhook_id

    async def run(self, complete: bool = False) -> str:
        run = await self.host.runs.start(ADA, CreateRun(workflow_id="sayso.external"))
        if complete:
            await self.host.runs.complete(ADA, run.run_id, {}, None)
        return run.run_id

    async def work(self) -> int:
        """One look at the outbox, and all that it started to its end."""
        started = await self.outbound.once()
        await self.outbound.idle()
        return started

    async def work_until_idle_for_days(self, days: float) -> list[int]:
        """Attempts by the minute of virtual time; when each was made."""
        made = []
        end = self.now + round(days * DAY_MS)
        while self.now < end:
            made += [self.now] * await self.work()
            self.clock[0] += 60_000
        return made


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    receiver = Receiver()
    await receiver.start()
    store = SqliteStore(tmp_path / "w.db")
    await store.start()
    clock = [NOW]
    host = Host(store, Policy(), lambda: clock[0])
    egress = Egress([receiver.origin])
    await egress.start()
    yield World(receiver, host, egress, Outbound(host, Sender(egress), "2.1"), clock)
    await egress.stop()
    await store.stop()
    await receiver.stop()


async def test_sixteen_attempts_over_three_days_and_then_a_dead_letter(world: World) -> None:
    webhook_id = await world.subscribe()
    await world.run()
    world.receiver.always = 500
    # Borne for longer, so that the delivery is given up before the subscription as a whole is.
    world.outbound.policy = RetryPolicy(failing=30 * DAY_MS)
    made = await world.work_until_idle_for_days(4)
    assert len(made) == len(world.receiver.deliveries) == 16
    assert 2.5 * DAY_MS < made[-1] - made[0] < 3.5 * DAY_MS
    waits = [b - a for a, b in pairwise(made)]
    assert all(later >= earlier * 0.6 for earlier, later in pairwise(waits))
    [letter] = (await world.host.store.outbox.dead(webhook_id, 10, None)).deliveries
    assert (letter.attempts, letter.last_status) == (16, 500)
    assert letter.died_at == made[-1]


async def test_nothing_but_failures_for_three_days_disables(world: World) -> None:
    webhook_id = await world.subscribe()
    world.receiver.always = 500
    await world.run(complete=True)
    with capture_logs() as logs:
        await world.work_until_idle_for_days(4)
    found = await world.host.store.subscriptions.get(webhook_id)
    assert found is not None
    assert "three days" in found.disabled
    [notice] = [e for e in logs if "disabled" in e["event"]]
    assert (notice["log_level"], notice["webhook"]) == ("error", webhook_id)
    assert SECRET not in str(logs)
    assert "in-the-url" not in str(logs)
    dead = (await world.host.store.outbox.dead(webhook_id, 10, None)).deliveries
    assert len(dead) == 2


async def test_one_success_begins_the_three_days_anew(world: World) -> None:
    webhook_id = await world.subscribe()
    world.receiver.always = 500
    await world.run()
    await world.work_until_idle_for_days(2)
    world.receiver.answers = [web.Response(status=204)]
    await world.work_until_idle_for_days(1)
    world.receiver.always = 500
    await world.run()
    await world.work_until_idle_for_days(1)
    found = await world.host.store.subscriptions.get(webhook_id)
    assert found is not None
    assert found.disabled == ""


async def test_retry_after_is_honoured_by_the_whole_endpoint(world: World) -> None:
    await world.subscribe()
    await world.run()
    world.receiver.answers = [web.Response(status=429, headers={"Retry-After": "120"})]
    assert await world.work() == 1
    await world.run()
    world.clock[0] += 119_000
    assert await world.work() == 0
    world.clock[0] += 30_000
    assert await world.work() == 2
    assert len(world.receiver.deliveries) == 3


async def test_an_endpoint_that_fails_is_probed_with_one_at_a_time(world: World) -> None:
    await world.subscribe()
    for _ in range(10):
        await world.run()
    world.receiver.always = 500
    assert await world.work() == 4
    world.clock[0] += 1
    assert await world.work() == 0  # it rests
    world.clock[0] += 400_000
    assert await world.work() == 1  # a probe
    world.receiver.always = 204
    world.clock[0] += 400_000
    assert await world.work() == 1
    assert await world.work() == 4  # it is well


async def test_a_message_keeps_its_id_and_gets_a_fresh_timestamp(world: World) -> None:
    await world.subscribe(algorithms=("v1", "standard-webhooks-1"), secret="whsec_" + "A" * 40)
    await world.run()
    world.receiver.answers = [web.Response(status=500)]
    await world.work()
    world.clock[0] += 60_000
    await world.work()
    first, second = world.receiver.deliveries
    assert first.raw == second.raw
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 60
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


async def test_the_body_names_the_workspace_of_the_owner_alone(world: World) -> None:
    await world.subscribe()
    run_id = await world.run()
    run = await world.host.store.log.run(run_id)
    assert run is not None
    assert "workspace" not in run.owner
    await world.work()
    [got] = world.receiver.deliveries
    assert set(got.body) == {"runId", "event"}


async def test_an_answer_is_not_awaited_for_ever(world: World) -> None:
    world.receiver.held = asyncio.Event()
    sender = Sender(world.egress, seconds=0.2)
    outcome = await sender.deliver(world.receiver.url, b'{"event": 1}', {})
    assert (outcome.delivered, outcome.status) == (False, None)
    assert outcome.reason == "it did not answer in time"


async def test_an_answer_is_not_read_for_ever(world: World) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536

    world.receiver.answers = [web.Response(body=endless())]
    outcome = await Sender(world.egress).deliver(world.receiver.url, b'{"event": 1}', {})
    assert (outcome.delivered, outcome.status) == (True, 200)


async def test_an_endpoint_that_is_not_there(world: World) -> None:
    await world.receiver.stop()
    outcome = await Sender(world.egress).deliver(world.receiver.url, b"{}", {})
    assert (outcome.delivered, outcome.status) == (False, None)
    assert outcome.reason == "it could not be connected to"


async def test_an_exception_that_was_withdrawn_is_withdrawn_for_old_subscriptions(
    world: World,
) -> None:
    await world.subscribe()
    await world.run()
    strict = Egress()
    await strict.start()
    outbound = Outbound(world.host, Sender(strict), "2.1")
    with capture_logs() as logs:
        await outbound.once()
        await outbound.idle()
    assert world.receiver.received == []
    assert any("not https" in entry.get("reason", "") for entry in logs)
    await strict.stop()


async def test_a_redirect_is_a_failure_and_is_not_followed(world: World) -> None:
    await world.subscribe()
    await world.run()
    location = {"Location": f"{world.receiver.origin}/elsewhere"}
    world.receiver.answers = [web.Response(status=308, headers=location)]
    await world.work()
    assert len(world.receiver.received) == 1
    world.clock[0] += 60_000
    assert await world.work() == 1


async def test_removed_while_it_was_due(world: World) -> None:
    webhook_id = await world.subscribe()
    await world.run()
    assert await world.host.store.subscriptions.remove(webhook_id, world.now)
    assert await world.work() == 0
    assert world.receiver.received == []


async def test_an_event_that_is_gone_is_a_dead_letter_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook_id = await world.subscribe()
    await world.run()

    async def nothing(*_: object) -> list[Any]:
        return []

    monkeypatch.setattr(world.host.store.log, "events", nothing)
    await world.work()
    [letter] = (await world.host.store.outbox.dead(webhook_id, 10, None)).deliveries
    assert (letter.reason, letter.attempts) == ("payload_unprojectable", 1)
    assert world.receiver.received == []


async def test_dead_letters_end_with_their_retention(world: World) -> None:
    webhook_id = await world.subscribe()
    await world.run()
    world.outbound.policy = RetryPolicy(attempts=1)
    world.receiver.always = 500
    await world.work()
    world.clock[0] += RETENTION_MS
    await world.outbound.tidy()
    assert len((await world.host.store.outbox.dead(webhook_id, 10, None)).deliveries) == 1
    world.clock[0] += 1
    await world.outbound.tidy()
    assert (await world.host.store.outbox.dead(webhook_id, 10, None)).deliveries == ()


def test_the_overlap_of_a_rotation_ends() -> None:
    one = Subscription(
        "acme/0123456789abcdef", "https://x.example", ("a.b",), "new", 0,
        previous_secret="old", previous_until=10,
    )  # fmt: skip
    assert signing(one, 9).previous == "old"
    assert signing(one, 10).previous == ""
