"""PayPal: SHA256withRSA over transmission id, time, webhook id and the CRC-32 of the body.

PayPal names the certificate to check with in `PAYPAL-CERT-URL`, a header that anybody can write. It is
never fetched: the certificate is pinned in the settings, a source's secret being
`WEBHOOK_ID:CERTIFICATE` (DER, base64). Two secrets bridge the change to PayPal's next certificate.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.verify import Arrival, SignatureRefused, check_fresh, header

_ALGORITHM: Final = "SHA256withRSA"
_LONGEST_ID: Final = 128
_LEAST_BITS: Final = 2048


@dataclass(frozen=True, slots=True)
class PinnedCertificate:
    """`verify.Proof` of PayPal. `tolerance` in seconds: PayPal retries for three days, maybe
    under the first time. An older replay would be a duplicate, which its id tells for good."""

    tolerance: float = 345_600.0
    min_key: int = 256

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`."""
        headers = arrival.headers
        if header(headers, "paypal-auth-algo") != _ALGORITHM:
            raise SignatureRefused("malformed")
        _check_host(header(headers, "paypal-cert-url"))
        signature = base64.b64decode(header(headers, "paypal-transmission-sig"), validate=True)
        transmission = header(headers, "paypal-transmission-id")
        sent = header(headers, "paypal-transmission-time")
        if len(transmission) > _LONGEST_ID or "|" in transmission or "|" in sent:
            raise SignatureRefused("malformed")
        if not any(
            _holds(secret, signature, transmission, sent, arrival.body, now) for secret in secrets
        ):
            raise SignatureRefused("mismatch")
        moment = datetime.fromisoformat(sent)
        if moment.tzinfo is None:
            raise SignatureRefused("malformed")
        check_fresh(moment.timestamp(), now, self.tolerance)

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """Always raises `ValueError`."""
        raise ValueError("only PayPal has the private key that signs; send a test event from there")

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        try:
            webhook, certificate = _pinned(secret)
            key = certificate.public_key()
        except (ValueError, binascii.Error):
            raise ValueError(
                "give WEBHOOK_ID:CERTIFICATE, the certificate as DER in base64"
            ) from None
        if not webhook or not isinstance(key, RSAPublicKey) or key.key_size < _LEAST_BITS:
            raise ValueError("give WEBHOOK_ID:CERTIFICATE, of an RSA key with 2048 bits or more")
        return secret.encode()


def _pinned(secret: str) -> tuple[str, x509.Certificate]:
    webhook, _, encoded = secret.partition(":")
    return webhook, x509.load_der_x509_certificate(base64.b64decode(encoded, validate=True))


def _check_host(text: str) -> None:
    """A certificate from elsewhere is another one than the pinned: say so before any arithmetic."""
    url = urlsplit(text)
    host = url.hostname or ""
    if url.scheme != "https" or not (host == "paypal.com" or host.endswith(".paypal.com")):
        raise SignatureRefused("mismatch")


def _holds(
    secret: str, signature: bytes, transmission: str, sent: str, body: bytes, now: float
) -> bool:
    webhook, certificate = _pinned(secret)
    moment, key = datetime.fromtimestamp(now, UTC), certificate.public_key()
    if not certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc:
        return False
    signed = "|".join((transmission, sent, webhook, str(zlib.crc32(body)))).encode()
    assert isinstance(key, RSAPublicKey)  # `key_of` let no other pass
    try:
        key.verify(signature, signed, PKCS1v15(), SHA256())
    except InvalidSignature:
        return False
    return True


PAYPAL: Final = Provider(PinnedCertificate(), event_type="event_type", event_id="id")
