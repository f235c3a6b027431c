"""The program that asks, over plain HTTP; and the payloads of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp

from schemas.ids import path_segment
from tests.acceptance.program import Program

Answer = tuple[int, dict[str, Any]]


class Agent:
    """One API key at one running program. Finds the program again after a restart."""

    def __init__(
        self, program: Program, session: aiohttp.ClientSession, key: str = "", url: str = ""
    ) -> None:
        self._program = program
        self._session = session
        self._key = key
        self._url = url

    async def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """(status, JSON body). Raises `aiohttp.ClientError` when the program goes away."""
        sent = {"Authorization": f"Bearer {self._key or self._program.key}", **(headers or {})}
        url = (self._url or self._program.url) + path
        async with self._session.request(method, url, json=body, headers=sent) as response:
            return response.status, await response.json()

    async def run(self, **more: Any) -> str:
        """A new run. Its id."""
        status, body = await self.call("POST", "/runs", {"workflowId": "sayso.external", **more})
        assert status == 201, body
        return str(body["runId"])

    async def ask(
        self, run: str, payload: dict[str, Any], *, node: str = "gate", notify: Any = ()
    ) -> dict[str, Any]:
        """Raise an interrupt, or get the one that was raised before. `notify` None: as configured,
        or where the conversation is."""
        body: dict[str, Any] = {"nodeId": node, "payload": payload}
        if notify is not None:
            body["notify"] = list(notify)
        path = f"/host/sayso/runs/{path_segment(run)}/interrupts"
        status, record = await self.call("POST", path, body)
        assert status in (200, 201), record
        return record

    async def look(self, record: dict[str, Any], wait: int = 0) -> dict[str, Any]:
        """The interrupt as it is now, or once it's no longer open (a long poll)."""
        path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}?wait={wait}"
        status, body = await self.call("GET", path)
        assert status == 200, body
        return body

    async def value(self, record: dict[str, Any]) -> Any:
        """The answer, by one long poll."""
        found = await self.look(record, wait=60)
        assert found["status"] == "resolved", found
        return found["resumeValue"]

    async def resolve(self, run: str, node: str, value: Any, **headers: str) -> Answer:
        path = f"/runs/{path_segment(run)}/interrupts/{node}"
        return await self.call("POST", path, {"resumeValue": value}, headers)

    async def events(self, run: str) -> list[dict[str, Any]]:
        """All events of a run."""
        path = f"/runs/{path_segment(run)}/events/poll?timeout=1"
        status, body = await self.call("GET", path)
        assert status == 200, body
        return list(body["events"])

    async def listed(self, status: str) -> set[str]:
        """The ids of all interrupts with a status."""
        found: set[str] = set()
        cursor = ""
        while True:
            path = f"/host/sayso/interrupts?limit=1000&status={status}{cursor}"
            code, body = await self.call("GET", path)
            assert code == 200, body
            found |= {one["interruptId"] for one in body["interrupts"]}
            if "nextCursor" not in body:
                return found
            cursor = f"&cursor={body['nextCursor']}"


def approval(key: str = "refund", **data: Any) -> dict[str, Any]:
    """An approval."""
    base = {"artifactId": "4711", "artifactType": "refund", "title": "Refund 120 EUR to Acme"}
    return {
        "kind": "approval",
        "key": key,
        "data": {**base, "actions": ["accept", "reject"], **data},
    }


def payment(order: str, key: str = "paid") -> dict[str, Any]:
    """A wait for the payment of an order."""
    correlation = {"orderId": order}
    data = {"eventType": "checkout.session.completed", "correlation": correlation}
    return {"kind": "external-event", "key": key, "data": data}


def conversation(step: str, key: str, **data: Any) -> dict[str, Any]:
    """A step of the conversation `plan`: start, exchange, close."""
    return {
        "kind": f"conversation.{step}",
        "key": key,
        "data": {"conversationId": "plan", **data},
    }
