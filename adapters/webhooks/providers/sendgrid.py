"""SendGrid's event webhook: ECDSA (P-256, SHA-256) over timestamp and body, which is a list of events.

`X-Twilio-Email-Event-Webhook-Signature: <base64 DER>`. The secret of a source is the verification key
that SendGrid shows, which is a public one: nobody but SendGrid can sign.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.strict_json import parse
from adapters.webhooks.verify import Arrival, SignatureRefused, check_fresh, header

_SIGNATURE: Final = "X-Twilio-Email-Event-Webhook-Signature"
_TIMESTAMP: Final = "X-Twilio-Email-Event-Webhook-Timestamp"
_SECONDS: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class EcdsaSignature:
    """`verify.Proof` of SendGrid. `tolerance` is in seconds: SendGrid retries for a day, maybe with the
    first time. An older replay would be a duplicate, which its ids tell for good."""

    tolerance: float = 172_800.0
    min_key: int = 64

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`."""
        signature = base64.b64decode(header(arrival.headers, _SIGNATURE), validate=True)
        timestamp = header(arrival.headers, _TIMESTAMP)
        if not _SECONDS.fullmatch(timestamp):
            raise SignatureRefused("malformed")
        signed = timestamp.encode() + arrival.body
        if not any(_holds(_public_key(secret), signature, signed) for secret in secrets):
            raise SignatureRefused("mismatch")
        check_fresh(int(timestamp), now, self.tolerance)

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """Always raises `ValueError`."""
        raise ValueError(
            "only SendGrid has the private key that signs; send a test event from there"
        )

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        try:
            _public_key(secret)
        except (ValueError, UnsupportedAlgorithm):
            raise ValueError(
                "not a P-256 public key in base64; copy the verification key"
            ) from None
        return secret.encode()


def _public_key(secret: str) -> ec.EllipticCurvePublicKey:
    try:
        key = load_der_public_key(base64.b64decode(secret, validate=True))
    except binascii.Error:
        raise ValueError("not base64") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("another kind of key")
    return key


def _holds(key: ec.EllipticCurvePublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        key.verify(signature, signed, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _events(_: Mapping[str, str], body: bytes) -> list[Any]:
    events = parse(body)
    if not isinstance(events, list):
        raise ValueError("is not a list of events")
    return events


SENDGRID: Final = Provider(
    EcdsaSignature(), event_type="event", event_id="sg_event_id", read=_events
)
