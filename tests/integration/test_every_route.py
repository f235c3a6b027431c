"""Every route that is served: without a credential, with a wrong one, and with another tenant's."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from gateway.routes.compat.later import Later
from schemas.ids import path_segment
from tests.integration.conftest import Api

Start = Callable[..., Awaitable[Api]]

PUBLIC = {"/.well-known/openwop", "/openapi.json", "/healthz", "/readyz", "/metrics"}
OWN_PROOF = {"/a/{handle}", "/hooks/{sourceId}"}  # a link, a signature
EMPTY = {  # what a tenant with nothing in it is shown
    "/host/effect-seams", "/host/sayso/webhooks", "/host/sayso/interrupts", "/host/sayso/contracts",
    "/host/sayso/api-keys", "/host/sayso/hooks/events",
}  # fmt: skip
EVERYTHING: dict[str, Any] = {
    "hooks": {"gh": {"provider": "github", "secrets": ["a-secret-of-the-provider"]}},
    "symfonic": {"jwt_secret": "k1k2k3k4" * 5},
    "substructure": {"agents": {"agent": {"url": "https://worker.example.com/"}}},
}


async def status_of(
    api: Api, method: str, path: str, key: str | None, body: Any = None
) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    headers["X-Tenant-ID"] = "acme"
    url = api.gateway.url + path
    async with api.session.request(method, url, json=body, headers=headers) as response:
        return response.status, await response.read()


async def test_nothing_is_told_or_done_without_the_right_key(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[web.Application] = []

    class Runner(web.AppRunner):
        def __init__(self, app: web.Application, **options: Any) -> None:
            running.append(app)
            super().__init__(app, **options)

    monkeypatch.setattr(web, "AppRunner", Runner)
    api = await start(**EVERYTHING)
    run = await api.run()
    asked = await api.ask(run)
    other = "acme~2F" + "a" * 20
    fill = {
        "runId": run, "nodeId": "gate", "interruptId": path_segment(asked["interruptId"]),
        "webhookId": other, "deliveryId": other, "source": "gh", "eventId": "e", "sourceId": "gh",
        "token": "x", "pauseToken": "x", "requestId": "r", "keyName": "robot", "contractName": "c",
        "session_id": "s", "agent_id": "agent", "handle": "x",
    }  # fmt: skip
    router = running[0].router
    served = {(r.method, r.resource.canonical) for r in router.routes() if r.resource}
    for dialect in router.resources():
        if isinstance(dialect, Later):
            own = dialect._made().routes()  # what its first request makes
            served |= {(r.method, r.resource.canonical) for r in own if r.resource}
    assert len(served) > 50
    for method, pattern in sorted(served):
        if method == "OPTIONS" or pattern in PUBLIC | OWN_PROOF:
            continue
        path = re.sub(r"\{(\w+)[^}]*\}", lambda found: fill[found[1]], pattern)
        body: Any = {} if method == "POST" else None
        for key in (None, "no-key-of-this-gateway"):
            status, _ = await status_of(api, method, path, key, body)
            assert status == 401, (method, pattern, key, status)
        status, raw = await status_of(api, method, path, "alien-key-123456789", body)
        assert status in (400, 401, 403, 404, 422) or pattern in EMPTY, (method, pattern, status)
        assert b"acme" not in raw, (method, pattern, raw)
    status, read, _ = await api.call("GET", f"/host/sayso/interrupts/{fill['interruptId']}")
    assert (status, read["status"]) == (200, "open")
