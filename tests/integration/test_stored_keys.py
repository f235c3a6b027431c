"""API keys in the store: over HTTP, by the command line beside a running gateway, and at their end."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any

import pytest

from schemas.api_keys import SCOPES
from tests.integration.conftest import Api, approval

ALL = "/host/sayso/api-keys"


async def made(api: Api, name: str = "shop", scopes: list[str] | None = None, **more: Any) -> str:
    body = {"name": name, "scopes": scopes or sorted(SCOPES), **more}
    status, answer, headers = await api.call("POST", ALL, body)
    assert status == 201, answer
    assert headers["Cache-Control"] == "no-store"
    return str(answer["key"])


async def test_a_key_works_until_it_is_revoked(api: Api) -> None:
    key = await made(api)
    status, _, _ = await api.call("POST", "/runs", {"workflowId": "sayso.external"}, key=key)
    assert status == 201
    status, record, _ = await api.call("POST", f"{ALL}/shop/revoke")
    assert (status, record["status"]) == (200, "revoked")
    status, body, _ = await api.call("POST", "/runs", {"workflowId": "sayso.external"}, key=key)
    assert (status, body["error"]) == (401, "unauthenticated")
    again, record_again, _ = await api.call("POST", f"{ALL}/shop/revoke")
    assert (again, record_again["revokedAt"]) == (200, record["revokedAt"])


async def test_only_its_scopes_open_and_only_its_tenant(api: Api) -> None:
    key = await made(api, scopes=["runs:read"])
    run = await api.run()
    assert (await api.call("GET", f"/runs/{run}", key=key))[0] == 200
    status, body, _ = await api.call("POST", "/runs", {"workflowId": "sayso.external"}, key=key)
    assert (status, body["details"]) == (403, {"scope": "runs:create"})
    alien = "alien-key-123456789"
    _, listed, _ = await api.call("GET", ALL, key=alien)
    assert listed == {"apiKeys": []}
    assert (await api.call("POST", f"{ALL}/shop/revoke", key=alien))[0] == 404
    assert (await api.call("GET", f"/runs/{run}", key=key))[0] == 200


async def test_a_key_gives_no_scope_that_it_lacks(api: Api) -> None:
    key = await made(api, scopes=["keys:manage", "runs:read"])
    body = {"name": "more", "scopes": ["runs:read", "approvals:respond"]}
    status, answer, _ = await api.call("POST", ALL, body, key=key)
    assert (status, answer["details"]) == (403, {"scope": "approvals:respond"})
    status, _, _ = await api.call("POST", ALL, {**body, "scopes": ["runs:read"]}, key=key)
    assert status == 201


async def test_who_may_not_manage_keys_sees_none(api: Api) -> None:
    for method, path in (("POST", ALL), ("GET", ALL), ("POST", f"{ALL}/x/revoke")):
        status, body, _ = await api.call(method, path, {}, key="read-key-0123456789")
        assert (status, body["details"]) == (403, {"scope": "keys:manage"})
        assert (await api.call(method, path, {}, key=None))[0] == 401


@pytest.mark.parametrize("name", ["ada", "robot"])
async def test_a_key_is_nobody_else_by_its_name(api: Api, name: str) -> None:
    """Whoever may make keys must not become an approver by naming one like them."""
    key = await made(api, name)
    run = await api.run()
    await api.ask(run, approval(approversList=[name]))
    value = {"resumeValue": {"action": "accept"}}
    status, body, _ = await api.call("POST", f"/runs/{run}/interrupts/gate", value, key=key)
    assert (status, body["error"]) == (403, "forbidden")
    await api.ask(run, approval("k2", approversList=[f"key:{name}"]), node="second")
    status, _, _ = await api.call("POST", f"/runs/{run}/interrupts/second", value, key=key)
    assert status == 200


async def test_a_key_expires(api: Api) -> None:
    key = await made(api, expiresInSeconds=60)
    assert (await api.call("GET", ALL, key=key))[0] == 200
    path = api.gateway.settings.data_dir / "sayso.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE api_keys SET expires_at = 1")
        database.commit()
    status, body, _ = await api.call("GET", ALL, key=key)
    assert (status, "expired" in body["message"]) == (401, True)
    _, listed, _ = await api.call("GET", ALL)
    assert listed["apiKeys"][0]["status"] == "expired"


async def test_the_key_itself_is_kept_nowhere(api: Api) -> None:
    key = await made(api)
    await api.call("GET", ALL, key=key)
    _, listed, _ = await api.call("GET", ALL)
    [record] = listed["apiKeys"]
    assert key not in str(listed)
    assert hashlib.sha256(key.encode()).hexdigest() not in str(listed)
    assert (record["name"], record["status"]) == ("shop", "active")
    assert record["lastUsedOn"] == record["createdAt"][:10]
    await api.gateway.stop()
    for path in api.gateway.settings.data_dir.rglob("sayso.db*"):
        assert key.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "a b", "scopes": ["runs:read"]},
        {"name": "x" * 121, "scopes": ["runs:read"]},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["everything"]},
        {"name": "x", "scopes": ["runs:read"], "expiresInSeconds": 1},
        {"name": "x", "scopes": ["runs:read"], "expiresInSeconds": 10**12},
        {"name": "x", "scopes": ["runs:read"], "tenant": "other"},
    ],
)
async def test_a_wrong_wish_says_what_is_wrong(api: Api, body: dict[str, Any]) -> None:
    status, answer, _ = await api.call("POST", ALL, body)
    assert (status, answer["error"]) == (400, "validation_error")
    assert answer["details"]["errors"]


async def test_a_name_is_used_once(api: Api) -> None:
    await made(api)
    await api.call("POST", f"{ALL}/shop/revoke")
    status, answer, _ = await api.call("POST", ALL, {"name": "shop", "scopes": ["runs:read"]})
    assert (status, "taken" in answer["message"]) == (400, True)


@pytest.mark.parametrize("token", ["sayso_key_", "sayso_key_" + "A" * 43, "sayso_key_" + "é" * 43])
async def test_what_only_looks_like_a_key_opens_nothing(api: Api, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    status, body, _ = await api.call("GET", ALL, key=None, headers=headers)
    assert (status, body["error"]) == (401, "unauthenticated")


async def test_many_requests_of_one_key_note_its_use_once(
    start: Callable[..., Awaitable[Api]],
) -> None:
    api = await start()
    key = await made(api)
    answers = await asyncio.gather(*(api.call("GET", ALL, key=key) for _ in range(20)))
    assert {status for status, _, _ in answers} == {200}
    [stored] = await api.gateway.host.store.api_keys.of("acme")
    assert stored.used_day == api.gateway.host.clock() // 86_400_000
