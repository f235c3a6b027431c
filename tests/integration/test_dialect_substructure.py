"""Substructure's wire, driven as a client, a machine and a worker do it. The numbers are those of
docs/dialects/substructure.md."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from typing import Any

import orjson
import pytest
from aiohttp import web

from schemas.ids import path_segment
from tests.fakes.session_worker import Worker
from tests.integration.session_world import (
    BASE,
    SECRET,
    Client,
    Start,
    asked,
    client,
    client_of,
    opened,
    seed_worker,
    served,
    worker,
)

__all__ = ["client", "served", "worker"]


# --- the page's example ---------------------------------------------------------------------------


@pytest.mark.parametrize(("payload", "said"), [({"approved": True}, "sent"), ({}, "declined")])
async def test_the_example_of_the_page(
    client: Client, worker: Worker, payload: Any, said: str
) -> None:
    name = await asked(client)
    status, answer = await client.resume(name, payload)
    assert (status, answer["turn_id"]) == (202, "turn-1")
    session = await client.idle()
    assert [m["role"] for m in session["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert session["messages"][-1]["content"] == f"The tool said: {said}"
    assert session["interrupts"] == []
    assert worker.of("interrupt.resumed")[0]["payload"] == payload


async def test_an_approver_answers_in_a_channel_and_the_worker_goes_on(
    client: Client, worker: Worker
) -> None:
    """The interrupt is one of Sayso's: what resolves any approval resolves this one."""
    await asked(client)
    api = client.api
    _, page, _ = await api.call("GET", "/host/sayso/interrupts?status=open")
    [record] = page["interrupts"]
    one = path_segment(record["interruptId"])
    _, detail, _ = await api.call("GET", f"/host/sayso/interrupts/{one}")
    assert detail["payload"]["data"]["title"] == "Send the email?"
    run, node = path_segment(record["runId"]), record["nodeId"]
    accept = {"resumeValue": {"action": "accept"}}
    status, _, _ = await api.call("POST", f"/runs/{run}/interrupts/{node}", accept)
    assert status == 200
    session = await client.idle()
    assert session["messages"][-1]["content"] == "The tool said: sent"
    payload = worker.of("interrupt.resumed")[0]["payload"]
    assert (payload["status"], payload["approved"], payload["payload"]) == (
        "resolved",
        True,
        {"approved": True},
    )
    assert payload["responder"] == {"channel": "api", "user": "robot", "label": "robot"}


async def test_a_cancel_is_a_cancelled_resume(client: Client, worker: Worker) -> None:
    await asked(client)
    _, page, _ = await client.api.call("GET", "/host/sayso/interrupts?status=open")
    one = path_segment(page["interrupts"][0]["interruptId"])
    await client.api.call("POST", f"/host/sayso/interrupts/{one}/cancel", {"reason": "no more"})
    session = await client.idle()
    assert session["messages"][-1]["content"] == "The tool said: declined"
    assert worker.of("interrupt.resumed")[0]["payload"]["status"] == "cancelled"


# --- the worker's side ----------------------------------------------------------------------------


async def test_a_delivery_is_signed_and_whole(client: Client, worker: Worker) -> None:
    await asked(client)
    for raw, headers in worker.raw:
        mac = hmac.digest(SECRET.encode(), raw, "sha256").hex()
        assert hmac.compare_digest(headers["X-Substructure-Signature"], f"sha256={mac}")
        assert headers["Accept"] == "text/event-stream, application/json"
    first, execute = worker.requests[0], worker.requests[-1]
    assert first["trigger"] == {"type": "session.start"}
    assert execute["trigger"] == {
        "type": "tool.execute",
        "id": "call-bob@example.com",
        "name": "send_email",
        "arguments": '{"to": "bob@example.com"}',
        "input": {"status": "valid", "value": {"to": "bob@example.com"}},
        "attempt": 1,
    }
    assert execute["identity"] == {"id": "user_42", "metadata": {"plan": "pro"}}
    assert (execute["pending_calls"], execute["attempts"], execute["turn_id"]) == (1, 1, "turn-1")
    assert [c["status"] for c in execute["calls"]] == ["pending"]
    assert execute["message_tree"]["head_id"] == execute["messages"][-1]["id"]
    assert set(execute) == {
        "session_id", "decision_id", "agent_id", "identity", "trigger", "proposed", "state",
        "agent", "calls", "pending_calls", "messages", "message_tree", "ancestry", "attempts",
        "deadline", "turn_id",
    }  # fmt: skip


