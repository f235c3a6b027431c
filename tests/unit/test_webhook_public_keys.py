"""SendGrid and PayPal: what their private keys sign, and nothing else, holds."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from tests.unit.hook_world import (
    BODY,
    EC_KEY,
    EC_PUBLIC,
    NOW,
    PINNED,
    RSA_KEY,
    build,
    certificate,
    events,
    paypal,
    reason,
)

# --- SendGrid -------------------------------------------------------------------------------------


def sendgrid(body: bytes, now: float = NOW, key: Any = EC_KEY) -> dict[str, str]:
    stamp = str(int(now))
    mac = key.sign(stamp.encode() + body, ec.ECDSA(SHA256()))
    return {
        "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(mac).decode(),
        "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
    }


def test_sendgrid_published_vector() -> None:
    """From the tests of SendGrid's own libraries."""
    key = (
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw"
        "+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
    )
    headers = {
        "X-Twilio-Email-Event-Webhook-Signature": "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiE"
        "AyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
        "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
    }
    body = (
        b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":'
        b'"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kof'
        b'Sm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":'
        b'"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
    )
    assert reason("sendgrid", (key,), headers, body, 1600112502) == ""
    assert reason("sendgrid", (key,), headers, body.strip(), 1600112502) == "mismatch"


def test_sendgrid_mischief() -> None:
    body = b'[{"event":"open","sg_event_id":"a"},{"event":"click","sg_event_id":"b"}]'
    good = sendgrid(body)
    assert reason("sendgrid", (EC_PUBLIC,), good, body) == ""
    assert reason("sendgrid", (EC_PUBLIC,), good, body + b" ") == "mismatch"
    assert reason("sendgrid", (EC_PUBLIC,), good, body, NOW + 172_801) == "stale"
    assert reason("sendgrid", (EC_PUBLIC,), good, body, NOW - 172_801) == "future"
    stranger = ec.generate_private_key(ec.SECP256R1())
    assert reason("sendgrid", (EC_PUBLIC,), sendgrid(body, key=stranger), body) == "mismatch"
    for name, value, expected in (
        ("X-Twilio-Email-Event-Webhook-Timestamp", str(int(NOW) + 1), "mismatch"),
        ("X-Twilio-Email-Event-Webhook-Timestamp", "-1", "malformed"),
        ("X-Twilio-Email-Event-Webhook-Signature", "é", "malformed"),
        ("X-Twilio-Email-Event-Webhook-Signature", "AAAA", "mismatch"),
        ("X-Twilio-Email-Event-Webhook-Signature", "", "missing"),
    ):
        assert reason("sendgrid", (EC_PUBLIC,), good | {name: value}, body) == expected
    found = events(build("sendgrid", EC_PUBLIC), body)
    assert [(e.event.event_type, e.event.event_id) for e in found] == [
        ("open", "a"),
        ("click", "b"),
    ]


# --- PayPal ---------------------------------------------------------------------------------------


def test_paypal_holds_only_with_the_pinned_certificate() -> None:
    assert reason("paypal", (PINNED,), paypal(BODY), BODY) == ""
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert reason("paypal", (PINNED,), paypal(BODY, key=stranger), BODY) == "mismatch"
    both = ("8PT597110X687430LKGECATA:" + certificate(stranger), PINNED)
    assert reason("paypal", both, paypal(BODY), BODY) == ""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"webhook": "ANOTHER"}, "mismatch"),
        ({"paypal_transmission_id": "t-2"}, "mismatch"),
        ({"paypal_cert_url": "https://paypal.com.evil.example/cert"}, "mismatch"),
        ({"paypal_cert_url": "https://evilpaypal.com/cert"}, "mismatch"),
        ({"paypal_cert_url": "http://api.paypal.com/cert"}, "mismatch"),
        ({"paypal_cert_url": "https://api.paypal.com@evil.example/"}, "mismatch"),
        ({"paypal_auth_algo": "none"}, "malformed"),
        ({"paypal_transmission_sig": "####"}, "malformed"),
        ({"paypal_transmission_id": "t-1|x"}, "malformed"),
        ({"paypal_transmission_time": ""}, "missing"),
    ],
)
def test_paypal_mischief(changes: dict[str, str], expected: str) -> None:
    assert reason("paypal", (PINNED,), paypal(BODY, **changes), BODY) == expected


def test_paypal_body_age_and_expired_certificate() -> None:
    assert reason("paypal", (PINNED,), paypal(BODY), BODY + b" ") == "mismatch"
    assert reason("paypal", (PINNED,), paypal(BODY), BODY, NOW + 345_601) == "stale"
    old = certificate(RSA_KEY, start=datetime.fromtimestamp(NOW, UTC) - timedelta(days=9), days=8)
    assert reason("paypal", ("8PT597110X687430LKGECATA:" + old,), paypal(BODY), BODY) == "mismatch"
