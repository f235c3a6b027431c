"""Standard Webhooks 1.0 with Ed25519: `webhook-signature: v1a,<base64> …` beside `v1` items or alone.

The secret of a source is the sender's public key, `whpk_` and base64 of 32 bytes: nobody but the sender can
sign. The signed text and the freshness are those of the symmetric scheme.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import fit_id
from adapters.webhooks.verify import (
    MAX_SIGNATURES,
    Arrival,
    SignatureRefused,
    check_fresh,
    header,
)

_PREFIX: Final = "whpk_"
_ITEM: Final = "v1a,"
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Ed25519Signature:
    """`verify.Proof` of asymmetric Standard Webhooks. `tolerance` is in seconds, both ways."""

    tolerance: float = 300.0
    min_key: int = _KEY_BYTES

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`."""
        message_id = header(arrival.headers, "webhook-id")
        timestamp = header(arrival.headers, "webhook-timestamp")
        items = header(arrival.headers, "webhook-signature").split(" ")
        offered = [item.removeprefix(_ITEM) for item in items if item.startswith(_ITEM)]
        if not offered:
            raise SignatureRefused("missing")
        digits = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12
        if not digits or not fit_id(message_id) or len(offered) > MAX_SIGNATURES:
            raise SignatureRefused("malformed")
        signed = f"{message_id}.{timestamp}.".encode() + arrival.body
        keys = [Ed25519PublicKey.from_public_bytes(self.key_of(secret)) for secret in secrets]
        raw = [base64.b64decode(signature, validate=True) for signature in offered]
        if not any(_holds(key, signature, signed) for key in keys for signature in raw):
            raise SignatureRefused("mismatch")
        check_fresh(int(timestamp), now, self.tolerance)

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """Always raises `ValueError`."""
        raise ValueError(
            "only the sender has the private key that signs; have it send a test event"
        )

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        if not secret.startswith(_PREFIX):
            raise ValueError(
                f"a public key begins with {_PREFIX}; a whsec_ secret is for another one"
            )
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except ValueError:
            raise ValueError("the public key is not base64; copy it again") from None


def _holds(key: Ed25519PublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        key.verify(signature, signed)
    except InvalidSignature:
        return False
    return True


STANDARD_WEBHOOKS_V1A: Final = Provider(
    Ed25519Signature(),
    event_type="type",
    event_id="header('webhook-id')",
    headers=frozenset({"webhook-id"}),
)
