"""What the tests of the providers share: secrets, and how a body is verified and mapped."""

from __future__ import annotations

import base64
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapters.webhooks.providers import PROVIDERS
from adapters.webhooks.receive import Received, receive_all
from adapters.webhooks.settings import HookSource
from adapters.webhooks.verify import SignatureRefused, verify

NOW = 1_764_000_000.0
BODY = b'{"id":"evt_1","type":"paid","note":"\xc3\xa9"}'
URL = "https://sayso.example.com/hooks/shop"


def lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def reason(
    name: str,
    secrets: tuple[str, ...],
    headers: dict[str, str],
    body: bytes,
    now: float = NOW,
    url: str = "",
) -> str:
    """What `verify` says: "" when it accepts."""
    try:
        verify(PROVIDERS[name].scheme, secrets, lower(headers), body, now, url)
    except SignatureRefused as refused:
        return refused.reason
    return ""


def build(provider: str, secret: str, **changes: Any) -> HookSource:
    return HookSource.build(id="s", provider=provider, secrets=[secret], **changes)


def events(hook: HookSource, body: bytes, headers: dict[str, str] | None = None) -> list[Received]:
    return receive_all(hook, lower(headers or {}), body)


HMAC_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
BT_SECRET = "pub_key:" + "p" * 32
EC_KEY = ec.generate_private_key(ec.SECP256R1())
EC_PUBLIC = base64.b64encode(
    EC_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
).decode()
BEARER = "a-token-of-thirty-two-characters"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate(key: Any, *, start: datetime | None = None, days: int = 365) -> str:
    start = start or datetime.fromtimestamp(NOW, UTC) - timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "messageverificationcerts")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .sign(key, SHA256())
    )
    return base64.b64encode(made.public_bytes(Encoding.DER)).decode()


PINNED = "8PT597110X687430LKGECATA:" + certificate(RSA_KEY)


def paypal(body: bytes, *, key: Any = RSA_KEY, webhook: str = "", **changes: str) -> dict[str, str]:
    sent = datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    webhook = webhook or PINNED.partition(":")[0]
    signed = f"t-1|{sent}|{webhook}|{zlib.crc32(body)}".encode()
    signature = key.sign(signed, padding.PKCS1v15(), SHA256())
    headers = {
        "paypal-transmission-id": "t-1",
        "paypal-transmission-time": sent,
        "paypal-transmission-sig": base64.b64encode(signature).decode(),
        "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-360caa42",
        "paypal-auth-algo": "SHA256withRSA",
    }
    return headers | {name.replace("_", "-"): value for name, value in changes.items()}
