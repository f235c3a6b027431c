"""Amazon SNS messages: whose they are, and the two requests that checking them takes.

A valid signature only proves that some topic of AWS sent it, so the topic is compared first, with a list. The
certificate is fetched from the one host that the topic's region names, whatever the message says; a URL in a
message is compared with that and never simply followed.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm
from cryptography.x509 import load_pem_x509_certificate

from adapters.email.inbound.providers.provider import Asked, NotProven, text_in

Fetch = Callable[[str], Awaitable[bytes]]
"""GET of an https URL: at most some KiB, no redirect, within seconds. Raises `OSError` or the like."""

TOLERANCE: Final = 24 * 3600.0
"""Seconds. SNS tries again for as long as the topic's policy says; copies are known by Message-ID."""

_REGION: Final = re.compile(r"arn:aws[a-z-]*:sns:([a-z0-9-]{4,30}):\d{12}:\S+")
_CERTIFICATE: Final = re.compile(r"/SimpleNotificationService-[0-9a-f]{8,64}\.pem")
_SIGNED: Final = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        "Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SnsMessage:
    """A message that is proven. `subscribe` is the URL to open for a confirmation, else ""."""

    text: str
    subscribe: str = ""


class SnsVerifier:
    """Keeps the certificates that it fetched: there are a few a region."""

    def __init__(self, topics: Sequence[str], fetch: Fetch) -> None:
        self._topics = frozenset(topics)
        self._fetch = fetch
        self._keys: dict[str, RSAPublicKey] = {}

    async def verify(self, asked: Asked) -> SnsMessage:
        """Raises `NotProven`."""
        members = _members(asked.body)
        kind, topic = text_in(members, "Type"), text_in(members, "TopicArn")
        if topic not in self._topics or kind not in _SIGNED:
            raise NotProven("it is of a topic that is not listed")
        region = _REGION.fullmatch(topic)
        if region is None:
            raise NotProven("its topic names no region")
        suffix = ".cn" if topic.startswith("arn:aws-cn:") else ""
        host = f"sns.{region[1]}.amazonaws.com{suffix}"
        key = await self._key(text_in(members, "SigningCertURL"), host)
        _check(members, kind, key)
        if abs(asked.now - _time(text_in(members, "Timestamp"))) > TOLERANCE:
            raise NotProven("its timestamp is too far from our clock")
        if kind == "Notification":
            return SnsMessage(text_in(members, "Message"))
        url = text_in(members, "SubscribeURL")
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.netloc != host or parts.path not in ("", "/"):
            raise NotProven("its confirmation leads elsewhere")
        return SnsMessage("", url)

    async def _key(self, url: str, host: str) -> RSAPublicKey:
        if url in self._keys:
            return self._keys[url]
        try:
            parts = urlsplit(url)
        except ValueError:
            raise NotProven("its certificate is nowhere") from None
        plain = parts.scheme == "https" and parts.netloc == host and not parts.query
        if not plain or not _CERTIFICATE.fullmatch(parts.path):
            raise NotProven("its certificate is not where SNS keeps them")
        try:
            key = load_pem_x509_certificate(await self._fetch(url)).public_key()
        except Exception as error:
            raise NotProven(f"its certificate can't be had: {type(error).__name__}") from None
        if not isinstance(key, RSAPublicKey):
            raise NotProven("its certificate is of another kind")
        if len(self._keys) < 20:
            self._keys[url] = key
        return key


def _members(body: bytes) -> dict[str, Any]:
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        raise NotProven("it is no JSON") from None
    if not isinstance(members, dict):
        raise NotProven("it is no JSON object")
    return members


def _check(members: dict[str, Any], kind: str, key: RSAPublicKey) -> None:
    version = text_in(members, "SignatureVersion")
    # Version 1 is RSA with SHA-1, and still what a topic uses unless it is told otherwise.
    digest: HashAlgorithm = SHA256() if version == "2" else SHA1()  # noqa: S303
    if version not in ("1", "2"):
        raise NotProven("its signature is of a version that is not known")
    signed = "".join(
        f"{name}\n{members[name]}\n" for name in _SIGNED[kind] if isinstance(members.get(name), str)
    )
    try:
        signature = base64.b64decode(text_in(members, "Signature"), validate=True)
        key.verify(signature, signed.encode(), PKCS1v15(), digest)
    except (InvalidSignature, binascii.Error, ValueError):
        raise NotProven("its signature does not hold") from None


def _time(text: str) -> float:
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