def stream(*frames: tuple[str, Any]) -> web.Response:
    text = "".join(f"event: {e}\ndata: {orjson.dumps(d).decode()}\n\n" for e, d in frames)
    return web.Response(text=text, content_type="text/event-stream")


async def test_a_worker_may_answer_by_a_stream(client: Client, worker: Worker) -> None:
    def decide(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] != "llm.execute":
            return seed_worker(request)
        return stream(
            ("llm.token.delta", {"text": "hel"}), ("decision.result", seed_worker(request))
        )

    worker.decide = decide
    assert await asked(client)


@pytest.mark.parametrize(
    "wrong",
    [
        {"actions": [{"type": "interrupt"}]},
        {"actions": [{"type": "fly"}]},
        web.Response(status=500),
        web.Response(text="not json"),
        web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
    ],
    ids=["an interrupt without a reason", "no action", "500", "not JSON", "a redirect"],
)
async def test_04_a_malformed_answer_is_asked_again(
    client: Client, worker: Worker, wrong: Any
) -> None:
    """Behaviour 4: an interrupt without `reason` is stored nowhere; the decision is tried again."""
    answers = [wrong]

    def decide(request: dict[str, Any]) -> Any:
        execute = request["trigger"]["type"] == "tool.execute"
        return answers.pop() if execute and answers else seed_worker(request)

    worker.decide = decide
    name = await asked(client)
    assert name == "int-call-bob@example.com"
    assert [r["attempts"] for r in worker.requests if r["trigger"]["type"] == "tool.execute"] == [
        1,
        2,
    ]
    types = Counter(e["type"] for e in await client.log())
    assert (types["decision.errored"], types["session.interrupted"]) == (1, 1)


async def test_an_answer_by_the_side_door(client: Client, worker: Worker) -> None:
    """`workers/submit`, while the delivery still hangs: the first answer counts, the late one doesn't."""
    worker.held = asyncio.Event()
    await client.say("u1")
    [_] = await worker.wait("session.start")
    first = worker.requests[0]["decision_id"]
    answer = {"session_id": "s1", "decision_id": first, "state": {"by": "submit"}}
    for _ in range(2):
        status, body, _ = await client.api.call("POST", f"{BASE}/machine/workers/submit", answer)
        assert (status, body) == (200, {"ok": True})
    worker.held.set()
    await client.interrupted()
    assert worker.requests[1]["state"] == {"by": "submit"}
    unnamed = {**answer, "actions": [{"type": "tool.result", "result": 1}]}
    status, body, _ = await client.api.call("POST", f"{BASE}/machine/workers/submit", unnamed)
    assert status == 422


# --- raising and resuming over HTTP ---------------------------------------------------------------


async def test_03_05_raising_over_http(start: Start, worker: Worker) -> None:
    api = await opened(start, worker, substructure={"several": False})
    client = await client_of(api)
    await asked(client)
    status, body = await client.call("POST", "/client/sessions/s1/interrupt", {})
    assert (status, body) == (
        409,
        {"error": "session is interrupted", "interrupts": ["int-call-bob@example.com"]},
    )


