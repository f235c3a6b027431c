"""Runs that are over for long go, whole; everything else and the audit trail stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from gateway.audit import AuditWorker
from gateway.metrics import Metrics
from gateway.retention import Retention
from host.audit import compare, fact_of, verify
from host.decisions.resolve import Answer
from host.decisions.state import Policy, Principal
from host.flows import Flows
from host.host import Host
from host.store.port import Store
from schemas.payloads import check_payload
from schemas.runs import EXTERNAL_WORKFLOW, CreateRun

DAY = 86_400_000
ADA = Principal("ada", "acme")


@dataclass
class World:
    host: Host
    now: int = 100 * DAY

    async def run(self, key: str, *, answered: bool = True, kind: str = "approval") -> str:
        """A run with one question."""
        made = await self.host.runs.start(ADA, CreateRun(workflow_id=EXTERNAL_WORKFLOW))
        run_id = made.run_id
        payload: dict[str, Any] = {
            "kind": "approval",
            "key": key,
            "data": {
                "artifactId": "a",
                "artifactType": "t",
                "title": "T",
                "actions": ["accept", "reject"],
            },
        }
        if kind == "external-event":
            data = {"eventType": "paid", "correlation": {"order": key}}
            payload = {"kind": kind, "key": key, "data": data}
        asked = await self.host.request(ADA, run_id, "gate", check_payload(payload), ("web:",))
        if answered:
            value = {"action": "accept"} if kind == "approval" else {}
            answer = Answer(ADA, value, "api", matched=kind != "approval")
            await self.host.resolve(asked.interrupt.interrupt_id, answer)
        return run_id

    async def audited(self) -> None:
        while await self.host.store.feed.read(await self.host.store.audit.position(), 1):
            await AuditWorker(self.host).once()

    async def removed(self, days: int = 30) -> None:
        """What retention does when it comes round, until it finds nothing."""
        while await Retention(self.host, days, Metrics()).once():
            continue


@pytest.fixture
async def world(store: Store) -> World:
    policy = Policy(open_gates="anyone")
    holder: list[World] = []
    host = Host(store, policy, lambda: holder[0].now, None, flows=Flows.of((), policy, ()))
    holder.append(World(host))
    return holder[0]


async def _exists(store: Store, run_id: str) -> bool:
    return await store.log.run(run_id) is not None


async def test_what_is_over_and_old_goes_whole(world: World, store: Store) -> None:
    run_id = await world.run("old")
    waited = await world.run("waited", kind="external-event")
    [interrupt] = (await store.log.interrupts("acme", None, 1, None)).interrupts
    await store.links.put("a-digest", interrupt.interrupt_id, {"id": "ada"})
    await world.audited()
    world.now += 31 * DAY
    recent = await world.run("recent")
    await world.removed()
    for gone in (run_id, waited):
        assert not await _exists(store, gone)
        assert await store.log.events(gone, -1, 10) == []
    assert await store.log.interrupt(interrupt.interrupt_id) is None
    assert await store.deliveries.of(interrupt.interrupt_id) == []
    assert await store.links.find("a-digest") is None
    assert await store.log.by_key(waited, "waited") is None
    listed = (await store.log.interrupts("acme", None, 10, None)).interrupts
    assert [one.run_id for one in listed] == [recent]


async def test_what_is_open_or_young_stays_until_it_is_over_and_old(
    world: World, store: Store
) -> None:
    run_id = await world.run("open", answered=False)
    await world.audited()
    world.now += 40 * DAY
    await world.removed()
    assert await _exists(store, run_id)
    [interrupt] = (await store.log.interrupts("acme", "open", 1, None)).interrupts
    await world.host.resolve(
        interrupt.interrupt_id, Answer(ADA, {"action": "accept"}, "api")
    )  # its first commits were passed already
    await world.audited()
    world.now += 29 * DAY
    await world.removed()
    assert await _exists(store, run_id)
    world.now += 2 * DAY
    await world.removed()
    assert not await _exists(store, run_id)


async def test_nothing_goes_before_the_trail_has_it(world: World, store: Store) -> None:
    run_id = await world.run("unaudited")
    world.now += 40 * DAY
    await world.removed()
    assert await _exists(store, run_id)
    await world.audited()
    await world.removed()
    assert not await _exists(store, run_id)


async def test_the_trail_stays_whole_and_tells_a_removal_from_a_theft(
    world: World, store: Store
) -> None:
    await world.run("removed")
    stolen = await world.run("stolen")
    await world.audited()
    world.now += 20 * DAY
    kept = await world.run("kept")
    await world.audited()
    world.now += 11 * DAY
    removal = Retention(world.host, 30, Metrics())
    all_of = await removal._all_of(stolen, (await _version(store, stolen)))
    assert await store.log.remove(all_of)  # behind the trail's back
    await world.removed()
    assert await _exists(store, kept)
    entries = await store.audit.entries("acme", 0, 100)
    assert [entry.what for entry in entries].count("removed") == 1
    assert list(verify("acme", entries)) == []
    events = [event for commit in await store.feed.read(0, 100) for event in commit.events]
    facts = [fact for fact in map(fact_of, events) if fact is not None]
    flaws = list(compare(entries, facts))
    assert flaws
    assert all(stolen in flaw.sentence for flaw in flaws)


async def test_a_run_that_moved_on_is_not_removed(world: World, store: Store) -> None:
    run_id = await world.run("one")
    removal = await Retention(world.host, 30, Metrics())._all_of(run_id, 1)
    assert not await store.log.remove(removal)
    assert await _exists(store, run_id)
    assert len(await store.log.events(run_id, -1, 50)) > 1


async def _version(store: Store, run_id: str) -> int:
    run = await store.log.run(run_id)
    assert run is not None
    return run.version
