"""SendGrid's Inbound Parse with "POST the raw, full MIME message" and a security policy that signs.

ECDSA over the timestamp and the raw body, with the public key that the policy shows. A parse without such a
policy is signed by nobody and isn't taken.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from adapters.email.inbound.providers.provider import (
    Asked,
    Brought,
    NotProven,
    NotUsable,
    form_of,
    text_in,
)

TOLERANCE: Final = 3600.0
"""Seconds. It tries again for days, with a new timestamp or the first one: an old one is a copy, and
copies are known by their Message-ID too."""

_SIGNATURE: Final = "x-twilio-email-event-webhook-signature"
_TIMESTAMP: Final = "x-twilio-email-event-webhook-timestamp"


def public_key(text: str) -> ec.EllipticCurvePublicKey:
    """Raises `ValueError` for anything but a public key in base64 (DER)."""
    try:
        key = load_der_public_key(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError("sendgrid_key is no public key: copy the one of the security policy")
    return key


def receive(asked: Asked, key: ec.EllipticCurvePublicKey, limit: int) -> Brought:
    """Raises `NotProven`, `NotUsable`."""
    timestamp = asked.headers.get(_TIMESTAMP, "")
    if not (timestamp.isdecimal() and len(timestamp) < 13):
        raise NotProven("it has no timestamp")
    try:
        signature = base64.b64decode(asked.headers.get(_SIGNATURE, ""), validate=True)
        key.verify(signature, timestamp.encode() + asked.body, ec.ECDSA(SHA256()))
    except (InvalidSignature, binascii.Error, ValueError):
        raise NotProven("its signature is not of the policy's key") from None
    if abs(asked.now - float(timestamp)) > TOLERANCE:
        raise NotProven("its timestamp is too far from our clock")
    form = form_of(asked, limit)
    raw = form.get("email", b"")
    if not raw:
        raise NotUsable('it holds no raw mail: check "POST the raw, full MIME message"')
    try:
        envelope = json.loads(form.get("envelope", b"{}"))
    except (ValueError, RecursionError):
        envelope = {}
    members = envelope if isinstance(envelope, dict) else {}
    to = members.get("to")
    recipients = [each for each in to if isinstance(each, str)] if isinstance(to, list) else []
    sender = text_in(members, "from") if "from" in members else None
    return Brought(raw, tuple(recipients[:50]), sender)
