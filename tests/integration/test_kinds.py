"""Every kind of interrupt over HTTP, from the request to the resume value."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.ids import path_segment
from tests.integration.conftest import Api, approval


async def resolve(api: Api, run: str, value: Any, node: str = "gate") -> tuple[int, Any]:
    path = f"/runs/{run}/interrupts/{node}"
    status, body, _ = await api.call("POST", path, {"resumeValue": value})
    return status, body


async def status_of(api: Api, run: str) -> str:
    _, body, _ = await api.call("GET", f"/runs/{run}")
    return str(body["status"])


@pytest.mark.parametrize(
    ("kind", "data", "waiting", "value"),
    [
        ("custom", {"customKind": "x", "payload": {"any": [1]}}, "waiting-approval", {"free": 1}),
        ("custom", {"customKind": "x"}, "waiting-approval", None),
        (
            "clarification",
            {"questions": [{"id": "q", "question": "?"}]},
            "waiting-input",
            {"answers": {"q": "yes"}},
        ),
        (
            "external-event",
            {"eventType": "paid", "correlation": {"o": 1}},
            "waiting-external",
            {"eventPayload": {}},
        ),
        (
            "low-confidence",
            {"agentId": "a", "threshold": 0.7, "observed": 0.1},
            "waiting-approval",
            {"go": True},
        ),
    ],
)
async def test_a_kind_waits_and_hands_back_what_was_said(
    api: Api, kind: str, data: dict[str, Any], waiting: str, value: Any
) -> None:
    run = await api.run()
    payload = {"kind": kind, "key": "k", "data": data}
    await api.ask(run, payload)
    assert await status_of(api, run) == waiting
    assert (await resolve(api, run, value))[0] == 200
    again = await api.ask(run, payload)
    assert (again["status"], again["resumeValue"]) == ("resolved", value)
    assert await status_of(api, run) == "running"


async def test_a_conversation_over_http(api: Api) -> None:
    run = await api.run()
    start = {"kind": "conversation.start", "key": "s", "data": {"conversationId": "c1"}}
    assert (await api.ask(run, start, "talk"))["status"] == "resolved"
    data = {
        "conversationId": "c1",
        "prompt": "Which colour?",
        "outcomeSchema": {"type": "string", "maxLength": 5},
    }
    turn = {"kind": "conversation.exchange", "key": "t1", "data": data}
    await api.ask(run, turn, "talk")
    assert await status_of(api, run) == "waiting-input"
    status, body = await resolve(api, run, "a very long answer", "talk")
    assert (status, body["error"]) == (400, "validation_error")
    assert await status_of(api, run) == "waiting-input"
    assert (await resolve(api, run, "red", "talk"))[0] == 200
    close = {"kind": "conversation.close", "key": "c", "data": {"conversationId": "c1"}}
    assert (await api.ask(run, close, "talk"))["status"] == "resolved"
    turn = {**turn, "key": "t2"}
    body = {"nodeId": "talk", "payload": turn, "notify": []}
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/interrupts", body)
    assert (status, answer["error"]) == (400, "validation_error")


async def test_a_conversation_id_is_unique_in_its_tenant(api: Api) -> None:
    start = {"kind": "conversation.start", "key": "s", "data": {"conversationId": "c1"}}
    await api.ask(await api.run(), start)
    other = await api.run()
    body = {"nodeId": "n", "payload": start, "notify": []}
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{other}/interrupts", body)
    assert (status, answer["error"]) == (400, "validation_error")


async def test_a_token_ends_with_its_interrupt(api: Api) -> None:
    run = await api.run()
    record = await api.ask(run, {**approval(), "timeoutMs": 60_000})
    tokens = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/tokens"
    _, minted, _ = await api.call("POST", tokens, {"intent": "resolve", "ttlSeconds": 86_400})
    assert minted["expiresAt"] == record["expiresAt"]


async def test_two_waits_of_one_run_are_answered_on_their_own(api: Api) -> None:
    run = await api.run()
    await api.ask(run, approval("k1"), "n1")
    await api.ask(run, approval("k2"), "n2")
    assert (await resolve(api, run, {"action": "accept"}, "n1"))[0] == 200
    assert await status_of(api, run) == "waiting-approval"
    assert (await resolve(api, run, {"action": "accept"}, "n2"))[0] == 200
    assert await status_of(api, run) == "running"


async def test_a_key_belongs_to_one_node(api: Api) -> None:
    run = await api.run()
    await api.ask(run, approval("k"), "n1")
    body = {"nodeId": "n2", "payload": approval("k"), "notify": []}
    status, answer, _ = await api.call("POST", f"/host/sayso/runs/{run}/interrupts", body)
    assert (status, answer["error"]) == (400, "validation_error")
