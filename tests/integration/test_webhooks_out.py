"""Outbound webhooks end to end: a gateway, and a receiver on loopback that its operator excepted."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from openwop_client.webhook_helpers import VerifyValid, verify_webhook_signature
from structlog.testing import capture_logs

from adapters.webhooks.retry import RetryPolicy
from adapters.webhooks.sign_out import standard_signature
from schemas.ids import path_segment
from tests.fakes.webhook_receiver import Received, Receiver
from tests.integration.conftest import Api

START = Callable[..., Awaitable[Api]]
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"n" * 32).decode()
BOTH = ["v1", "standard-webhooks-1"]
KEY = {"Idempotency-Key": "0123456789abcdef0123456789"}
IMPATIENT = RetryPolicy(first=1, longest=1, pause=1)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
async def api(start: START, receiver: Receiver) -> Api:
    return await start(egress={"allow": [receiver.origin]})


async def register(api: Api, receiver: Receiver, **more: Any) -> dict[str, Any]:
    body = {"url": receiver.url, "events": ["run.started", "run.completed"], **more}
    status, answer, _ = await api.call("POST", "/webhooks", body)
    assert status == 201, answer
    return dict(answer)


async def run(api: Api) -> str:
    """A run from its start to its end."""
    segment = await api.run()
    status, _, _ = await api.call("POST", f"/host/sayso/runs/{segment}/complete", {})
    assert status == 200
    return segment


async def letters(api: Api, webhook_id: str) -> list[dict[str, Any]]:
    await api.gateway.outbound.idle()
    path = f"/webhooks/{path_segment(webhook_id)}/dead-letters"
    status, page, _ = await api.call("GET", path)
    assert status == 200
    return list(page["deliveries"])


def verified(got: Received, secret: str) -> bool:
    verdict = verify_webhook_signature(
        secret,
        got.headers["OpenWOP-Signature"],
        got.headers["OpenWOP-Timestamp"],
        got.raw,
        algorithm_header=got.headers["OpenWOP-Signature-Algorithm"],
    )
    return isinstance(verdict, VerifyValid)


# --- delivery -------------------------------------------------------------------------------------


async def test_a_run_is_delivered_signed_in_order_and_verbatim(
    api: Api, receiver: Receiver
) -> None:
    hook = await register(api, receiver)
    segment = await run(api)
    got = await receiver.wait(2)
    _, page, _ = await api.call("GET", f"/runs/{segment}/events/poll?timeout=1")
    assert [g.event for g in got] == page["events"]
    assert [g.event["type"] for g in got] == ["run.started", "run.completed"]
    for one in got:
        assert set(one.body) == {"runId", "event"}
        assert one.body["runId"] == page["runId"]
        assert one.headers["OpenWOP-Webhook-Id"] == hook["webhookId"]
        assert one.headers["OpenWOP-Event-Type"] == one.event["type"]
        assert one.headers["Content-Type"] == "application/json"
        assert verified(one, hook["secret"])
        assert "webhook-id" not in one.headers


async def test_only_the_wanted_events_of_the_tenant_arrive(api: Api, receiver: Receiver) -> None:
    await register(api, receiver, events=["run.completed"], tags=["red"])
    await run(api)
    await api.call("POST", "/runs", {"workflowId": "sayso.external"}, key="alien-key-123456789")
    body = {"workflowId": "sayso.external", "tags": ["red", "blue"]}
    _, red, _ = await api.call("POST", "/runs", body)
    segment = path_segment(red["runId"])
    await api.call("POST", f"/host/sayso/runs/{segment}/complete", {})
    [got] = await receiver.wait(1)
    assert (got.body["runId"], got.event["type"]) == (red["runId"], "run.completed")


async def test_a_failure_is_tried_again_and_nothing_overtakes_it(
    api: Api, receiver: Receiver
) -> None:
    api.gateway.outbound.policy = IMPATIENT
    receiver.answers = [
        web.Response(status=500),
        web.Response(status=302, headers={"Location": "/"}),
    ]
    await register(api, receiver, signatureAlgorithms=BOTH, secret=SECRET)
    await run(api)
    got = await receiver.wait(4)
    assert [g.event["type"] for g in got] == ["run.started"] * 3 + ["run.completed"]
    assert len({g.raw for g in got[:3]}) == 1
    assert len({g.headers["webhook-id"] for g in got[:3]}) == 1
    assert got[3].headers["webhook-id"] != got[0].headers["webhook-id"]
    assert all(verified(g, SECRET) for g in got)


async def test_what_an_exhausted_delivery_leaves_is_read_and_redriven(
    api: Api, receiver: Receiver
) -> None:
    api.gateway.outbound.policy = RetryPolicy(attempts=2, first=1, longest=1, pause=1)
    receiver.answers = [web.Response(status=503), web.Response(status=500, text="internal detail")]
    hook = await register(api, receiver)
    await run(api)
    got = await receiver.wait(3)
    assert [g.event["type"] for g in got] == ["run.started"] * 2 + ["run.completed"]
    [letter] = await letters(api, hook["webhookId"])
    assert set(letter) == {
        "deliveryId", "webhookId", "runId", "eventId", "eventType", "attempts", "deadLetteredAt",
        "expiresAt", "reason", "lastStatus",
    }  # fmt: skip
    assert (letter["attempts"], letter["lastStatus"]) == (2, 500)
    assert letter["reason"] == "retries_exhausted"
    assert letter["eventId"] == got[0].event["eventId"]
    path = (
        f"/host/sayso/webhooks/{path_segment(hook['webhookId'])}/dead-letters/"
        f"{path_segment(letter['deliveryId'])}/redrive"
    )
    status, answer, _ = await api.call("POST", path, headers=KEY)
    assert (status, answer["deliveryId"]) == (200, letter["deliveryId"])
    again = (await receiver.wait(4))[3]
    assert again.event == got[0].event
    assert await letters(api, hook["webhookId"]) == []
    assert (await api.call("POST", path))[0] == 404
    assert (await api.call("POST", path, headers=KEY))[:2] == (200, answer)


async def test_an_endpoint_that_hangs_holds_up_no_other(start: START, receiver: Receiver) -> None:
    stuck = Receiver(held=asyncio.Event())
    await stuck.start()
    api = await start(egress={"allow": [receiver.origin, stuck.origin]})
    await register(api, stuck)
    await register(api, receiver)
    for _ in range(8):
        await run(api)
    assert len(await receiver.wait(16)) == 16
    assert 1 <= len(stuck.deliveries) <= 4
    await stuck.stop()


async def test_410_ends_a_subscription_until_a_letter_is_redriven(
    api: Api, receiver: Receiver
) -> None:
    receiver.answers = [web.Response(status=410)]
    hook = await register(api, receiver)
    with capture_logs() as logs:
        await run(api)
        await receiver.wait(1)
        await api.gateway.outbound.idle()
    assert any("webhook disabled" in entry["event"] for entry in logs)
    _, listing, _ = await api.call("GET", "/host/sayso/webhooks")
    assert listing["webhooks"][0]["status"] == "disabled"
    assert "410" in listing["webhooks"][0]["reason"]
    await run(api)
    dead = await letters(api, hook["webhookId"])
    assert {d["eventType"] for d in dead} <= {"run.started", "run.completed"}
    assert len(receiver.deliveries) == 1
    assert not any("broke off" in entry["event"] for entry in logs)


async def test_a_replay_is_not_delivered_and_a_branch_is(api: Api, receiver: Receiver) -> None:
    segment = await run(api)
    await register(api, receiver)
    for mode in ("replay", "branch"):
        body = {"mode": mode, "fromSeq": 1}
        status, forked, _ = await api.call("POST", f"/runs/{segment}:fork", body)
        assert status == 201, forked
    last = await run(api)
    got = await receiver.wait(3)
    assert {g.body["runId"] for g in got} == {forked["runId"], last.replace("~2F", "/")}


async def test_it_survives_a_restart(start: START, receiver: Receiver) -> None:
    receiver.held = asyncio.Event()
    api = await start(egress={"allow": [receiver.origin]})
    await register(api, receiver)
    await run(api)
    await receiver.wait(1)
    await api.gateway.stop()
    receiver.held.set()
    receiver.received.clear()
    await start(egress={"allow": [receiver.origin]}, data_dir=api.gateway.settings.data_dir)
    got = await receiver.wait(2)
    assert [g.event["type"] for g in got] == ["run.started", "run.completed"]


# --- standard webhooks ----------------------------------------------------------------------------


async def test_opting_in_verifies_the_endpoint_once(api: Api, receiver: Receiver) -> None:
    hook = await register(api, receiver, signatureAlgorithms=BOTH, secret=SECRET)
    [challenge] = receiver.received
    assert set(challenge.body) == {"type", "challenge"}
    assert challenge.body["type"] == "openwop.webhook.verification"
    assert challenge.headers["webhook-signature"] == standard_signature(
        SECRET, challenge.headers["webhook-id"], int(challenge.headers["webhook-timestamp"]),
        challenge.raw,
    )  # fmt: skip
    assert hook["signatureAlgorithms"] == BOTH
    assert "secret" not in hook


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=204),
        web.Response(status=500),
        web.Response(status=307, headers={"Location": "/elsewhere"}),
        web.json_response({"challenge": "another"}),
        web.json_response(["challenge"]),
        web.json_response({"challenge": None}),
        web.Response(body=b"x" * 200_000),
    ],
)
async def test_an_unverified_endpoint_is_not_subscribed(
    api: Api, receiver: Receiver, answer: web.Response
) -> None:
    receiver.verifies = False
    receiver.answers = [answer]
    body = {
        "url": receiver.url, "events": ["run.started"], "secret": SECRET,
        "signatureAlgorithms": BOTH,
    }  # fmt: skip
    status, refused, _ = await api.call("POST", "/webhooks", body)
    assert (status, refused["error"]) == (400, "webhook_endpoint_unverified")
    assert len(receiver.received) == 1
    _, listing, _ = await api.call("GET", "/host/sayso/webhooks")
    assert listing["webhooks"] == []


async def test_a_rotated_secret_signs_beside_the_new_one(api: Api, receiver: Receiver) -> None:
    hook = await register(api, receiver, signatureAlgorithms=BOTH, secret=SECRET)
    path = f"/webhooks/{path_segment(hook['webhookId'])}/rotate-secret"
    status, answer, _ = await api.call("POST", path, {"secret": OTHER}, headers=KEY)
    assert status == 200
    assert set(answer) == {"rotatedAt", "previousSecretExpiresAt"}
    _, again, headers = await api.call("POST", path, {"secret": OTHER}, headers=KEY)
    assert (again, headers["OpenWOP-Idempotent-Replay"]) == (answer, "true")
    await run(api)
    got = (await receiver.wait(1))[0]
    at = int(got.headers["webhook-timestamp"])
    assert got.headers["webhook-signature"].split(" ") == [
        standard_signature(secret, got.headers["webhook-id"], at, got.raw)
        for secret in (OTHER, SECRET)
    ]
    assert verified(got, SECRET)
    assert not verified(got, OTHER)


async def test_only_a_standard_subscription_rotates(api: Api, receiver: Receiver) -> None:
    hook = await register(api, receiver)
    path = f"/webhooks/{path_segment(hook['webhookId'])}/rotate-secret"
    status, refused, _ = await api.call("POST", path, {"secret": OTHER})
    assert (status, refused["error"]) == (400, "validation_error")
    standard = await register(api, receiver, signatureAlgorithms=BOTH, secret=SECRET)
    path = f"/webhooks/{path_segment(standard['webhookId'])}/rotate-secret"
    status, refused, _ = await api.call("POST", path, {"secret": "too-plain-for-this-scheme"})
    assert (status, refused["error"]) == (400, "validation_error")
    assert "too-plain" not in str(refused)
