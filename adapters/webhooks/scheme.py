"""HMAC over the raw body: one verifier, and a table row (`Scheme`) for each provider.

Theory of operation. A provider keys an HMAC with a secret that it shares with us and computes it
over some base text: always the raw body, often with a timestamp and a message id before it, rarely
with the URL. It sends the result in a header, alone (`sha256=…`), or as one of several items
(`t=1,v1=…,v1=…`). What differs from provider to provider is data, so it is data here; what must
never differ (several secrets while one is being rotated, constant-time comparison, freshness in both
directions) is written once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from adapters.webhooks.strict_json import parse
from adapters.webhooks.verify import (
    MAX_SIGNATURES,
    Arrival,
    SignatureRefused,
    check_fresh,
    header,
    one_secret,
    raw_bytes,
)

MAX_MESSAGE_ID: Final = 256
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_SLOT: Final = re.compile(rb"\{(id|timestamp|url|body)\}")


@dataclass(frozen=True, slots=True)
class Scheme:
    """How one provider signs.

    `header` holds the signatures: items divided by `separator`, each a key and a value divided by
    `assign`; only items whose key is `signature_key` count. An empty `signature_key` means that the
    whole header is the one signature, with `optional_prefix` before it or not. The timestamp (Unix
    seconds) is the item `timestamp_key`, or the header `timestamp_header`, or (in milliseconds) the
    member `time_member` of the body; a scheme with none has no notion of freshness. `base` is the
    signed text with the slots `{id}`, `{timestamp}`, `{url}` and `{body}`. `key` says how the
    secret becomes key bytes, after `key_prefix` has been taken off. `tolerance` is in seconds, both
    ways.
    """

    header: str
    separator: str = ","
    assign: str = "="
    signature_key: str = ""
    optional_prefix: str = ""
    timestamp_key: str = ""
    timestamp_header: str = ""
    time_member: str = ""
    id_header: str = ""
    base: str = "{body}"
    key: Literal["text", "base64", "hex"] = "text"
    key_prefix: str = ""
    min_key: int = 8
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
        if (self.timed or self.time_member) and not 0 < self.tolerance <= 86_400:
            raise ValueError("the tolerance is in seconds, more than 0 and at most 86400")

    @property
    def timed(self) -> bool:
        """Whether the headers of this scheme grow old."""
        return bool(self.timestamp_key or self.timestamp_header)

    @property
    def needs_url(self) -> bool:
        return "{url}" in self.base

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """See `verify.Proof`. Every secret is tried against every signature, matched or not, so the
        time taken says nothing."""
        stamp = _read(self, arrival.headers)
        matched = False
        for secret in secrets:
            expected = _mac(self, secret, stamp, arrival)
            for offered in stamp.signatures:
                matched |= hmac.compare_digest(expected, offered)
        if not matched:
            raise SignatureRefused("mismatch")
        if self.timed:
            check_fresh(int(stamp.timestamp), now, self.tolerance)
        if self.time_member:
            # Parsed only now that the body is known to be the provider's.
            check_fresh(_member_time(self, parse(arrival.body)), now, self.tolerance)

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """See `verify.Proof`. A sample whose own time is over is given a new one."""
        if not self.signature_key or not secrets:
            one_secret(secrets)
        if self.id_header and not fit_id(message_id):
            raise ValueError(
                "this scheme signs a message id: give 1 to 256 visible ASCII characters"
            )
        if self.time_member:
            body = _renewed(self, body, now)
        timestamp = str(int(now)) if self.timed else ""
        stamp = _Stamp((), timestamp, message_id if self.id_header else "")
        items = [f"{self.timestamp_key}{self.assign}{timestamp}"] if self.timestamp_key else []
        for secret in secrets:
            mac = _mac(self, secret, stamp, Arrival({}, body, url)).decode("ascii")
            items.append(f"{self.signature_key}{self.assign}{mac}" if self.signature_key else mac)
        headers = {self.header: self.separator.join(items)}
        if self.timestamp_header:
            headers[self.timestamp_header] = timestamp
        if self.id_header:
            headers[self.id_header] = message_id
        return Arrival(headers, body, url)

    def key_of(self, secret: str) -> bytes:
        """See `verify.Proof`."""
        if self.key_prefix and "," in secret:
            raise ValueError(
                "this looks like a signature header; give the endpoint's signing secret"
            )
        try:
            return _key(self, secret)
        except ValueError:
            raise ValueError(f"the secret is not usable as {self.key}; copy it again") from None


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the headers say: the signatures offered, and the texts that were signed with the
    body."""

    signatures: tuple[bytes, ...]
    timestamp: str = ""
    message_id: str = ""


def _read(scheme: Scheme, headers: Mapping[str, str]) -> _Stamp:
    value = header(headers, scheme.header)
    if scheme.signature_key or scheme.timestamp_key:
        # An item without `assign` has no key that anybody asks for, so it's passed over.
        items = [item.strip().partition(scheme.assign) for item in value.split(scheme.separator)]
        signatures = [v for k, _, v in items if k == scheme.signature_key and v]
        timestamps = [v for k, _, v in items if k == scheme.timestamp_key]
    else:
        signatures, timestamps = [value.removeprefix(scheme.optional_prefix)], []
    if scheme.timestamp_header:
        timestamps = [header(headers, scheme.timestamp_header)]
    if not signatures:
        raise SignatureRefused("missing")
    if len(signatures) > MAX_SIGNATURES:
        raise SignatureRefused("malformed")
    if scheme.timed and (len(timestamps) != 1 or not _TIMESTAMP.fullmatch(timestamps[0])):
        raise SignatureRefused("malformed")
    message_id = header(headers, scheme.id_header) if scheme.id_header else ""
    if scheme.id_header and not fit_id(message_id):
        raise SignatureRefused("malformed")
    offered = tuple(raw_bytes(signature) for signature in signatures)
    return _Stamp(offered, timestamps[0] if scheme.timed else "", message_id)


def fit_id(message_id: str) -> bool:
    """Whether a message id may be signed: 1 to 256 visible ASCII characters and no dot."""
    # A dot would let one part of `id.timestamp.body` pass for another (Standard Webhooks 1.0).
    visible = message_id.isascii() and message_id.isprintable() and " " not in message_id
    return 0 < len(message_id) <= MAX_MESSAGE_ID and visible and "." not in message_id


def _member_time(scheme: Scheme, event: Any) -> float:
    value = event.get(scheme.time_member) if isinstance(event, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise SignatureRefused("malformed")
    return value / 1000


def _renewed(scheme: Scheme, body: bytes, now: float) -> bytes:
    try:
        event = parse(body)
        check_fresh(_member_time(scheme, event), now, scheme.tolerance)
    except SignatureRefused:
        if not isinstance(event, dict):
            raise ValueError(
                f"the body is an object with the member {scheme.time_member}"
            ) from None
        return orjson.dumps(event | {scheme.time_member: int(now * 1000)})
    return body


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


def _mac(scheme: Scheme, secret: str, stamp: _Stamp, arrival: Arrival) -> bytes:
    if scheme.needs_url and not arrival.url:
        raise ValueError("no URL")
    slots = {
        b"id": stamp.message_id.encode(),
        b"timestamp": stamp.timestamp.encode(),
        b"url": arrival.url.encode(),
        b"body": arrival.body,
    }
    base = _SLOT.sub(
        lambda slot: slots[slot[1]], scheme.base.encode()
    )  # one pass: no slot in a slot
    digest = hmac.new(_key(scheme, secret), base, getattr(hashlib, scheme.digest)).digest()
    return digest.hex().encode() if scheme.encoding == "hex" else base64.b64encode(digest)
