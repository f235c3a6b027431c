"""Providers that sign the body with HMAC, compared with their own SDKs and published vectors."""

from __future__ import annotations

import base64
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import gocardless_pro.webhooks
import pytest
import razorpay
import standardwebhooks
from Adyen.util import (
    is_valid_hmac_payload,
)

from adapters.webhooks.providers import sign
from tests.unit.hook_world import (
    BODY,
    NOW,
    build,
    events,
    lower,
    reason,
)


@pytest.mark.parametrize("name", ["standard_webhooks", "svix"])
def test_standard_webhooks_sdk_both_ways(name: str) -> None:
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    sdk = standardwebhooks.Webhook(secret)
    prefix = "svix" if name == "svix" else "webhook"
    moment = datetime.now(UTC)
    theirs = {
        f"{prefix}-id": "msg_1",
        f"{prefix}-timestamp": str(int(moment.timestamp())),
        f"{prefix}-signature": sdk.sign("msg_1", moment, BODY.decode()),
    }
    assert reason(name, (secret,), theirs, BODY, moment.timestamp()) == ""
    ours = sign(name, [secret], BODY, now=moment.timestamp(), message_id="msg_2")
    renamed = {n.replace(prefix, "webhook"): value for n, value in lower(ours).items()}
    assert sdk.verify(BODY, renamed) == json.loads(BODY)


def test_gocardless_sdk() -> None:
    body = b'{"events":[{"id":"EV1","resource_type":"payments","action":"confirmed"}]}'
    signature = sign("gocardless", ["gocardless-secret"], body, now=NOW)["Webhook-Signature"]
    [event] = gocardless_pro.webhooks.parse(body, "gocardless-secret", signature)
    assert event.id == "EV1"


def test_razorpay_sdk() -> None:
    signature = sign("razorpay", ["razorpay-secret"], BODY, now=NOW)["X-Razorpay-Signature"]
    sdk = razorpay.Client(auth=("key", "secret")).utility
    assert sdk.verify_webhook_signature(BODY.decode(), signature, "razorpay-secret")


def test_adyen_platform_sdk() -> None:
    key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
    signature = sign("adyen_platform", [key], BODY, now=NOW)["HmacSignature"]
    assert is_valid_hmac_payload(signature, key, BODY)


def test_square_published_vector() -> None:
    """From the tests of Square's own libraries."""
    body = (
        b'{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":'
        b'"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z",'
        b'"data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}'
    )
    headers = {"x-square-hmacsha256-signature": "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4="}
    url = "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9"
    secret = ("Ibxx_5AKakO-3qeNVR61Dw",)
    assert reason("square", secret, headers, body, url=url) == ""
    assert reason("square", secret, headers, body, url=url + "/") == "mismatch"
    assert reason("square", secret, headers, body, url=url.replace("https", "http")) == "mismatch"
    assert reason("square", secret, headers, body) == "malformed"


@pytest.mark.parametrize("prefix", ["", "sha256="])
def test_mollie_with_and_without_a_prefix(prefix: str) -> None:
    mac = hmac.digest(b"mollie-secret", BODY, "sha256").hex()
    headers = {"X-Mollie-Signature": prefix + mac}
    assert reason("mollie", ("mollie-secret",), headers, BODY) == ""
    assert reason("mollie", ("mollie-secret",), headers, BODY + b" ") == "mismatch"


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (NOW * 1000, ""),
        ((NOW - 60) * 1000, ""),
        ((NOW - 61) * 1000, "stale"),
        ((NOW + 61) * 1000, "future"),
        (None, "malformed"),
        ("1764000000000", "malformed"),
        (True, "malformed"),
    ],
)
def test_linear_is_as_old_as_its_body_says(stamp: Any, expected: str) -> None:
    body = json.dumps({"type": "Issue", "webhookTimestamp": stamp}).encode()
    mac = hmac.digest(b"linear-secret", body, "sha256").hex()
    fresh = {"Linear-Signature": mac, "Linear-Timestamp": str(int(NOW * 1000))}
    assert reason("linear", ("linear-secret",), fresh, body) == expected


def test_linear_retries_are_one_event() -> None:
    hook = build("linear", "linear-secret")
    first = {
        "type": "Issue", "action": "update", "createdAt": "2026-01-01T00:00:00Z",
        "data": {"id": "i1"}, "webhookTimestamp": 1,
    }  # fmt: skip
    [one] = events(hook, json.dumps(first).encode())
    [two] = events(hook, json.dumps(first | {"webhookTimestamp": 2}).encode())
    assert one.event.event_type == "Issue.update"
    assert one.event.event_id == two.event.event_id
