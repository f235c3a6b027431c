"""Workflow runs over HTTP: the conformance fixtures, forks, agent decisions, definitions from files."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.ids import path_segment
from tests.integration.conftest import Api

Start = Callable[..., Awaitable[Api]]


@pytest.fixture
async def seeded(start: Start) -> Api:
    return await start(conformance_seed=True)


async def begin(api: Api, workflow: str, **body: Any) -> str:
    status, answer, _ = await api.call("POST", "/runs", {"workflowId": workflow, **body})
    assert status == 201, answer
    return path_segment(answer["runId"])


async def snapshot(api: Api, run: str) -> dict[str, Any]:
    _, body, _ = await api.call("GET", f"/runs/{run}")
    return dict(body)


async def events(api: Api, run: str) -> list[dict[str, Any]]:
    _, body, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    return list(body["events"])


async def ended(api: Api, run: str) -> dict[str, Any]:
    """The snapshot once the run is over: follows the poll, never the clock."""
    after = ""
    while True:
        _, body, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=20{after}")
        if body["isTerminal"]:
            return await snapshot(api, run)
        assert body["events"], "the run did not move on"
        after = f"&afterSequence={body['lastSequence']}"


async def resolve(api: Api, run: str, node: str, value: Any) -> int:
    path = f"/runs/{run}/interrupts/{node}"
    status, _, _ = await api.call("POST", path, {"resumeValue": value})
    return status


async def test_a_noop_completes_at_once(seeded: Api) -> None:
    run = await begin(seeded, "conformance-noop")
    assert (await snapshot(seeded, run))["status"] == "completed"


async def test_a_delay_ends_by_itself(seeded: Api) -> None:
    run = await begin(seeded, "conformance-delay", inputs={"delayMs": 30})
    assert (await ended(seeded, run))["status"] == "completed"


async def test_a_delayed_run_can_be_cancelled(seeded: Api) -> None:
    run = await begin(seeded, "conformance-cancellable")
    status, body, _ = await seeded.call("POST", f"/runs/{run}/cancel", {})
    assert (status, body["status"]) == (200, "cancelled")
    assert (await events(seeded, run))[-1]["type"] == "run.cancelled"


async def test_a_failure_names_its_node(seeded: Api) -> None:
    run = await begin(seeded, "conformance-failure")
    body = await snapshot(seeded, run)
    assert (body["status"], body["error"]["code"]) == ("failed", "internal_error")


async def test_a_reject_without_a_route_fails_the_run(seeded: Api) -> None:
    run = await begin(seeded, "conformance-approval")
    assert (await snapshot(seeded, run))["currentNodeId"] == "gate"
    assert await resolve(seeded, run, "gate", {"action": "reject"}) == 200
    body = await snapshot(seeded, run)
    assert (body["status"], body["error"]["code"]) == ("failed", "approval_rejected")
    failed = next(e for e in await events(seeded, run) if e["type"] == "node.failed")
    assert failed["payload"]["error"]["retryable"] is False


async def test_a_reject_takes_its_route(seeded: Api) -> None:
    run = await begin(seeded, "conformance-approval-reject-routed")
    await resolve(seeded, run, "gate", {"action": "reject"})
    assert (await snapshot(seeded, run))["status"] == "completed"
    started = [e["nodeId"] for e in await events(seeded, run) if e["type"] == "node.started"]
    assert started == ["gate", "on-reject"]


async def test_a_loop_asks_again(seeded: Api) -> None:
    run = await begin(seeded, "conformance-approval-reject-loopback")
    await resolve(seeded, run, "gate", {"action": "reject"})
    asked = [e for e in await events(seeded, run) if e["type"] == "interrupt.requested"]
    assert len({e["payload"]["key"] for e in asked}) == 2
    assert (await snapshot(seeded, run))["status"] == "waiting-approval"


async def test_a_quorum_with_a_majority_to_reject(seeded: Api) -> None:
    run = await begin(seeded, "conformance-interrupt-quorum")
    for voter, status in (("a", "waiting-approval"), ("b", "failed")):
        assert await resolve(seeded, run, "gate", {"action": "reject", "voter": voter}) == 200
        assert (await snapshot(seeded, run))["status"] == status
    run = await begin(seeded, "conformance-interrupt-quorum")
    for voter, status in (("a", "waiting-approval"), ("a", "waiting-approval"),
                          ("b", "waiting-approval"), ("c", "completed")):  # fmt: skip
        assert await resolve(seeded, run, "gate", {"action": "accept", "voter": voter}) == 200
        assert (await snapshot(seeded, run))["status"] == status


async def test_a_voter_is_nobody_outside_the_test_mode(api: Api) -> None:
    run = await api.run()
    gate = {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept"]}
    payload = {"kind": "approval", "key": "k", "data": {**gate, "requiredApprovals": 2}}
    await api.ask(run, payload)
    for voter in ("a", "b", "c"):
        assert await resolve(api, run, "gate", {"action": "accept", "voter": voter}) == 200
    assert (await snapshot(api, run))["status"] == "waiting-approval"


async def test_an_unlisted_resolver_is_refused(seeded: Api) -> None:
    run = await begin(seeded, "conformance-approval-approvers")
    assert await resolve(seeded, run, "gate", {"action": "accept"}) == 403
    assert (await snapshot(seeded, run))["status"] == "waiting-approval"


async def test_an_external_event_must_carry_its_correlation(seeded: Api) -> None:
    run = await begin(seeded, "conformance-interrupt-external-event")
    assert (await snapshot(seeded, run))["status"] == "waiting-external"
    wrong = {"eventPayload": {"orderId": "other", "status": "completed"}}
    assert await resolve(seeded, run, "wait-for-external", wrong) == 400
    right = {"eventPayload": {"orderId": "fixture-order-1", "status": "completed"}}
    assert await resolve(seeded, run, "wait-for-external", right) == 200
    assert (await snapshot(seeded, run))["status"] == "completed"


@pytest.mark.parametrize("workflow", ["timeout", "timeout-approve"])
async def test_a_timeout_rejects_whatever_the_gate_says(seeded: Api, workflow: str) -> None:
    run = await begin(seeded, f"conformance-approval-{workflow}")
    body = await ended(seeded, run)
    assert (body["status"], body["error"]["code"]) == ("failed", "approval_rejected")


async def test_a_conversation_fixture_runs_through(seeded: Api) -> None:
    run = await begin(seeded, "conformance-conversation-lifecycle")
    assert (await snapshot(seeded, run))["status"] == "completed"
    talks = [e for e in await events(seeded, run) if e["type"].startswith("conversation.")]
    assert [e["type"].partition(".")[2] for e in talks] == ["opened", "exchanged", "closed"]
    assert len({e["payload"]["conversationId"] for e in talks}) == 1


async def test_low_confidence_waits_for_a_person(seeded: Api) -> None:
    run = await begin(seeded, "conformance-agent-low-confidence")
    kinds = [e["type"] for e in await events(seeded, run)]
    assert kinds.index("agent.decided") < kinds.index("node.suspended")
    suspended = next(e for e in await events(seeded, run) if e["type"] == "node.suspended")
    assert suspended["payload"]["reason"] == "low-confidence"


async def test_a_replay_over_http(seeded: Api) -> None:
    run = await begin(seeded, "conformance-approval")
    await resolve(seeded, run, "gate", {"action": "reject"})
    before = await events(seeded, run)
    cut = next(e["sequence"] for e in before if e["type"] == "interrupt.resolved")
    path = f"/runs/{run}:fork"
    status, body, _ = await seeded.call("POST", path, {"mode": "replay", "fromSeq": cut})
    assert (status, body["status"], body["mode"]) == (201, "failed", "replay")
    assert set(body) == {"runId", "sourceRunId", "mode", "status", "eventsUrl", "fromSeq"}
    copy = path_segment(body["runId"])
    assert await resolve(seeded, copy, "gate", {"action": "accept"}) == 409
    status, body, _ = await seeded.call("POST", path, {"mode": "replay", "fromSeq": 10_000})
    assert (status, body["error"]) == (422, "fork_point_invalid")


async def test_an_outside_agent_reports_what_it_decided(api: Api) -> None:
    run = await api.run()
    path = f"/host/sayso/runs/{run}/agent-decisions"
    report = {"nodeId": "n", "agentId": "a.b", "decision": {"refund": 9}, "key": "d1", "notify": []}
    status, body, _ = await api.call("POST", path, {**report, "confidence": 0.9})
    assert (status, body["escalated"]) == (200, False)
    status, body, _ = await api.call("POST", path, {**report, "confidence": 0.2})
    assert (status, body["kind"]) == (201, "low-confidence")
    again = await api.call("POST", path, {**report, "confidence": 0.2})
    assert again[1]["interruptId"] == body["interruptId"]
    assert await resolve(api, run, "n", {"refund": 9}) == 200


async def test_definitions_are_read_from_files(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "workflows"
    folder.mkdir()
    gate = {"id": "gate", "type": "core.approvalGate", "config": {"title": "Ship it?"}}
    definition = {"workflowId": "release", "nodes": [gate]}
    (folder / "release.json").write_text(json.dumps(definition))
    api = await start(workflows=folder)
    run = await begin(api, "release")
    assert await resolve(api, run, "gate", {"action": "accept"}) == 200
    assert (await snapshot(api, run))["status"] == "completed"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ('{"workflowId": "w", "nodes": []}', "nodes"),
        (
            '{"workflowId": "w", "nodes": [{"id": "a", "type": "core.clarificationGate"}]}',
            "node a",
        ),
    ],
)
async def test_a_broken_definition_stops_the_start(
    start: Start, tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(ValueError, match=says):
        await start(workflows=tmp_path)


async def test_the_conformance_mode_refuses_production(start: Start) -> None:
    with pytest.raises(ValueError, match=r"http\.public_url"):
        await start(
            conformance_seed=True,
            http={"port": 0, "public_url": "https://sayso.example.com"},
        )


async def test_outside_of_the_mode_no_fixture_exists(api: Api) -> None:
    body = {"workflowId": "conformance-noop"}
    status, answer, _ = await api.call("POST", "/runs", body)
    assert (status, answer["error"]) == (404, "not_found")
    assert answer["details"]["field"] == "workflowId"
