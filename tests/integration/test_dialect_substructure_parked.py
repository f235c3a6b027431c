"""Substructure's wire while a branch is parked. The numbers are those of
docs/dialects/substructure.md."""

from __future__ import annotations

from typing import Any

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