async def test_03_an_interrupt_of_a_client(client: Client, worker: Worker) -> None:
    worker.decide = lambda request: (
        {**request["proposed"], "actions": [{"type": "done"}]}
        if request["trigger"]["type"] == "client.messages"
        else request["proposed"]
    )
    await client.say("u1")
    await client.idle()
    status, body = await client.call("POST", "/client/sessions/s1/interrupt", {"payload": 1})
    assert (status, body["ok"]) == (200, True)
    session = await client.look()
    [interrupt] = session["interrupts"]
    assert interrupt == {
        "interrupt_id": body["interrupt_id"],
        "origin": "frontend",
        "reason": "interrupt",
        "anchor": "u1",
    }
    kept = {"interrupt_id": "mine", "reason": "confirm"}
    _, body = await client.call("POST", "/client/sessions/s1/interrupt", kept)
    assert body["interrupt_id"] == "mine"


async def test_11_the_events_of_a_resume(client: Client, worker: Worker) -> None:
    name = await asked(client)
    payload = {"approved": True, "deep": [{"as": None}, 1.5]}
    await client.resume(name, payload)
    await worker.wait("interrupt.resumed")
    log = await client.log()
    at = next(n for n, e in enumerate(log) if e["type"] == "session.interrupt_resumed")
    types = [e["type"] for e in log[at : at + 3]]
    assert types == ["session.interrupt_resumed", "decision.queued", "decision.dispatched"]
    assert log[at]["payload"] == payload == worker.of("interrupt.resumed")[0]["payload"]


async def test_12_14_again_and_unknown_are_accepted_and_write_nothing(client: Client) -> None:
    name = await asked(client)
    await client.resume(name, {"approved": True})
    await client.idle()
    before = len(await client.log())
    for one in (name, "nobody"):
        status, _ = await client.resume(one, {"approved": False})
        assert status == 202
    assert len(await client.log()) == before


async def test_13_of_fifty_resumes_one_counts(client: Client, worker: Worker) -> None:
    name = await asked(client)
    answers = await asyncio.gather(
        *(client.resume(name, {"approved": True, "n": n}) for n in range(50))
    )
    assert {status for status, _ in answers} == {202}
    await client.idle()
    resumed = [e for e in await client.log() if e["type"] == "session.interrupt_resumed"]
    assert len(resumed) == 1
    assert worker.of("interrupt.resumed")[0]["payload"] == resumed[0]["payload"]


async def test_15_a_frontend_may_not_clear_what_a_machine_raised(client: Client) -> None:
    await asked(client)
    path = f"{BASE}/client/sessions/s1/interrupt"
    assert (await client.api.call("POST", path, {"interrupt_id": "m1"}))[0] == 200
    session = await client.look()
    assert {i["interrupt_id"]: i["origin"] for i in session["interrupts"]}["m1"] == "operator"
    status, answer = await client.resume("m1", True)
    assert status == 403
    assert "operator" in answer["error"]
    assert "m1" in {i["interrupt_id"] for i in (await client.look())["interrupts"]}


async def test_16_another_user_and_another_tenant(client: Client) -> None:
    name = await asked(client)
    mallory = await client_of(client.api, "mallory")
    assert (await mallory.resume(name, {"approved": True}))[0] == 403
    assert (await mallory.call("POST", "/client/sessions/s1/interrupt", {}))[0] == 403
    assert (await mallory.call("GET", "/client/sessions/s1"))[0] == 403
    path = f"{BASE}/client/sessions/s1"
    assert (await client.api.call("GET", path, key="alien-key-123456789"))[0] == 404
    assert (await client.look())["status"] == "interrupted"


async def test_listed_approvers_are_asked_and_nobody_else_may(start: Start, worker: Worker) -> None:
    api = await opened(start, worker, agent={"approvers": ["ada"], "notify": []})
    client = await client_of(api, "ada")
    name = await asked(client)
    status, body = await client.resume(name, {"approved": True})
    assert (status, body["error"]) == (403, "Only ada may answer this.")
    assert (await client.look())["status"] == "interrupted"
