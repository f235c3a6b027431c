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
from tests.integration.conftest import Api
from tests.integration.session_world import (
    BASE,
    SECRET,
    Client,
    Start,
    client,
    client_of,
    opened,
    seed_worker,
    served,
    worker,
)

__all__ = ["client", "served", "worker"]


async def asked(client: Client) -> str:
    """The session waits for an answer. The interrupt's id."""
    status, answer = await client.say("bob@example.com", turn_id="turn-1")
    assert (status, answer["queued"]) == (202, False)
    session = await client.interrupted()
    return str(session["interrupts"][0]["interrupt_id"])


# --- the page's example -----------------------------------------------------------------------------


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


# --- the worker's side ------------------------------------------------------------------------------


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


# --- raising and resuming over HTTP -----------------------------------------------------------------


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


# --- while parked -----------------------------------------------------------------------------------


async def test_22_a_message_is_refused_and_not_stored(client: Client) -> None:
    await asked(client)
    status, body = await client.say("more text")
    assert (status, body["error"]) == (409, "session is interrupted")
    append = [{"role": "user", "content": "more text"}]
    assert (await client.input("client.append", messages=append))[0] == 409
    assert "more text" not in str(await client.log())


async def test_23_24_walking_away_and_coming_back(client: Client, worker: Worker) -> None:
    name = await asked(client)
    tree = (await client.look())["message_tree"]
    assert (await client.view(new="bob-edited"))[0] == 202
    session = await client.until(
        lambda s: s["status"] == "interrupted" and len(s["interrupts"]) == 2
    )
    assert session["messages"][0]["id"] == "bob-edited", "the edit goes on, and asks anew"
    parked = [n["message"]["id"] for n in tree["nodes"]]
    assert (await client.view(*parked))[0] == 202
    session = await client.look()
    assert session["status"] == "interrupted"
    await client.resume(name, {"approved": True})
    [resumed] = await worker.wait("interrupt.resumed")
    assert resumed["interrupt_id"] == name
    session = await client.idle()
    assert session["messages"][0]["id"] == "bob@example.com"
    assert session["messages"][-1]["content"] == "The tool said: sent"
    assert len(session["interrupts"]) == 1, "the other branch still waits"


async def test_25_a_fork_at_the_anchor_is_refused(client: Client) -> None:
    await asked(client)
    ids = [m["id"] for m in (await client.look())["messages"]]
    assert (await client.view(*ids, new="x"))[0] == 409
    assert (await client.view(*ids[:-1], new="y"))[0] == 202


async def test_27_a_result_is_recorded_and_what_follows_is_held(
    client: Client, worker: Worker
) -> None:
    name = await asked(client)
    body = {"type": "tool.result", "id": "call-bob@example.com", "result": "by hand"}
    path = f"{BASE}/machine/sessions/s1/calls/settle"
    assert (await client.api.call("POST", path, body))[:2] == (200, {"ok": True})
    status, again, _ = await client.api.call("POST", path, body)
    assert (status, again["ok"]) == (409, False)
    assert (await client.look())["waiting"][0]["waits_for"] == [f"interrupt:{name}"]
    assert "tool.finished" not in worker.triggers
    worker.decide = lambda r: {} if r["trigger"]["type"] == "interrupt.resumed" else seed_worker(r)
    await client.resume(name, None)
    session = await client.idle()
    assert session["messages"][-1]["content"] == "The tool said: by hand"
    assert worker.triggers[-4:-2] == ["interrupt.resumed", "tool.finished"]
    assert worker.triggers.count("tool.finished") == 1


async def test_29_a_click_of_their_own_channel_answers(client: Client, worker: Worker) -> None:
    name = await asked(client)

    def decide(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] == "client.action":
            resolve = {"type": "interrupt.resolve", "interrupt_id": name}
            return {"actions": [{**resolve, "payload": {"approved": True}}]}
        return seed_worker(request)

    worker.decide = decide
    assert (await client.input("client.action", name="click", args={"position": 0}))[0] == 202
    assert (await client.idle())["messages"][-1]["content"] == "The tool said: sent"


async def test_30_a_queued_message_waits(client: Client) -> None:
    name = await asked(client)
    status, body = await client.say("later@example.com", queue=True, turn_id="turn-2")
    assert (status, body) == (202, {"session_id": "s1", "turn_id": "turn-2", "queued": True})
    labels = (await client.look())["waiting"][-1]["waits_for"]
    assert labels == [f"interrupt:{name}", "turn:turn-1"]
    await client.resume(name, {"approved": True})
    session = await client.until(lambda s: s["turn_id"] == "turn-2")
    assert session["turn_id"] == "turn-2"


async def test_35_a_cancelled_session(client: Client) -> None:
    name = await asked(client)
    run = path_segment((await client.look())["run_id"])
    assert (await client.api.call("POST", f"/runs/{run}/cancel", {}))[0] == 200
    assert (await client.resume(name, {"approved": True}))[0] == 202
    session = await client.look()
    assert (session["status"], session["interrupts"]) == ("cancelled", [])
    assert (await client.say("more"))[0] == 409
    assert (await client.log())[-1]["type"] == "session.cancelled"


async def test_36_a_child_s_interrupt_is_the_child_s(start: Start, worker: Worker) -> None:
    def decide(request: dict[str, Any]) -> Any:
        if request["agent_id"] == "kid":
            return seed_worker(request)
        if request["trigger"]["type"] == "client.messages":
            spawn = {"type": "sub_agent.spawn", "session_id": "child", "agent_id": "kid"}
            first = {"role": "user", "content": "kim@example.com", "id": "k1"}
            action = {**spawn, "tool_call_id": "t1", "message": first}
            return {**request["proposed"], "actions": [action]}
        if request["trigger"]["type"] == "sub_agent.finished":
            return {"actions": [{"type": "done", "data": request["trigger"]["result"]}]}
        return request["proposed"]

    worker.decide = decide
    kid = {"url": worker.url, "secret": SECRET}
    api = await opened(start, worker, agents={"kid": kid})
    client = await client_of(api)
    await client.say("u1")
    await worker.wait("tool.execute")
    child = Client(api, client.token, "child")
    interrupted = await child.interrupted()
    assert (await client.look())["status"] != "interrupted"
    assert worker.requests[-1]["ancestry"] == ["s1"]
    await child.resume(interrupted["interrupts"][0]["interrupt_id"], {"approved": True})
    await client.idle()
    [finished] = worker.of("sub_agent.finished")
    assert (finished["id"], finished["result"]) == ("t1", "The tool said: sent")


async def test_38_what_was_answered_elsewhere_is_answered(client: Client, worker: Worker) -> None:
    name = await asked(client)
    _, page, _ = await client.api.call("GET", "/host/sayso/interrupts?status=open")
    [record] = page["interrupts"]
    await client.resume(name, {"approved": True})
    run = path_segment(record["runId"])
    path = f"/runs/{run}/interrupts/{record['nodeId']}"
    status, body, _ = await client.api.call("POST", path, {"resumeValue": {"action": "reject"}})
    assert (status, body["error"]) == (409, "interrupt_already_resolved")
    await client.idle()
    assert len(worker.of("interrupt.resumed")) == 1


# --- streams, turns, refusals -----------------------------------------------------------------------


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
