"""The AG-UI binding, over plain HTTP: a pause ends a run, the next one has to answer all of it. Numbers:
docs/dialects/substructure.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.session_worker import Worker
from tests.integration.session_world import (
    BASE,
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


@dataclass
class Agui:
    """An AG-UI client that remembers nothing: the test says what is sent."""

    client: Client
    runs: int = 0

    async def post(self, what: str, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        url = f"{self.client.api.gateway.url}{BASE}/channels/ag-ui/agents/bot/{what}"
        headers = {"Authorization": f"Bearer {self.client.token}"}
        async with self.client.api.session.post(url, json=body, headers=headers) as response:
            text = await response.text()
            lines = [x for x in text.split("\n\n") if x.startswith("data: ")]
            return response.status, [json.loads(x.removeprefix("data: ")) for x in lines]

    async def run(self, *texts: str, resume: Any = None, **more: Any) -> list[dict[str, Any]]:
        """The events of one run, as its client sends it: every member there, one that is new as well."""
        self.runs += 1
        body: dict[str, Any] = {
            "threadId": "s1",
            "runId": f"run-{self.runs}",
            "protocolVersion": "1.0",
            "messages": [{"id": t, "role": "user", "content": t} for t in texts],
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        if resume is not None:
            body["resume"] = resume
        status, events = await self.post("run", {**body, **more})
        assert status == 200
        assert events[0] == {"type": "RUN_STARTED", "threadId": "s1", "runId": body["runId"]}
        return events


@pytest.fixture
def agui(client: Client) -> Agui:
    return Agui(client)


NAME = "int-call-bob@example.com"


def answer(name: str = NAME, **more: Any) -> dict[str, Any]:
    return {"interruptId": name, "status": "resolved", "payload": {"approved": True}, **more}


async def test_44_a_pause_ends_the_run_with_what_it_asks(agui: Agui) -> None:
    events = await agui.run("bob@example.com")
    types = [e["type"] for e in events]
    assert types[1:4] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    outcome = events[-1]["outcome"]
    entry = {"id": NAME, "reason": "confirm", "message": "Send the email?"}
    assert outcome == {"type": "interrupt", "interrupts": [entry]}, "nothing that is null"


async def test_a_resume_goes_on_in_the_same_turn(agui: Agui, worker: Worker) -> None:
    await agui.run("bob@example.com")
    events = await agui.run("bob@example.com", resume=[answer()])
    assert [e["type"] for e in events[1:]] == [
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert events[3]["delta"] == "The tool said: sent"
    assert events[-1]["outcome"] == {"type": "success"}
    assert worker.of("interrupt.resumed")[0]["payload"] == {
        "status": "resolved",
        "approved": True,
        "payload": {"approved": True},
        "responder": {"channel": "ag-ui"},
    }


async def test_40_a_responder_of_the_client_s_own_is_not_believed(
    agui: Agui, worker: Worker
) -> None:
    await agui.run("bob@example.com")
    await agui.run(resume=[{**answer(), "responder": {"user": "mallory"}, "metadata": {}}])
    responder = worker.of("interrupt.resumed")[0]["payload"]["responder"]
    assert responder == {"channel": "ag-ui"}


async def test_a_cancelled_resume_is_a_no(agui: Agui) -> None:
    await agui.run("bob@example.com")
    events = await agui.run(resume=[answer(status="cancelled")])
    assert events[3]["delta"] == "The tool said: declined"


async def test_43_a_run_that_leaves_one_out_is_an_error_and_applies_nothing(
    agui: Agui, client: Client, worker: Worker
) -> None:
    worker.decide = lambda r: {} if r["trigger"].get("interrupt_id") == "second" else seed_worker(r)
    await agui.run("bob@example.com")
    await client.call("POST", "/client/sessions/s1/interrupt", {"interrupt_id": "second"})
    log = await client.log()
    cold = await agui.run("bob@example.com")
    assert cold[-1]["type"] == "RUN_ERROR"
    assert NAME in cold[-1]["message"]
    assert "second" in cold[-1]["message"]
    partial = await agui.run(resume=[answer()])
    assert partial[-1]["type"] == "RUN_ERROR"
    assert NAME not in partial[-1]["message"]
    assert await client.log() == log
    both = [answer(), answer("second"), answer("stale"), answer(payload={"approved": False})]
    assert (await agui.run(resume=both))[-1]["type"] == "RUN_FINISHED"
    resumed = [e for e in await client.log() if e["type"] == "session.interrupt_resumed"]
    first = {e["interrupt_id"]: e["payload"]["payload"] for e in resumed}
    assert first == {NAME: {"approved": True}, "second": {"approved": True}}, "the first one wins"


async def test_an_empty_run_is_an_error_on_the_stream(agui: Agui) -> None:
    assert (await agui.run())[-1]["type"] == "RUN_ERROR"
    nonsense = await agui.post("run", {"threadId": "s1"})
    assert nonsense[0] == 400


async def test_a_tool_of_the_client_ends_the_run_and_its_result_goes_on(
    agui: Agui, worker: Worker
) -> None:
    def decide(request: dict[str, Any]) -> Any:
        trigger = request["trigger"]
        if trigger["type"] == "llm.execute":
            last = request["messages"][-1]
            if last["role"] == "user":
                function = {"name": "pick", "arguments": "{}"}
                call = {"id": "c1", "type": "function", "function": function}
                response: dict[str, Any] = {"model": "m", "tool_calls": [call]}
            else:
                response = {"model": "m", "content": f"You picked {last['content']}"}
            return {"actions": [{"type": "llm.result", "response": response}]}
        return request["proposed"]

    worker.decide = decide
    tools = [{"name": "pick", "description": "Pick a colour.", "parameters": {"type": "object"}}]
    events = await agui.run("u1", tools=tools)
    assert events[-1]["outcome"] == {"type": "success"}
    model = next(e["parentMessageId"] for e in events if e["type"] == "TOOL_CALL_START")
    messages = [
        {"id": "u1", "role": "user", "content": "u1"},
        {"id": model, "role": "assistant"},
        {"id": "r1", "role": "tool", "toolCallId": "c1", "content": "red"},
    ]
    again = await agui.run(messages=messages)
    assert "You picked red" in [e.get("delta") for e in again]


async def test_connect_shows_the_thread_and_what_it_waits_for(agui: Agui) -> None:
    await agui.run("bob@example.com")
    status, events = await agui.post("connect", {"threadId": "s1"})
    assert status == 200
    assert [e["type"] for e in events] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [m["role"] for m in events[1]["messages"]] == ["user", "assistant"]
    assert events[2]["outcome"]["interrupts"][0]["id"] == NAME
    assert (await agui.post("connect", {"threadId": "nobody"}))[0] == 404


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
async def test_a_list_of_approvers_holds_here_too(
    start: Start, worker: Worker, status: str
) -> None:
    api = await opened(start, worker, agent={"approvers": ["ada"], "notify": []})
    for token in ((await client_of(api, "ada")).token, api.key):
        agui = Agui(Client(api, token))
        thread = {"threadId": "s1"} if token != api.key else {"threadId": "s2"}
        body = {"runId": "one", "messages": [{"id": "m", "role": "user", "content": "b@c.de"}]}
        _, asked = await agui.post("run", {**thread, **body})
        [pause] = asked[-1]["outcome"]["interrupts"]
        said = answer(pause["id"], status=status)
        resume = {**thread, "runId": "two", "messages": [], "resume": [said]}
        _, events = await agui.post("run", resume)
        assert events[-1]["type"] == "RUN_ERROR"
        assert events[-1]["message"] == "Only ada may answer this."
    assert worker.of("interrupt.resumed") == []
