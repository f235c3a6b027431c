"""Substructure's wire: streams, turns, refusals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schemas.ids import path_segment
from tests.fakes.session_worker import Worker
from tests.integration.conftest import Api
from tests.integration.session_world import (
    BASE,
    Client,
    Start,
    asked,
    client,
    client_of,
    opened,
    served,
    worker,
)

__all__ = ["client", "served", "worker"]


async def test_the_stream_of_a_turn_ends_with_it_and_resumes_after_a_seq(client: Client) -> None:
    name = await asked(client)
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        async for event in client.events("?turn_id=turn-1"):
            seen.append(event)
            if event["payload"]["type"] == "session.interrupted":
                await client.resume(name, {"approved": True})
    types = [e["payload"]["type"] for e in seen]
    assert types[0] == "turn.started"
    assert types[-1] == "turn.completed"
    assert types.count("turn.completed") == 1
    assert {e["turn_id"] for e in seen} == {"turn-1"}
    after = seen[3]["seq"]
    async with asyncio.timeout(60):
        header = {"Last-Event-ID": str(after)}
        again = [e async for e in client.events("?turn_id=turn-1&after_seq=1", headers=header)]
    assert again == seen[4:]


async def test_the_same_turn_again_is_answered_and_does_nothing(client: Client) -> None:
    await asked(client)
    before = await client.log()
    status, body = await client.say("bob@example.com", turn_id="turn-1")
    assert (status, body["turn_id"]) == (202, "turn-1")
    assert await client.log() == before


async def test_a_machine_submits_for_a_user(client: Client) -> None:
    message = {"id": "bob@example.com", "role": "user", "content": "x"}
    body = {
        "agent_id": "bot",
        "identity": {"id": "user_42"},
        "session_id": "s1",
        "payload": {"type": "client.message", "message": message},
    }
    status, answer, _ = await client.api.call("POST", f"{BASE}/machine/sessions/submit", body)
    assert (status, answer["session_id"]) == (202, "s1")
    assert (await client.interrupted())["interrupts"]
    other = {**body, "session_id": None}
    status, answer, _ = await client.api.call("POST", f"{BASE}/machine/sessions/submit", other)
    assert answer["session_id"].startswith("ses_")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (
            {"session_id": "s1", "input": {"type": "client.message", "message": {"role": "user"}}},
            422,
        ),
        ({"session_id": "s1", "input": {"type": "fly"}}, 422),
        (
            {"session_id": "s1", "input": {"type": "client.action", "agent_id": "no", "name": "x"}},
            422,
        ),
        ({"input": {"type": "interrupt.resume", "interrupt_id": "i1"}}, 422),
        ({"session_id": "no", "input": {"type": "interrupt.resume", "interrupt_id": "i1"}}, 404),
        ({"session_id": "x" * 300, "input": {"type": "fly"}}, 422),
    ],
)
async def test_bad_inputs(client: Client, body: Any, status: int) -> None:
    found, answer = await client.call("POST", "/client/sessions/input", body)
    assert found == status
    assert isinstance(answer["error"], str)


async def test_credentials(served: Api) -> None:
    path = f"{BASE}/client/sessions/s1"
    assert (await served.call("GET", path, key=None))[0] == 401
    for forged in ("eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJIUzI1NiJ9.e30.AAAA"):
        assert (await served.call("GET", path, key=forged))[0] == 401
    body = {"identity": {"id": "u"}}
    mint = f"{BASE}/machine/client-tokens"
    assert (await served.call("POST", mint, body, key="read-key-0123456789"))[0] == 403
    client = await client_of(served)
    assert (await client.call("POST", "/machine/client-tokens", body))[0] == 401
    assert (await served.call("GET", path))[0] == 404


async def test_content_that_is_not_captured_is_in_no_event_of_a_run(
    start: Start, worker: Worker
) -> None:
    """The session and its own stream still have it: it is what a session is made of."""
    capture = {"requests": False, "answers": False}
    client = await client_of(await opened(start, worker, capture=capture))
    name = await asked(client)
    await client.resume(name, {"approved": True, "note": "swordfish"})
    session = await client.idle()
    assert session["messages"][-1]["content"] == "The tool said: sent"
    assert "swordfish" in str(await client.log())
    run = path_segment(session["run_id"])
    _, page, _ = await client.api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    assert "sayso.branch-resumed" in {e["type"] for e in page["events"]}
    told = str([e["payload"] for e in page["events"]])
    for content in ("swordfish", "Send the email?", "The tool said", "send_email"):
        assert content not in told


async def test_a_session_is_not_forked(client: Client) -> None:
    """Its questions would be answered twice: a session branches by itself."""
    await asked(client)
    run = path_segment((await client.look())["run_id"])
    status, body, _ = await client.api.call("POST", f"/runs/{run}:fork", {"mode": "replay"})
    assert (status, body["error"]) == (422, "fork_point_invalid")


async def test_a_browser_may_ask_first(served: Api) -> None:
    url = f"{served.gateway.url}{BASE}/client/sessions/input"
    async with served.session.options(url) as response:
        assert response.status == 204
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "Authorization" in response.headers["Access-Control-Allow-Headers"]


async def test_a_worker_inside_is_not_reached(start: Start, worker: Worker) -> None:
    """The operator names the worker; the guard still wants its origin among the exceptions."""
    agents = {"bot": {"url": worker.url}}
    api = await start(substructure={"agents": agents, "attempts": 1})
    client = await client_of(api)
    await client.say("u1", turn_id="turn-1")
    await client.idle()
    assert worker.requests == []
    assert "decision.dropped" in {e["type"] for e in await client.log()}
