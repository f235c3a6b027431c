"""Webhook signatures: one verifier, and a table row (`Scheme`) for each provider.

Theory of operation. A provider keys an HMAC with a secret that it shares with us and computes it
over some base text: always the raw body, often with a timestamp and a message id before it. It
sends the result in a header, alone (`sha256=…`), or as one of several items (`t=1,v1=…,v1=…`). What
differs from provider to provider is data, so it is data here; what must never differ (several
secrets while one is being rotated, constant-time comparison, freshness in both directions, refusal
on any surprise) is written once, in `verify`.

Pure: the time is an argument, nothing is read or written.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Reason = Literal["missing", "malformed", "mismatch", "stale", "future"]

MAX_HEADER: Final = 4096
"""Characters of a signature header. The longest honest one, many signatures in a rotation, has
800."""
MAX_SIGNATURES: Final = 16
MAX_MESSAGE_ID: Final = 256

_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_SLOT: Final = re.compile(rb"\{(id|timestamp|body)\}")


class SignatureRefused(Exception):
    """The request isn't known to come from its provider, or isn't fresh.

    `reason` is one of a few fixed words, fit for a counter: it never holds anything of the request.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Scheme:
    """How one provider signs.

    `header` holds the signatures: items divided by `separator`, each a key and a value divided by
    `assign`; only items whose key is `signature_key` count. An empty `signature_key` means that the
    whole header is the one signature. The timestamp (Unix seconds) is the item `timestamp_key`, or
    the header `timestamp_header`; a scheme with neither has no notion of freshness. `base` is the
    signed text with the slots `{id}`, `{timestamp}` and `{body}`. `key` says how the secret becomes
    key bytes, after `key_prefix` has been taken off. `tolerance` is in seconds, both ways.
    """

    header: str
    separator: str = ","
    assign: str = "="
    signature_key: str = ""
    timestamp_key: str = ""
    timestamp_header: str = ""
    id_header: str = ""
    base: str = "{body}"
    key: Literal["text", "base64", "hex"] = "text"
    key_prefix: str = ""
    min_key: int = 8  # bytes: below this a secret is a slip of the pen, not a secret
    digest: Literal["sha1", "sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    tolerance: float = 300.0

    def __post_init__(self) -> None:
        """Raise `ValueError` for a scheme that would trust what nobody signed, or verify
        nothing."""
        unsigned = [
            slot
            for slot, used in (("body", True), ("timestamp", self.timed), ("id", self.id_header))
            if used and f"{{{slot}}}" not in self.base
        ]
        if unsigned:
            raise ValueError(f"the signed text leaves out {{{unsigned[0]}}}: {self.base!r}")
        if self.timestamp_key and not self.signature_key:
            raise ValueError("a header with a timestamp item needs a key for its signatures")
        if self.timed and not 0 < self.tolerance <= 86_400:
            raise ValueError("the tolerance is in seconds, more than 0 and at most 86400")

    @property
    def timed(self) -> bool:
        """Whether a signature of this scheme grows old."""
        return bool(self.timestamp_key or self.timestamp_header)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the headers say: the signatures offered, and the texts that were signed with the
    body."""

    signatures: tuple[bytes, ...]
    timestamp: str = ""
    message_id: str = ""


def verify(
    scheme: Scheme, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: float
) -> None:
    """Return if one of `secrets` signed exactly this `body` recently enough; raise otherwise.

    `headers` has lower-case names; `now` is Unix seconds. Raises `SignatureRefused` and nothing
    else: whatever goes wrong on the way, with input that a stranger chose, is a refusal. Every
    secret is tried against every signature, matched or not, so the time taken says nothing.
    """
    try:
        stamp = _read(scheme, headers)
        matched = False
        for secret in secrets:
            expected = _mac(scheme, secret, stamp, body)
            for offered in stamp.signatures:
                matched |= hmac.compare_digest(expected, offered)
        if not matched:
            raise SignatureRefused("mismatch")
        if scheme.timed:
            _check_fresh(int(stamp.timestamp), now, scheme.tolerance)
    except SignatureRefused:
        raise
    except Exception:
        # Fail closed. The cause is left out: its text may quote the request.
        raise SignatureRefused("malformed") from None


def sign(
    scheme: Scheme, secrets: Sequence[str], body: bytes, *, now: float, message_id: str = ""
) -> dict[str, str]:
    """The headers with which the provider would send `body`: the inverse of `verify`.

    With several `secrets` all of them sign, as a provider does while one replaces the other. `now`
    is Unix seconds. Raises `ValueError` for a secret that `check_secret` refuses, for no secret,
    for several where the header has room for one, and for an id that the scheme can't carry.
    """
    if not secrets or (len(secrets) > 1 and not scheme.signature_key):
        raise ValueError("give one secret; several only where the header can list signatures")
    if scheme.id_header and not _fit_id(message_id):
        raise ValueError("this scheme signs a message id: give 1 to 256 visible ASCII characters")
    timestamp = str(int(now)) if scheme.timed else ""
    stamp = _Stamp((), timestamp, message_id if scheme.id_header else "")
    items = [f"{scheme.timestamp_key}{scheme.assign}{timestamp}"] if scheme.timestamp_key else []
    for secret in secrets:
        check_secret(scheme, secret)
        mac = _mac(scheme, secret, stamp, body).decode("ascii")
        items.append(f"{scheme.signature_key}{scheme.assign}{mac}" if scheme.signature_key else mac)
    headers = {scheme.header: scheme.separator.join(items)}
    if scheme.timestamp_header:
        headers[scheme.timestamp_header] = timestamp
    if scheme.id_header:
        headers[scheme.id_header] = message_id
    return headers


def check_secret(scheme: Scheme, secret: str) -> None:
    """Raise `ValueError`, with a sentence that doesn't quote it, for a secret that can never
    verify."""
    if secret != secret.strip() or not secret:
        raise ValueError("the secret is empty or has blanks around it; copy it again")
    if scheme.key_prefix and "," in secret:
        raise ValueError("this looks like a signature header; give the endpoint's signing secret")
    try:
        key = _key(scheme, secret)
    except ValueError:
        raise ValueError(f"the secret is not usable as {scheme.key}; copy it again") from None
    if len(key) < scheme.min_key:
        raise ValueError(f"the secret has less than {scheme.min_key} bytes; make a longer one")


def _read(scheme: Scheme, headers: Mapping[str, str]) -> _Stamp:
    value = _header(headers, scheme.header)
    if scheme.signature_key or scheme.timestamp_key:
        # An item without `assign` has no key that anybody asks for, so it's passed over.
        items = [item.strip().partition(scheme.assign) for item in value.split(scheme.separator)]
        signatures = [v for k, _, v in items if k == scheme.signature_key and v]
        timestamps = [v for k, _, v in items if k == scheme.timestamp_key]
    else:
        signatures, timestamps = [value], []
    if scheme.timestamp_header:
        timestamps = [_header(headers, scheme.timestamp_header)]
    if not signatures:
        raise SignatureRefused("missing")
    if len(signatures) > MAX_SIGNATURES:
        raise SignatureRefused("malformed")
    if scheme.timed and (len(timestamps) != 1 or not _TIMESTAMP.fullmatch(timestamps[0])):
        raise SignatureRefused("malformed")
    message_id = _header(headers, scheme.id_header) if scheme.id_header else ""
    if scheme.id_header and not _fit_id(message_id):
        raise SignatureRefused("malformed")
    # Bytes, because comparing two str with a character beyond ASCII in them raises.
    offered = tuple(signature.encode("utf-8", "surrogateescape") for signature in signatures)
    return _Stamp(offered, timestamps[0] if scheme.timed else "", message_id)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name.lower(), "").strip()
    if not value:
        raise SignatureRefused("missing")
    if len(value) > MAX_HEADER:
        raise SignatureRefused("malformed")
    return value


def _fit_id(message_id: str) -> bool:
    # A dot would let one part of `id.timestamp.body` pass for another (Standard Webhooks 1.0).
    visible = message_id.isascii() and message_id.isprintable() and " " not in message_id
    return 0 < len(message_id) <= MAX_MESSAGE_ID and visible and "." not in message_id


def _check_fresh(timestamp: int, now: float, tolerance: float) -> None:
    if timestamp < now - tolerance:
        raise SignatureRefused("stale")
    if timestamp > now + tolerance:
        raise SignatureRefused("future")


def _key(scheme: Scheme, secret: str) -> bytes:
    text = secret.removeprefix(scheme.key_prefix)
    match scheme.key:
        case "base64":
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        case "hex":
            key = bytes.fromhex(text)
        case "text":
            key = text.encode("utf-8")
    if not key:
        raise ValueError("empty")  # HMAC takes an empty key, and so anybody could sign
    return key


def _mac(scheme: Scheme, secret: str, stamp: _Stamp, body: bytes) -> bytes:
    slots = {
        b"id": stamp.message_id.encode(),
        b"timestamp": stamp.timestamp.encode(),
        b"body": body,
    }
    base = _SLOT.sub(
        lambda slot: slots[slot[1]], scheme.base.encode()
    )  # one pass: no slot in a slot
    digest = hmac.new(_key(scheme, secret), base, getattr(hashlib, scheme.digest)).digest()
    return digest.hex().encode() if scheme.encoding == "hex" else base64.b64encode(digest)
