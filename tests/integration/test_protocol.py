"""The protocol over HTTP: statuses, order of checks, idempotency, events, tokens, races."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.keyring import KeyringFile
from schemas.ids import path_segment
from tests.integration.conftest import Api, approval

ACCEPT = {"resumeValue": {"action": "accept"}}
IDEMPOTENCY = "0123456789abcdef0123456789"


async def poll(api: Api, run: str, after: str = "") -> dict[str, Any]:
    status, body, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1{after}")
    assert status == 200
    return dict(body)


async def test_request_resolve_resume(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run)
    assert record["status"] == "open"
    status, body, headers = await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    assert (status, body["nodeId"], body["status"]) == (200, "gate", "running")
    assert headers["OpenWOP-Version"] == "2.1"
    again = await api.ask(run)
    assert again["status"] == "resolved"
    assert again["interruptId"] == record["interruptId"]
    assert again["resumeValue"]["action"] == "accept"
    assert again["resumeValue"]["decidedBy"] == "robot"
    events = (await poll(api, run))["events"]
    assert [e["type"] for e in events] == [
        "run.started",
        "interrupt.requested",
        "approval.requested",
        "node.suspended",
        "interrupt.resolved",
        "approval.granted",
        "node.resumed",
    ]
    resolved = events[4]["payload"]
    assert set(resolved) == {"nodeId", "interruptId", "kind", "resumeValue"}
    assert events[1]["payload"] == approval()


async def test_the_snapshot_names_the_node_and_has_an_etag(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    status, body, headers = await api.call("GET", f"/runs/{run}")
    assert (status, body["status"], body["currentNodeId"]) == (200, "waiting-approval", "gate")
    etag = {"If-None-Match": headers["ETag"]}
    status, _, headers = await api.call("GET", f"/runs/{run}", headers=etag)
    assert status == 304
    assert headers["OpenWOP-Version"] == "2.1"


async def test_a_waiting_poll_is_woken_by_the_resolve(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    waiting = asyncio.create_task(
        api.call("GET", f"/runs/{run}/events/poll?timeout=60&afterSequence=3")
    )
    await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    _, body, _ = await asyncio.wait_for(waiting, 20)
    assert body["events"][0]["type"] == "interrupt.resolved"


async def test_waiting_for_an_interrupt(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run)
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
    waiting = asyncio.create_task(api.call("GET", f"{path}?wait=60"))
    await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    _, body, _ = await asyncio.wait_for(waiting, 20)
    assert body["status"] == "resolved"
    assert body["outcome"]["by"] == "robot"


async def test_refusals_of_the_run_surface(api: Api) -> None:
    run = await api.run()
    await api.ask(run, approval(approversList=["ada"]))
    resolve = f"/runs/{run}/interrupts/gate"
    table: list[tuple[str, str, Any, dict[str, Any], int, str]] = [
        ("POST", resolve, ACCEPT, {"key": None}, 401, "unauthenticated"),
        ("POST", resolve, ACCEPT, {"key": "wrong"}, 401, "unauthenticated"),
        ("POST", resolve, ACCEPT, {"key": "read-key-0123456789"}, 403, "forbidden"),
        ("POST", resolve, ACCEPT, {"key": "alien-key-123456789"}, 403, "id_tenant_mismatch"),
        ("POST", resolve, ACCEPT, {}, 403, "forbidden"),
        ("POST", resolve, {"resumeValue": 1, "x": 2}, {}, 400, "validation_error"),
        ("POST", resolve, {}, {}, 400, "validation_error"),
        ("POST", f"/runs/{run}/interrupts/other", ACCEPT, {}, 404, "not_found"),
        ("POST", "/runs/acme~2Fnothing-of-this-kind/interrupts/gate", ACCEPT, {}, 404, "not_found"),
        ("POST", "/runs/bare-run-id-000000/interrupts/gate", ACCEPT, {}, 400, "validation_error"),
        ("POST", "/runs/acme~2xrun/interrupts/gate", ACCEPT, {}, 400, "validation_error"),
        ("GET", "/runs/other~2Fnothing-of-this-kind", None, {}, 403, "id_tenant_mismatch"),
        ("GET", "/nothing", None, {}, 404, "not_found"),
        ("DELETE", f"/runs/{run}", None, {}, 405, "sayso.method_not_allowed"),
        ("POST", "/runs", {"workflowId": "nope"}, {}, 404, "not_found"),
        ("POST", "/runs", {"workflowId": "sayso.external", "x": 1}, {}, 400, "validation_error"),
        ("GET", f"/runs/{run}/events?streamMode=all", None, {}, 400, "unsupported_stream_mode"),
        ("GET", f"/runs/{run}/events/poll?timeout=0", None, {}, 400, "validation_error"),
    ]
    for method, path, body, options, status, code in table:
        got, answer, _ = await api.call(method, path, body, **options)
        assert (got, answer["error"]) == (status, code), (method, path)
        assert set(answer) <= {"error", "message", "details"}
    _, snapshot, _ = await api.call("GET", f"/runs/{run}")
    assert snapshot["status"] == "waiting-approval"


async def test_an_unserved_version_is_refused(api: Api) -> None:
    headers = {"OpenWOP-Version": "3.0"}
    status, body, _ = await api.call("GET", "/.well-known/openwop", headers=headers)
    assert (status, body["error"]) == (406, "protocol_version_unsupported")
    assert body["details"]["protocolVersions"] == ["2.1"]


async def test_malformed_bodies(api: Api) -> None:
    for raw, kind, status, code in (
        (b"{", "application/json", 400, "validation_error"),
        (b"{}", "text/xml", 415, "unsupported_media_type"),
        (b" " * 3_000_000, "application/json", 413, "payload_too_large"),
    ):
        async with api.session.post(
            api.gateway.url + "/runs",
            data=raw,
            headers={"Authorization": f"Bearer {api.key}", "Content-Type": kind},
        ) as response:
            assert (response.status, (await response.json())["error"]) == (status, code)


async def test_a_bad_schema_is_refused_when_it_is_asked(api: Api) -> None:
    run = await api.run()
    question = {"id": "q", "question": "?", "schema": {"type": "nonsense"}}
    payload = {"kind": "clarification", "key": "k", "data": {"questions": [question]}}
    body = {"nodeId": "n", "payload": payload, "notify": []}
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/interrupts", body)
    assert (status, answer["error"]) == (400, "validation_error")


async def test_an_idempotency_key_answers_the_same_again(api: Api) -> None:
    headers = {"Idempotency-Key": IDEMPOTENCY}
    body = {"workflowId": "sayso.external"}
    status, first, seen = await api.call("POST", "/runs", body, headers=headers)
    assert (status, "OpenWOP-Idempotent-Replay" in seen) == (201, False)
    status, second, seen = await api.call("POST", "/runs", body, headers=headers)
    assert (status, second) == (201, first)
    assert seen["OpenWOP-Idempotent-Replay"] == "true"
    other = {**body, "tags": ["x"]}
    status, answer, _ = await api.call("POST", "/runs", other, headers=headers)
    assert (status, answer["error"]) == (409, "idempotency_key_mismatch")
    short = {"Idempotency-Key": "short"}
    status, answer, _ = await api.call("POST", "/runs", body, headers=short)
    assert (status, answer["error"]) == (400, "idempotency_key_invalid")


async def test_parallel_requests_with_one_key_make_one_run(api: Api) -> None:
    headers = {"Idempotency-Key": IDEMPOTENCY}
    body = {"workflowId": "sayso.external"}
    answers = await asyncio.gather(
        *(api.call("POST", "/runs", body, headers=headers) for _ in range(20))
    )
    runs = {b["runId"] for status, b, _ in answers if status == 201}
    assert len(runs) == 1
    assert {s for s, _, _ in answers} <= {201, 409}
    firsts = [1 for s, _, h in answers if s == 201 and "OpenWOP-Idempotent-Replay" not in h]
    assert len(firsts) == 1


async def test_a_replayed_resolve_is_200_and_a_bare_one_409(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    path, headers = f"/runs/{run}/interrupts/gate", {"Idempotency-Key": IDEMPOTENCY}
    _, first, _ = await api.call("POST", path, ACCEPT, headers=headers)
    status, again, _ = await api.call("POST", path, ACCEPT, headers=headers)
    assert (status, again) == (200, first)
    status, answer, _ = await api.call("POST", path, ACCEPT)
    assert (status, answer["error"]) == (409, "interrupt_already_resolved")


async def test_two_hundred_racing_resolves_have_one_winner(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    answers = await asyncio.gather(
        *(api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT) for _ in range(200))
    )
    statuses = [status for status, _, _ in answers]
    assert statuses.count(200) == 1
    assert statuses.count(409) == 199
    events = (await poll(api, run))["events"]
    assert [e["type"] for e in events].count("interrupt.resolved") == 1


async def test_tokens_inspect_and_resolve(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run)
    tokens = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/tokens"
    _, look, _ = await api.call("POST", tokens, {"intent": "inspect"})
    status, minted, _ = await api.call("POST", tokens, {"intent": "resolve", "ttlSeconds": 60})
    assert status == 201
    assert minted["url"].startswith(api.gateway.url)
    status, payload, _ = await api.call("GET", f"/interrupts/{look['token']}", key=None)
    assert (status, payload) == (200, approval())
    status, body, _ = await api.call("POST", f"/interrupts/{look['token']}", ACCEPT, key=None)
    assert (status, body["error"]) == (403, "forbidden")
    token = f"/interrupts/{minted['token']}"
    status, body, _ = await api.call("POST", token, ACCEPT, key=None)
    assert (status, body["nodeId"]) == (200, "gate")
    for method in ("GET", "POST"):
        status, body, _ = await api.call(method, token, ACCEPT, key=None)
        assert (status, body["error"]) == (409, "interrupt_already_resolved")
    for bad in ("ow2.hs256.nope.e30.x", "no-such-token", "ow2.hs256.own"):
        status, body, _ = await api.call("GET", f"/interrupts/{bad}", key=None)
        assert (status, body["error"]) == (401, "interrupt_token_invalid")


async def test_a_token_never_skips_an_approvers_list(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run, approval(approversList=["ada"]))
    tokens = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/tokens"
    status, body, _ = await api.call("POST", tokens, {"intent": "resolve"})
    assert (status, body["error"]) == (400, "validation_error")
    _, bobs, _ = await api.call("POST", tokens, {"intent": "resolve", "principal": "bob"})
    status, body, _ = await api.call("POST", f"/interrupts/{bobs['token']}", ACCEPT, key=None)
    assert (status, body["error"]) == (403, "forbidden")
    _, adas, _ = await api.call("POST", tokens, {"intent": "resolve", "principal": "ada"})
    status, _, _ = await api.call("POST", f"/interrupts/{adas['token']}", ACCEPT, key=None)
    assert status == 200


async def test_a_deadline_fires_by_itself(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run, {**approval(), "timeoutMs": 50})
    assert "expiresAt" in record
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}?wait=30"
    _, body, _ = await api.call("GET", path)
    assert body["status"] == "expired"
    events = (await poll(api, run))["events"]
    resolved = next(e for e in events if e["type"] == "interrupt.resolved")
    assert resolved["payload"]["resumeValue"]["action"] == "timeout"


async def test_cancelling_an_interrupt_and_a_run(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run)
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/cancel"
    status, body, _ = await api.call("POST", path, {"reason": "moot"})
    assert (status, body["status"]) == (200, "cancelled")
    status, body, _ = await api.call("POST", path, {})
    assert (status, body["error"]) == (409, "interrupt_already_resolved")
    await api.ask(run, approval("k2"))
    status, body, _ = await api.call("POST", f"/runs/{run}/cancel", {"reason": "over"})
    assert (status, body["status"]) == (200, "cancelled")
    status, body, _ = await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
    assert (status, body["error"]) == (409, "interrupt_already_resolved")
    status, body, _ = await api.call("POST", f"/runs/{run}/cancel", {})
    assert (status, body["error"]) == (409, "run_terminal")


async def test_listing_by_status(api: Api) -> None:
    run = await api.run()
    first = await api.ask(run, approval("k1"), node="n1")
    await api.ask(run, approval("k2"), node="n2")
    await api.call("POST", f"/runs/{run}/interrupts/n2", ACCEPT)
    _, body, _ = await api.call("GET", "/host/sayso/interrupts?status=open")
    assert [i["interruptId"] for i in body["interrupts"]] == [first["interruptId"]]
    _, body, _ = await api.call("GET", "/host/sayso/interrupts", key="alien-key-123456789")
    assert body["interrupts"] == []
    status, _, _ = await api.call("GET", "/host/sayso/interrupts?status=odd")
    assert status == 400


async def test_a_run_ends_when_its_program_says_so(api: Api) -> None:
    run = await api.run()
    path = f"/host/sayso/runs/{run}/complete"
    status, body, _ = await api.call("POST", path, {"outputs": {"ok": True}})
    assert (status, body["status"]) == (200, "completed")
    page = await poll(api, run)
    assert page["isTerminal"]
    assert page["events"][-1]["payload"] == {"outputs": {"ok": True}}


async def test_the_stream_replays_resumes_and_ends(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    headers = {"Authorization": f"Bearer {api.key}"}
    frames: list[tuple[int, str]] = []
    async with api.session.get(
        f"{api.gateway.url}/runs/{run}/events?streamMode=debug", headers=headers
    ) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        await api.call("POST", f"/runs/{run}/interrupts/gate", ACCEPT)
        await api.call("POST", f"/host/sayso/runs/{run}/complete", {})
        async for line in stream.content:
            if line.startswith(b"data: "):
                doc = json.loads(line[6:])
                frames.append((doc["sequence"], doc["type"]))
    assert [n for n, _ in frames] == list(range(len(frames)))
    assert frames[-1][1] == "run.completed"
    headers["Last-Event-ID"] = "5"
    async with api.session.get(f"{api.gateway.url}/runs/{run}/events", headers=headers) as stream:
        text = (await stream.read()).decode()
    assert [line for line in text.splitlines() if line.startswith("id: ")] == ["id: 6", "id: 7"]


async def test_notify_is_checked_when_it_is_asked(api: Api) -> None:
    run = await api.run()
    for notify in (["pager:1"], ["web"], ["email:ada@example.com"]):
        body = {"nodeId": "n", "payload": approval(), "notify": notify}
        status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/interrupts", body)
        assert (status, answer["error"]) == (400, "validation_error")
        assert answer["details"]["errors"][0]["path"] == ["notify", 0]
    assert "'email' is set up here (email.smtp_url turns it on); there is web" in answer["message"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_health(api: Api, method: str) -> None:
    async with api.session.request(method, api.gateway.url + "/healthz") as response:
        assert response.status == 200


async def test_a_promoted_key_signs_without_a_restart(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run)
    tokens = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/tokens"
    _, old, _ = await api.call("POST", tokens, {"intent": "inspect"})
    file = KeyringFile(api.gateway.settings.data_dir)
    ring, kid = file.read().add(0)
    file.write(ring.promote(kid))
    async with asyncio.timeout(60):
        while True:
            _, new, _ = await api.call("POST", tokens, {"intent": "inspect"})
            if new["token"].split(".")[2] == kid:
                break
    for token in (old["token"], new["token"]):
        status, _, _ = await api.call("GET", f"/interrupts/{token}", key=None)
        assert status == 200
