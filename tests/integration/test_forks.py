"""Forks: recorded answers are returned, nobody is asked or told again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from config.people import Person
from gateway.people import People
from host.decisions.resolve import Answer
from host.decisions.state import Policy, Principal
from host.flows import Flows
from host.forks import fork
from host.history import all_events
from host.host import Host
from host.store.sqlite.store import SqliteStore
from host.timers import Timers
from schemas.errors import Refusal
from schemas.payloads import check_payload
from schemas.runs import CreateRun, ForkBody
from schemas.workflows import Workflow

ADA = Principal("ada", "acme", name="Ada", names=frozenset({"ada"}))
GATE = {"id": "gate", "type": "core.approvalGate", "config": {"title": "T", "notify": ["web:"]}}
FLOW = {"workflowId": "gated", "nodes": [GATE]}
ASK = {
    "kind": "approval",
    "key": "k",
    "data": {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept", "reject"]},
}
Made = Callable[..., Awaitable[Host]]


@pytest.fixture
async def host(tmp_path: Any) -> Any:
    store = SqliteStore(tmp_path / "f.db")
    await store.start()
    now = [1_789_128_000_000]

    def clock() -> int:
        now[0] += 1
        return now[0]

    policy = Policy()
    flows = Flows.of([Workflow.model_validate(FLOW)], policy)
    yield Host(store, policy, clock, flows=flows)
    await store.stop()


async def types(host: Host, run_id: str) -> list[str]:
    return [e.type for e in await all_events(host.store.log, run_id)]


async def rejected(host: Host) -> str:
    run = await host.runs.start(ADA, CreateRun(workflow_id="gated"))
    [wait] = run.open
    await host.resolve(wait.interrupt_id, Answer(ADA, {"action": "reject", "feedback": "no"}, "t"))
    return run.run_id


async def test_a_replay_repeats_the_recorded_rejection(host: Host) -> None:
    source = await rejected(host)
    events = await all_events(host.store.log, source)
    end = next(e for e in events if e.type == "interrupt.resolved")
    run = await fork(host, ADA, source, ForkBody(mode="replay", from_seq=end.sequence))
    assert (run.status, run.error["code"]) == ("failed", "approval_rejected")  # type: ignore[index]
    again = await all_events(host.store.log, run.run_id)
    assert [e.type for e in again].count("interrupt.requested") == 1  # history alone
    resolved = next(e for e in again if e.type == "interrupt.resolved")
    for member in ("action", "decision", "resumeValue"):
        assert resolved.payload[member] == end.payload[member]
    copied = (await host.at_node(ADA, run.run_id, "gate")).interrupt
    with pytest.raises(Refusal) as refused:
        await host.resolve(copied.interrupt_id, Answer(ADA, {"action": "accept"}, "t"))
    assert refused.value.code == "interrupt_already_resolved"
    assert await host.store.deliveries.of(copied.interrupt_id) == []


async def test_a_replay_from_the_start_asks_nobody(host: Host) -> None:
    source = await rejected(host)
    run = await fork(host, ADA, source, ForkBody(mode="replay"))
    assert run.status == "failed"
    assert "interrupt.requested" not in await types(host, run.run_id)
    assert "interrupt.resolved" in await types(host, run.run_id)


async def test_a_branch_asks_anew_where_the_source_waited(host: Host) -> None:
    source = await rejected(host)
    events = await all_events(host.store.log, source)
    end = next(e for e in events if e.type == "interrupt.resolved")
    run = await fork(host, ADA, source, ForkBody(mode="branch", from_seq=end.sequence))
    assert run.status == "waiting-approval"
    [wait] = run.open
    assert [m.channel for m in await host.store.deliveries.of(wait.interrupt_id)] == ["web"]
    after = await host.resolve(wait.interrupt_id, Answer(ADA, {"action": "accept"}, "t"))
    assert after.run.status == "completed"
    assert (await host.run(ADA, source)).status == "failed"


async def test_a_replay_of_an_outside_program_answers_by_key(host: Host) -> None:
    run = await host.runs.start(ADA, CreateRun(workflow_id="sayso.external"))
    asked = await host.request(ADA, run.run_id, "gate", check_payload(ASK), ("web:",))
    await host.resolve(asked.interrupt.interrupt_id, Answer(ADA, {"action": "accept"}, "t"))
    copy = await fork(host, ADA, run.run_id, ForkBody(mode="replay"))
    again = await host.request(ADA, copy.run_id, "gate", check_payload(ASK), ("web:",))
    assert again.interrupt.status == "resolved"
    assert again.interrupt.outcome.value["decidedBy"] == "ada"  # type: ignore[union-attr]
    assert await host.store.deliveries.of(again.interrupt.interrupt_id) == []
    assert "interrupt.requested" not in await types(host, copy.run_id)
    other = check_payload({**ASK, "key": "never asked"})
    with pytest.raises(Refusal) as refused:
        await host.request(ADA, copy.run_id, "other", other, ())
    assert refused.value.code == "replay_source_missing"


async def test_votes_are_not_recounted_and_membership_is_not_looked_up(host: Host) -> None:
    run = await host.runs.start(ADA, CreateRun(workflow_id="sayso.external"))
    data = {**ASK["data"], "requiredApprovals": 2, "approverGroupRefs": ["ops"]}  # type: ignore[dict-item]
    payload = check_payload({**ASK, "data": data})
    asked = await host.request(ADA, run.run_id, "gate", payload, ())
    people = People([Person(id=n, groups=("ops",)) for n in ("ada", "bob")])
    for name in ("ada", "bob"):
        who = people.principal(name, "acme")
        await host.resolve(asked.interrupt.interrupt_id, Answer(who, {"action": "accept"}, "t"))
    copy = await fork(host, ADA, run.run_id, ForkBody(mode="replay"))
    again = await host.request(ADA, copy.run_id, "gate", payload, ())
    assert again.interrupt.status == "resolved"
    assert "sayso.vote-recorded" not in await types(host, copy.run_id)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (ForkBody(mode="branch"), "validation_error"),
        (ForkBody(mode="replay", from_seq=999), "fork_point_invalid"),
        (ForkBody(mode="replay", run_options_overlay={}), "validation_error"),
    ],
)
async def test_a_fork_point_that_makes_no_sense(host: Host, body: ForkBody, code: str) -> None:
    source = await rejected(host)
    with pytest.raises(Refusal) as refused:
        await fork(host, ADA, source, body)
    assert refused.value.code == code


async def test_deadlines_and_delays_fire_once(host: Host) -> None:
    run = await host.runs.start(ADA, CreateRun(workflow_id="sayso.external"))
    asked = await host.request(ADA, run.run_id, "g", check_payload({**ASK, "timeoutMs": 1}), ())
    timers = Timers(host)
    assert await timers.expire(asked.interrupt.interrupt_id)
    assert not await timers.expire(asked.interrupt.interrupt_id)
    events = await types(host, run.run_id)
    assert events.count("interrupt.resolved") == 1
