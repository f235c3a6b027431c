"""A shared token in `Authorization: Bearer <token>`: for senders that can sign nothing.

It proves who sent, not what: whoever sees one request can send others. Behind TLS that is the
provider alone.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.verify import Arrival, SignatureRefused, header, one_secret, raw_bytes

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")


@dataclass(frozen=True, slots=True)
class BearerToken:
    """`verify.Proof` of a token alone (RFC 6750). It is never taken from the query."""

    min_key: int = 24

    @property
    def needs_url(self) -> bool:
        return False

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`. Digests are compared, so the length of a secret doesn't show either."""
        kind, _, token = header(arrival.headers, "authorization").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise SignatureRefused("missing")
        offered, matched = hashlib.sha256(raw_bytes(token.strip())).digest(), False
        for secret in secrets:
            matched |= hmac.compare_digest(hashlib.sha256(secret.encode()).digest(), offered)
        if not matched:
            raise SignatureRefused("mismatch")

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """See `verify.Proof`."""
        return Arrival({"Authorization": f"Bearer {one_secret(secrets)}"}, body, url)

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        if not _TOKEN.fullmatch(secret):
            raise ValueError("a bearer token has letters, digits and . _ ~ + / - only")
        return secret.encode()


BEARER: Final = Provider(BearerToken(), event_type="type")
