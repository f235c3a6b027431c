"""Registering and managing outbound webhooks: who may, what is refused, and where secrets never show."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from schemas.ids import path_segment
from tests.fakes.webhook_receiver import Receiver
from tests.integration.conftest import Api

START = Callable[..., Awaitable[Api]]
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
KEY = {"Idempotency-Key": "0123456789abcdef0123456789"}
ALIEN = "alien-key-123456789"
UNKNOWN = "acme~2F0123456789abcdef0123"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def api(start: START, receiver: Receiver) -> Api:
    return await start(egress={"allow": [receiver.origin]})


def wanted(receiver: Receiver, **more: Any) -> dict[str, Any]:
    return {"url": receiver.url, "events": ["run.started"], **more}


async def test_the_members_that_both_readers_of_a_registration_need(
    api: Api, receiver: Receiver
) -> None:
    status, answer, headers = await api.call("POST", "/webhooks", wanted(receiver))
    assert status == 201
    assert set(answer) == {
        "webhookId", "subscriptionId", "url", "eventTypes", "createdAt", "secret",
    }  # fmt: skip
    assert answer["webhookId"] == answer["subscriptionId"]
    assert answer["webhookId"].startswith("acme/")
    assert answer["eventTypes"] == ["run.started"]
    assert headers["Cache-Control"] == "no-store"


async def test_a_secret_shows_once_and_a_given_one_never(api: Api, receiver: Receiver) -> None:
    given = "given-by-the-caller-0123"
    with capture_logs() as logs:
        _, made, _ = await api.call("POST", "/webhooks", wanted(receiver), headers=KEY)
        status, answer, _ = await api.call("POST", "/webhooks", wanted(receiver, secret=given))
        assert status == 201
        segment = await api.run()
        await receiver.wait(2)
        shown = [str(answer)]
        for path in (
            "/host/sayso/webhooks",
            f"/webhooks/{path_segment(made['webhookId'])}/dead-letters",
        ):
            shown.append(str((await api.call("GET", path))[1]))
        shown.append(str((await api.call("GET", f"/runs/{segment}/events/poll?timeout=1"))[1]))
    secret = made["secret"]
    for text in (*shown, str(logs), *(str(r.headers) + r.raw.decode() for r in receiver.received)):
        assert secret not in text
        assert given not in text
    assert "in-the-url" not in str(logs)


async def test_a_repeated_registration_gets_the_very_same_answer(
    api: Api, receiver: Receiver
) -> None:
    """Its secret included; yet what is remembered for the key has no secret in it."""
    first = await api.call("POST", "/webhooks", wanted(receiver), headers=KEY)
    again = await api.call("POST", "/webhooks", wanted(receiver), headers=KEY)
    assert first[:2] == again[:2]
    assert again[2]["OpenWOP-Idempotent-Replay"] == "true"
    _, listing, _ = await api.call("GET", "/host/sayso/webhooks")
    assert len(listing["webhooks"]) == 1
    status, refused, _ = await api.call(
        "POST", "/webhooks", wanted(receiver, tags=["other"]), headers=KEY
    )
    assert (status, refused["error"]) == (409, "idempotency_key_mismatch")
    database = sqlite3.connect(api.gateway.settings.data_dir / "sayso.db")
    replies = database.execute("SELECT body FROM replies").fetchall()
    database.close()
    assert any(b"webhookId" in body for (body,) in replies)
    assert all(first[1]["secret"].encode() not in body for (body,) in replies)


async def test_unregistering(api: Api, receiver: Receiver) -> None:
    _, made, _ = await api.call("POST", "/webhooks", wanted(receiver))
    path = f"/webhooks/{path_segment(made['webhookId'])}"
    assert (await api.call("DELETE", path, key=ALIEN))[:2][0] == 403
    status, body, headers = await api.call("DELETE", path, headers=KEY)
    assert (status, body) == (204, None)
    assert "OpenWOP-Idempotent-Replay" not in headers
    status, body, headers = await api.call("DELETE", path, headers=KEY)
    assert (status, body, headers["OpenWOP-Idempotent-Replay"]) == (204, None, "true")
    status, refused, _ = await api.call("DELETE", path)
    assert (status, refused["error"]) == (404, "not_found")
    assert (await api.call("DELETE", f"/webhooks/{made['webhookId'].replace('/', '%2F')}"))[
        0
    ] == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/webhooks"),
        ("DELETE", f"/webhooks/{UNKNOWN}"),
        ("GET", f"/webhooks/{UNKNOWN}/dead-letters"),
        ("POST", f"/webhooks/{UNKNOWN}/rotate-secret"),
        ("GET", "/host/sayso/webhooks"),
        ("POST", f"/host/sayso/webhooks/{UNKNOWN}/dead-letters/{UNKNOWN}/redrive"),
    ],
)
async def test_every_operation_needs_its_scope_and_its_tenant(
    api: Api, method: str, path: str
) -> None:
    assert (await api.call(method, path, {}, key=None))[0] == 401
    status, refused, _ = await api.call(method, path, {}, key="read-key-0123456789")
    assert (status, refused["details"]["scope"]) == (403, "webhooks:manage")
    if UNKNOWN in path:
        status, refused, _ = await api.call(method, path, {"secret": SECRET}, key=ALIEN)
        assert (status, refused["error"]) == (403, "id_tenant_mismatch")
        status, refused, _ = await api.call(method, path, {"secret": SECRET})
        assert (status, refused["error"]) == (404, "not_found")


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://10.1.2.3/x",
        "https://172.16.9.9/x",
        "https://192.168.0.10/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://[fd12::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "http://127.0.0.1:1/x",
        "ftp://hooks.example.com/x",
        "nonsense",
        "https://user:pass@hooks.example.com/x",
    ],
)
async def test_urls_that_are_refused(api: Api, url: str) -> None:
    body = {"url": url, "events": ["run.started"]}
    status, refused, _ = await api.call("POST", "/webhooks", body)
    assert (status, refused["error"]) == (400, "webhook_url_rejected")
    assert url not in refused["message"]


@pytest.mark.parametrize(
    "change",
    [
        {"url": None},
        {"url": 5},
        {"events": []},
        {"events": ["*"]},
        {"events": ["Run.Started"]},
        {"events": ["run.started\n"]},
        {"events": "run.started"},
        {"events": ["run.started"] * 101},
        {"secret": "short"},
        {"secret": None},
        {"secret": "x" * 257},
        {"tags": [""]},
        {"tenantId": "acme"},
        {"signatureAlgorithms": []},
        {"signatureAlgorithms": ["v2"]},
        {"signatureAlgorithms": ["standard-webhooks-1"], "secret": SECRET},
        {"signatureAlgorithms": ["v1", "standard-webhooks-1"]},
        {"signatureAlgorithms": ["v1", "standard-webhooks-1"], "secret": "plain-text-secret-x"},
    ],
)
async def test_bodies_that_are_refused(
    api: Api, receiver: Receiver, change: dict[str, Any]
) -> None:
    status, refused, _ = await api.call("POST", "/webhooks", {**wanted(receiver), **change})
    assert (status, refused["error"]) == (400, "validation_error")
    assert receiver.received == []
    for text in ("plain-text-secret-x", SECRET, "x" * 257):
        assert text not in str(refused)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=²", "cursor=x", "cursor=1.acme/../x"]
)
async def test_pages_that_are_refused(api: Api, receiver: Receiver, query: str) -> None:
    _, made, _ = await api.call("POST", "/webhooks", wanted(receiver))
    path = f"/webhooks/{path_segment(made['webhookId'])}/dead-letters?{query}"
    status, refused, _ = await api.call("GET", path)
    assert (status, refused["error"]) == (400, "validation_error")


async def test_without_an_exception_loopback_is_refused(start: START, receiver: Receiver) -> None:
    api = await start()
    status, refused, _ = await api.call("POST", "/webhooks", wanted(receiver))
    assert (status, refused["error"]) == (400, "webhook_url_rejected")
    assert receiver.received == []


async def test_conformance_mode_excepts_loopback(start: START, receiver: Receiver) -> None:
    api = await start(conformance_seed=True)
    status, _, _ = await api.call("POST", "/webhooks", wanted(receiver))
    assert status == 201
    await api.run()
    await receiver.wait(1)


@pytest.mark.parametrize("version", ["2.1", "2.45"])
async def test_discovery_says_what_is_served(start: START, version: str) -> None:
    api = await start(protocol={"version": version})
    _, found, _ = await api.call("GET", "/.well-known/openwop", key=None)
    record = found["webhooks"]
    assert "v1" in record["signatureAlgorithms"]
    assert record["retryPolicy"] == {"maxAttempts": 16, "backoff": "exponential"}
    assert ("secretRotation" in record) == (version == "2.45")
