"""Twilio: `X-Twilio-Signature: <base64>` over the URL and the sorted parameters of the form.

A JSON body is not in the signed text: its SHA-256 is a parameter of the URL, which is. Without that
parameter the body is always taken as a form, whatever its content type says, so there is no body
that nobody signed. The key is the account's auth token (SHA-1), or a shared key (SHA-256), as
`X-Twilio-Webhooks-Signature-Settings` says; both need the secret, so the header needn't be signed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

from adapters.webhooks.providers.provider import FORM, JSON, Provider
from adapters.webhooks.strict_json import parse
from adapters.webhooks.verify import Arrival, SignatureRefused, header, one_secret, raw_bytes

_HEADER: Final = "X-Twilio-Signature"
_SETTINGS: Final = "x-twilio-webhooks-signature-settings"
_MOST_FIELDS: Final = 500


@dataclass(frozen=True, slots=True)
class TwilioSignature:
    """`verify.Proof` of Twilio."""

    min_key: int = 16

    @property
    def needs_url(self) -> bool:
        return True

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`."""
        offered = raw_bytes(header(arrival.headers, _HEADER))
        digest = _digest(arrival.headers.get(_SETTINGS, ""))
        base, matched = _base(arrival), False
        for secret in secrets:
            matched |= hmac.compare_digest(_mac(secret, base, digest), offered)
        if not matched:
            raise SignatureRefused("mismatch")

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """See `verify.Proof`. A body that is JSON has its digest put into the URL."""
        if not url:
            raise ValueError("the URL is signed too: give one")
        content = FORM
        if body.lstrip()[:1] in (b"{", b"["):
            content = "application/json"
            joint = "&" if "?" in url else "?"
            url = f"{url}{joint}bodySHA256={hashlib.sha256(body).hexdigest()}"
        mac = _mac(one_secret(secrets), _base(Arrival({}, body, url)), "sha1")
        return Arrival({_HEADER: mac.decode(), "Content-Type": content}, body, url)

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        return secret.encode()


def _digest(settings: str) -> str:
    for part in settings.split(","):
        name, _, value = part.partition("=")
        if name.strip() == "algorithm":
            return {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}[value.strip().upper()]
    return "sha1"


def _base(arrival: Arrival) -> bytes:
    """The signed text. Raises `SignatureRefused` for a body that isn't the one of the URL's digest."""
    if not arrival.url:
        raise ValueError("no URL")
    digests = parse_qs(urlsplit(arrival.url).query).get("bodySHA256", [])
    if not digests:
        fields = _fields(arrival.body)
        return (
            arrival.url + "".join(f"{k}{v}" for k in sorted(fields) for v in fields[k])
        ).encode()
    own = hashlib.sha256(arrival.body).hexdigest().encode()
    if len(digests) != 1 or not hmac.compare_digest(own, raw_bytes(digests[0])):
        raise SignatureRefused("mismatch")
    return arrival.url.encode()


def _mac(secret: str, base: bytes, digest: str) -> bytes:
    return base64.b64encode(hmac.digest(secret.encode(), base, digest))


def _fields(body: bytes) -> dict[str, list[str]]:
    """The form's values by name; each value of a name once, sorted, as they are signed."""
    fields: dict[str, set[str]] = defaultdict(set)
    pairs = parse_qsl(
        body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
    )
    for name, value in pairs:
        if not name:
            raise ValueError("a field without a name")  # it would add nothing to what is signed
        fields[name].add(value)
    return {name: sorted(values) for name, values in fields.items()}


def _read(headers: Mapping[str, str], body: bytes) -> list[Any]:
    if "json" in headers.get("content-type", ""):
        return [parse(body)]
    try:
        fields = _fields(body)
    except ValueError:
        raise ValueError("not a form in UTF-8") from None
    return [{name: v[0] if len(v) == 1 else v for name, v in fields.items()}]


TWILIO: Final = Provider(
    TwilioSignature(),
    headers=frozenset({"i-twilio-idempotency-token"}),
    read=_read,
    media=(FORM, JSON),
)
