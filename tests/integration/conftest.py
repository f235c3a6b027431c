"""A gateway in this process, on a free port, with a data folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.slack import presses
from config.settings import Settings
from gateway.auth import Key, digest
from gateway.lifecycle import Gateway
from gateway.tracing import Tracing
from schemas.api_keys import SCOPES
from schemas.ids import path_segment
from tests.integration.event_checks import every_event_is_checked

__all__ = ["every_event_is_checked"]

PEOPLE = (
    {"id": "ada", "name": "Ada", "email": ["ada@example.com"], "groups": ["payments"]},
    {"id": "bob", "name": "Bob", "email": ["bob@example.com"]},
)


@dataclass
class Api:
    """The HTTP surface as a program uses it."""

    gateway: Gateway
    session: aiohttp.ClientSession
    key: str = "full-key-0123456789"

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any, Any]:
        """(status, JSON body, headers). `key` None sends no credential."""
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {key or self.key}"
        async with self.session.request(
            method, self.gateway.url + path, json=body, headers=sent
        ) as response:
            raw = await response.read()
            content = await response.json() if raw else None
            return response.status, content, response.headers

    async def run(self) -> str:
        _, body, _ = await self.call("POST", "/runs", {"workflowId": "sayso.external"})
        return path_segment(body["runId"])

    async def ask(
        self, run: str, payload: dict[str, Any] | None = None, node: str = "gate", **more: Any
    ) -> dict[str, Any]:
        body = {"nodeId": node, "payload": payload or approval(), "notify": [], **more}
        status, answer, _ = await self.call("POST", f"/host/sayso/runs/{run}/interrupts", body)
        assert status in (200, 201), answer
        return dict(answer)


def approval(key: str = "k", **data: Any) -> dict[str, Any]:
    """An approval payload."""
    base = {"artifactId": "a", "artifactType": "refund", "title": "Refund"}
    return {
        "kind": "approval",
        "key": key,
        "data": {**base, "actions": ["accept", "reject"], **data},
    }


@pytest.fixture
async def start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[..., Awaitable[Api]]]:
    """Starts gateways with given settings; stops them at the end."""
    for name in ("SAYSO_CONFIG", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"):
        monkeypatch.delenv(name, raising=False)
    # Tests look right after a click what became of it, however slow the machine is.
    monkeypatch.setattr(presses, "GRACE", 2.0)
    running: list[tuple[Gateway, aiohttp.ClientSession]] = []

    async def start(tracing: Tracing | None = None, **settings: Any) -> Api:
        chosen: dict[str, Any] = {
            "http": {"port": 0},
            "data_dir": tmp_path / f"data{len(running)}",
            "tenant": "acme",
            "people": PEOPLE,
        }
        gateway = Gateway(
            Settings(**{**chosen, **settings}),
            [
                Key("robot", digest("full-key-0123456789"), "acme", SCOPES),
                Key("reader", digest("read-key-0123456789"), "acme", frozenset({"runs:read"})),
                Key("alien", digest("alien-key-123456789"), "other", SCOPES),
            ],
            tracing,
        )
        await gateway.start()
        session = aiohttp.ClientSession()
        running.append((gateway, session))
        return Api(gateway, session)

    yield start
    for gateway, session in running:
        await session.close()
        await gateway.stop()


@pytest.fixture
async def api(start: Callable[..., Awaitable[Api]]) -> Api:
    return await start()
