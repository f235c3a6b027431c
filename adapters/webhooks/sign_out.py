"""The headers of a delivery: who it is for, what it is, and its signatures. Pure.

Scheme `v1` is the protocol's: HMAC-SHA256 over `<timestamp>.<raw body>`, keyed by the bytes of the
secret's text. `standard-webhooks-1` adds the three headers of Standard Webhooks 1.0, keyed by what the
secret's text encodes (OpenWOP: webhooks). The two look alike (`v1`) and have nothing in common.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

V1: Final = "v1"
STANDARD: Final = "standard-webhooks-1"
ALGORITHMS: Final = (V1, STANDARD)
_PREFIX: Final = "whsec_"
_LEAST, _MOST = 24, 64


@dataclass(frozen=True, slots=True)
class Signing:
    """What a delivery is signed with. `previous` is the secret before a rotation, during its overlap."""

    webhook_id: str
    secret: str = field(repr=False)
    previous: str = field(default="", repr=False)
    standard: bool = False


def headers(
    signing: Signing, event_type: str, message_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """All headers that name and sign `body`. `timestamp` in Unix seconds, the time of this attempt.

    `message_id` is the same on every attempt. During a rotation `OpenWOP-Signature` stays on the secret
    before, and `webhook-signature` has an entry for each. Raises `ValueError` for a secret that
    `standard-webhooks-1` can't use.
    """
    found = {
        "OpenWOP-Webhook-Id": signing.webhook_id,
        "OpenWOP-Event-Type": event_type,
        "OpenWOP-Timestamp": str(timestamp),
        "OpenWOP-Signature": signature(signing.previous or signing.secret, timestamp, body),
        "OpenWOP-Signature-Algorithm": V1,
    }
    if signing.standard:
        keys = [s for s in (signing.secret, signing.previous) if s]
        found["webhook-id"] = message_id
        found["webhook-timestamp"] = str(timestamp)
        found["webhook-signature"] = " ".join(
            standard_signature(key, message_id, timestamp, body) for key in keys
        )
    return found


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`sha256=<lower hex>`: the value of `OpenWOP-Signature`."""
    mac = hmac.digest(secret.encode(), b"%d.%b" % (timestamp, body), "sha256")
    return f"sha256={mac.hex()}"


def standard_signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,<base64>`: one entry of `webhook-signature`. Raises `ValueError` as `key_of` does."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(key_of(secret), signed, "sha256")).decode()


def key_of(secret: str) -> bytes:
    """The key that a `whsec_` secret encodes. Raises `ValueError`, which never quotes it."""
    wrong = ValueError(
        f"a secret for {STANDARD} is '{_PREFIX}' and the base64 of {_LEAST} to {_MOST} random bytes"
    )
    if not secret.startswith(_PREFIX):
        raise wrong
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise wrong from None
    if not _LEAST <= len(key) <= _MOST:
        raise wrong
    return key


def new_secret() -> str:
    """A secret for a subscriber who brought none: good for both schemes."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
