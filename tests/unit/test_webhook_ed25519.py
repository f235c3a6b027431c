"""Asymmetric Standard Webhooks: what the sender's private key signed, and nothing else."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapters.webhooks.providers import PROVIDERS
from adapters.webhooks.verify import SignatureRefused, check_secret, verify

SCHEME = PROVIDERS["standard_webhooks_v1a"].scheme
NOW = 1_800_000_000
BODY = b'{"type":"order.paid","data":{"orderId":"7"}}'
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def public(key: Ed25519PrivateKey) -> str:
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return "whpk_" + base64.b64encode(raw).decode()


def signed(
    key: Ed25519PrivateKey = PRIVATE, body: bytes = BODY, at: int = NOW, message_id: str = "msg_1"
) -> dict[str, str]:
    mac = base64.b64encode(key.sign(f"{message_id}.{at}.".encode() + body)).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1a,{mac}",
    }


def reason(headers: dict[str, str], body: bytes = BODY) -> str:
    with pytest.raises(SignatureRefused) as refused:
        verify(SCHEME, [public(PRIVATE)], headers, body, NOW)
    return refused.value.reason


def test_what_the_sender_signed_is_taken() -> None:
    verify(SCHEME, [public(PRIVATE)], signed(), BODY, NOW)


def test_while_a_key_is_replaced_either_one_counts() -> None:
    both = signed(OTHER)
    both["webhook-signature"] += " v1,c29tZXRoaW5n " + signed()["webhook-signature"]
    verify(SCHEME, [public(PRIVATE)], both, BODY, NOW)
    verify(SCHEME, [public(OTHER), public(PRIVATE)], signed(), BODY, NOW)


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        (signed(OTHER), BODY, "mismatch"),
        (signed(), BODY + b" ", "mismatch"),
        (signed(at=NOW - 301), BODY, "stale"),
        (signed(at=NOW + 301), BODY, "future"),
        (signed() | {"webhook-id": "msg_2"}, BODY, "mismatch"),
        (signed() | {"webhook-timestamp": str(NOW - 1)}, BODY, "mismatch"),
        (signed() | {"webhook-timestamp": "soon"}, BODY, "malformed"),
        (signed() | {"webhook-signature": "v1,c29tZXRoaW5n"}, BODY, "missing"),
        (signed() | {"webhook-signature": "v1a,not base64"}, BODY, "malformed"),
        (signed() | {"webhook-signature": " ".join(["v1a,eA=="] * 17)}, BODY, "malformed"),
        (signed(message_id="msg.1"), BODY, "malformed"),
        ({}, BODY, "missing"),
    ],
)
def test_everything_else_is_refused(headers: dict[str, str], body: bytes, expected: str) -> None:
    assert reason(headers, body) == expected


@pytest.mark.parametrize("secret", ["whsec_" + "A" * 43 + "=", "whpk_short", "whpk_ü", "whpk_QUJD"])
def test_what_is_no_public_key_is_found_at_the_start(secret: str) -> None:
    with pytest.raises(ValueError, match=r"whpk_|base64|bytes"):
        check_secret(SCHEME, secret)
