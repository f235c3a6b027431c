"""A gateway with a workflow, and a client of its kortyx routes as their React transport is one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host.chat_sessions import ChatSessions
from tests.integration.conftest import Api

CHOICES = [
    {"id": "approve", "label": "Approve", "value": "internal-1"},
    {"id": "revise", "label": "Revise"},
]
TAGS = [{"id": one, "label": one.upper()} for one in ("a", "b", "c")]
ASK = {
    "workflowId": "ask",
    "nodes": [
        {
            "id": "label",
            "type": "core.interrupt",
            "config": {"input": {"kind": "text", "question": "What label?"}},
        },
        {
            "id": "tags",
            "type": "core.interrupt",
            "config": {
                "input": {
                    "multiple": True,
                    "options": TAGS,
                    "meta": {"colour": "red", "__kortyxPatch": {"x": 1}},
                }
            },
        },
        {
            "id": "decision",
            "type": "core.interrupt",
            "config": {"input": {"options": CHOICES, "question": "Approve this draft?"}},
        },
    ],
    "edges": [{"from": "label", "to": "tags"}, {"from": "tags", "to": "decision"}],
}


def one_node(name: str, **asked: Any) -> dict[str, Any]:
    """A workflow with one request for input."""
    node = {"id": "n", "type": "core.interrupt", "config": {"input": asked}}
    return {"workflowId": name, "nodes": [node]}


def workflows_in(folder: Path, *flows: dict[str, Any]) -> Path:
    """A folder with these workflows."""
    folder.mkdir(exist_ok=True)
    for flow in flows:
        (folder / f"{flow['workflowId']}.json").write_text(json.dumps(flow), "utf-8")
    return folder


@dataclass
class Client:
    """Sends what their client sends, and reads the frames to the end."""

    api: Api
    session: str = "s1"

    async def post(self, path: str, body: Any, **more: Any) -> tuple[int, Any]:
        status, found, _ = await self.api.call("POST", f"/compat/kortyx/{path}", body, **more)
        return status, found

    async def get(self, path: str, **more: Any) -> tuple[int, Any]:
        status, found, _ = await self.api.call("GET", f"/compat/kortyx/{path}", **more)
        return status, found

    async def frames(self, body: Any) -> tuple[int, list[str]]:
        """The status, and the `data` of every frame as it came."""
        async with self.api.session.post(
            f"{self.api.gateway.url}/compat/kortyx/chat",
            json=body,
            headers={"Authorization": f"Bearer {self.api.key}"},
        ) as response:
            text = await response.text()
            if response.status != 200:
                return response.status, [text]
            assert response.content_type == "text/event-stream"
        frames = text.split("\n\n")
        assert frames.pop() == ""
        assert all(one.startswith("data: ") and "\n" not in one for one in frames)
        return 200, [one.removeprefix("data: ") for one in frames]

    async def chat(
        self, content: str = "go", resume: Any = None, status: int = 200, **more: Any
    ) -> list[dict[str, Any]]:
        """The chunks of one chat request; with another `status` the refusal as the only one."""
        message: dict[str, Any] = {"role": "user", "content": content}
        if resume is not None:
            message["metadata"] = {"resume": resume}
        body = {"sessionId": self.session, "messages": [message], **more}
        found, frames = await self.frames(body)
        assert found == status, frames
        if status == 200:
            assert frames.pop() == "[DONE]"
        return [json.loads(one) for one in frames]

    async def start(self, workflow: str = "ask") -> dict[str, Any]:
        """The first question of a new run."""
        return only(await self.chat(workflowId=workflow), "interrupt")

    async def answer(self, asked: dict[str, Any], **said: Any) -> list[dict[str, Any]]:
        """Resume as their client does: `selected` is a list."""
        status = said.pop("status", 200)
        return await self.chat("answered", handle(asked) | said, status)

    async def refused(self, asked: dict[str, Any], **said: Any) -> dict[str, Any]:
        """The body of a refused resume."""
        [body] = await self.answer(asked, status=400, **said)
        return body

    def sessions(self) -> ChatSessions:
        host = self.api.gateway.host
        return ChatSessions(host.store.documents, host.clock)


def handle(asked: dict[str, Any]) -> dict[str, Any]:
    """The token and the request id of an interrupt chunk."""
    return {"token": asked["resumeToken"], "requestId": asked["requestId"]}


def only(chunks: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The one chunk of this type."""
    [found] = [one for one in chunks if one["type"] == kind]
    return found


def types(chunks: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in chunks]
