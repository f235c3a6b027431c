"""Asking in one request: a run and its first question in one commit."""

from __future__ import annotations

from typing import Any

from tests.integration.conftest import Api, approval

ASK = "/host/sayso/interrupts"
KEY = {"Idempotency-Key": "0123456789abcdef0123456789"}


async def test_one_request_begins_a_run_and_asks(api: Api) -> None:
    body = {"nodeId": "gate", "payload": approval(), "notify": [], "metadata": {"order": 7}}
    status, asked, _ = await api.call("POST", ASK, body)
    assert (status, asked["status"], asked["nodeId"]) == (201, "open", "gate")
    run = asked["runId"].replace("/", "~2F")
    _, snapshot, _ = await api.call("GET", f"/runs/{run}")
    assert snapshot["status"] == "waiting-approval"
    assert snapshot["workflowId"] == "sayso.external"
    assert snapshot["metadata"] == {"order": 7}
    _, page, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    assert [event["type"] for event in page["events"]][:2] == ["run.started", "interrupt.requested"]
    resolved = {"resumeValue": {"action": "accept"}}
    assert (await api.call("POST", f"/runs/{run}/interrupts/gate", resolved))[0] == 200


async def test_a_key_asks_once(api: Api) -> None:
    body = {"nodeId": "gate", "payload": approval(), "notify": []}
    _, first, _ = await api.call("POST", ASK, body, headers=KEY)
    status, again, headers = await api.call("POST", ASK, body, headers=KEY)
    assert (status, again) == (201, first)
    assert headers["OpenWOP-Idempotent-Replay"] == "true"


async def test_what_is_refused_leaves_no_run(api: Api) -> None:
    turn: dict[str, Any] = {
        "kind": "conversation.exchange",
        "key": "c:1",
        "data": {"conversationId": "nowhere", "turnIndex": 1, "prompt": "Yes?"},
    }
    body = {"nodeId": "talk", "payload": turn, "notify": []}
    status, refused, _ = await api.call("POST", ASK, body)
    assert (status, refused["error"]) == (400, "validation_error")
    _, page, _ = await api.call("GET", ASK)
    assert page["interrupts"] == []


async def test_a_conversation_may_begin_so(api: Api) -> None:
    start = {"kind": "conversation.start", "key": "c:0", "data": {"conversationId": "talk-1"}}
    status, asked, _ = await api.call(
        "POST", ASK, {"nodeId": "talk", "payload": start, "notify": []}
    )
    assert (status, asked["status"]) == (201, "resolved")


async def test_unknown_members_are_refused(api: Api) -> None:
    body = {"nodeId": "gate", "payload": approval(), "runId": "acme/0123456789abcdef"}
    status, refused, _ = await api.call("POST", ASK, body)
    assert (status, refused["error"]) == (400, "validation_error")
