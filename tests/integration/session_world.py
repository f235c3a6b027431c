"""A gateway with one agent, whose worker is a fake on loopback, and a client of one user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.session_worker import PATIENCE, Worker
from tests.integration.conftest import Api

BASE = "/compat/substructure/api"
SECRET = "worker-signing-secret-1"
Start = Callable[..., Awaitable[Api]]


def seed_worker(request: dict[str, Any]) -> Any:
    """The worker of the interrupts page: it asks before an email is sent. Its model wants to send one."""
    trigger = request["trigger"]
    if trigger["type"] == "llm.execute":
        return {"actions": [{"type": "llm.result", "response": model(request)}]}
    if trigger["type"] == "tool.execute" and trigger["name"] == "send_email":
        payload = {"message": "Send the email?"}
        interrupt = {"type": "interrupt", "reason": "confirm", "payload": payload}
        return {"actions": [{**interrupt, "interrupt_id": f"int-{trigger['id']}"}]}
    if trigger["type"] == "interrupt.resumed":
        if (trigger.get("payload") or {}).get("approved"):
            return {"actions": [{"type": "tool.result", "result": "sent"}]}
        return {"actions": [{"type": "tool.error", "error": "declined"}]}
    return request["proposed"]


def model(request: dict[str, Any]) -> dict[str, Any]:
    """It calls the tool once a user asks, and speaks once the tool has ended."""
    last = request["messages"][-1]
    if last["role"] != "user":
        return {"model": "m", "content": f"The tool said: {last['content']}"}
    arguments = json.dumps({"to": last["content"]})
    function = {"name": "send_email", "arguments": arguments}
    call = {"id": f"call-{last['id']}", "type": "function", "function": function}
    return {"model": "m", "tool_calls": [call]}


@dataclass
class Client:
    """One user's client: bearer of a client token."""

    api: Api
    token: str
    name: str = "s1"
    turns: list[str] = field(default_factory=list)

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, answer, _ = await self.api.call(method, BASE + path, body, key=self.token)
        return status, answer

    async def input(self, kind: str, **members: Any) -> tuple[int, Any]:
        said = {"type": kind, **members}
        if kind.startswith("client."):
            said.setdefault("agent_id", "bot")
        body = {"session_id": self.name, "input": said}
        return await self.call("POST", "/client/sessions/input", body)

    async def say(self, text: str, **more: Any) -> tuple[int, Any]:
        message = {"id": text, "role": "user", "content": text}
        return await self.input("client.message", message=message, **more)

    async def view(self, *ids: str, new: str = "") -> tuple[int, Any]:
        messages = [
            {"id": i, "role": "user", "content": i} for i in (*ids, *([new] if new else []))
        ]
        return await self.input("client.messages", messages=messages)

    async def resume(self, interrupt_id: str, payload: Any = None) -> tuple[int, Any]:
        return await self.input("interrupt.resume", interrupt_id=interrupt_id, payload=payload)

    async def look(self) -> dict[str, Any]:
        status, answer = await self.call("GET", f"/client/sessions/{self.name}")
        assert status == 200, answer
        return dict(answer)

    async def until(self, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The session once this holds of it: woken by its events, never by a clock."""
        async with asyncio.timeout(PATIENCE):
            async for _ in self.events(every=True):
                session = await self.look()
                if holds(session):
                    return session
        raise AssertionError("the stream ended first")

    async def interrupted(self) -> dict[str, Any]:
        return await self.until(lambda s: s["status"] == "interrupted")

    async def idle(self) -> dict[str, Any]:
        """The session when nothing waits or runs."""
        return await self.until(lambda s: s["turn_id"] is None and not s["waiting"])

    async def events(
        self, query: str = "", *, every: bool = False, headers: dict[str, str] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """The event stream. With `every`, its beginning counts as an event."""
        url = f"{self.api.gateway.url}{BASE}/client/sessions/{self.name}/events/stream{query}"
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        async with self.api.session.get(url, headers=sent) as response:
            assert response.status == 200, await response.text()
            if every:
                yield {}
            async for line in response.content:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    async def log(self) -> list[dict[str, Any]]:
        """All events so far, read until the one that the session has now."""
        run = await self.api.gateway.host.store.log.run((await self.look())["run_id"])
        assert run is not None
        stored = await self.api.gateway.host.store.log.events(run.run_id, -1, 10_000)
        from gateway.routes.compat.substructure_wire import event_frame

        frames = [event_frame(e, self.name, None) for e in stored]
        return [doc["payload"] for frame in frames if frame for doc in [frame[1]]]


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    worker = Worker(seed_worker)
    await worker.start()
    yield worker
    await worker.stop()


async def opened(start: Start, worker: Worker, **settings: Any) -> Api:
    """A gateway whose agent `bot` has this worker."""
    chosen = settings.pop("substructure", {})
    agent = {"url": worker.url, "secret": SECRET, **settings.pop("agent", {})}
    agents = {"bot": agent, **settings.pop("agents", {})}
    return await start(
        substructure={"agents": agents, **chosen},
        egress={"allow": [worker.origin]},
        **settings,
    )


async def client_of(api: Api, identity: str = "user_42", name: str = "s1") -> Client:
    body = {"identity": {"id": identity, "metadata": {"plan": "pro"}}}
    status, minted, _ = await api.call("POST", f"{BASE}/machine/client-tokens", body)
    assert status == 200, minted
    return Client(api, minted["token"], name)


@pytest.fixture
async def served(start: Start, worker: Worker) -> Api:
    return await opened(start, worker)


@pytest.fixture
async def client(served: Api) -> Client:
    return await client_of(served)


async def asked(client: Client) -> str:
    """The session waits for an answer. The interrupt's id."""
    status, answer = await client.say("bob@example.com", turn_id="turn-1")
    assert (status, answer["queued"]) == (202, False)
    session = await client.interrupted()
    return str(session["interrupts"][0]["interrupt_id"])
