"""Is this HTTP request from Slack? Asked over the raw bytes, before anything else reads them.

Bolt parses a body before it verifies it, answers 500 to a malformed header and logs refused bodies.
So this stands in front: bounded, total (every input has an answer) and silent about content. The
rule is Slack's "Verifying requests": HMAC-SHA256 over `v0:{timestamp}:{raw body}`, at most five
minutes old.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from adapters.slack.shapes import flaw

MAX_BODY: Final = 2 * 1024 * 1024
"""Bytes. A form-encoded view of 250 kB grows to three times its size; this leaves room and no
more.
"""

_MEMBERS: Final = 64

MAX_AGE: Final = 300
"""Seconds between Slack's clock and ours, either way."""


class SlackRequestRefused(Exception):
    """Not a request that Slack can have sent. `status` is 400, 401 or 413; `reason` holds no
    content.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Verifier:
    """Checks requests against several secrets, and counts what it refused by reason."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secret.encode() for secret in secrets)
        self.refused: Counter[str] = Counter()

    def check(self, headers: Mapping[str, str], body: bytes, now: float) -> dict[str, Any]:
        """The payload of a request that is Slack's and sane; `now` is Unix time in seconds. A form without
        one (a command) is its members.

        Raises `SlackRequestRefused`. Header names are compared as `headers` compares them, so pass
        a case-insensitive mapping.
        """
        try:
            self._check_size(body)
            self._check_signature(headers, body, now)
            return _payload(headers.get("Content-Type", ""), body)
        except SlackRequestRefused as refusal:
            self.refused[refusal.reason] += 1
            raise

    def refuse_size(self) -> SlackRequestRefused:
        """The refusal of a body that was too long to be read to its end."""
        self.refused["body too large"] += 1
        return SlackRequestRefused(413, "body too large")

    def _check_size(self, body: bytes) -> None:
        if len(body) > MAX_BODY:
            raise SlackRequestRefused(413, "body too large")

    def _check_signature(self, headers: Mapping[str, str], body: bytes, now: float) -> None:
        stamp = headers.get("X-Slack-Request-Timestamp", "")
        given = headers.get("X-Slack-Signature", "").encode("utf-8", "surrogateescape")
        if not self._secrets:
            raise SlackRequestRefused(401, "no signing secret configured")
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
            raise SlackRequestRefused(401, "timestamp missing or malformed")
        if abs(now - int(stamp)) > MAX_AGE:
            raise SlackRequestRefused(401, "timestamp outside five minutes")
        base = b"v0:" + stamp.encode() + b":" + body
        matched = False
        for (
            secret
        ) in self._secrets:  # no early exit: the time tells nothing about which one matched
            digest = hmac.new(secret, base, hashlib.sha256).hexdigest()
            matched |= hmac.compare_digest(b"v0=" + digest.encode(), given)
        if not matched:
            raise SlackRequestRefused(401, "signature does not match")


def _payload(content_type: str, body: bytes) -> dict[str, Any]:
    """Refuses what would make a later reader raise: wrong encoding, no JSON object, nesting bombs."""
    try:
        if content_type.partition(";")[0].strip().lower() == "application/json":
            payload = orjson.loads(body)
        elif body.startswith(b"{"):
            raise SlackRequestRefused(400, "JSON body without its content type")
        else:
            members = _members(body)
            sent = members.get("payload")
            payload = orjson.loads(sent) if sent is not None else _texts(members)
    except ValueError as error:
        raise SlackRequestRefused(400, "body malformed") from error
    if not isinstance(payload, dict):
        raise SlackRequestRefused(400, "body malformed")
    if found := flaw(payload):
        raise SlackRequestRefused(400, found)
    return payload


def _members(body: bytes) -> dict[str, bytes]:
    """The members of a form, the first of each name. Raises `ValueError`."""
    parts = body.split(b"&", _MEMBERS)
    if len(parts) > _MEMBERS:
        raise ValueError("too many members")
    found: dict[str, bytes] = {}
    for part in parts:
        name, _, value = part.partition(b"=")
        found.setdefault(unquoted(name).decode(), unquoted(value))
    return found


def _texts(members: dict[str, bytes]) -> dict[str, Any]:
    return {name: value.decode() for name, value in members.items()}


def unquoted(text: bytes) -> bytes:
    """A form's percent-encoding undone. The standard library's takes longer for a click than all the rest
    of this module; in C there is the decoder of quoted-printable, the same code with another sign."""
    if b"%" not in text:
        return text.replace(b"+", b" ")
    swapped = text.replace(b"+", b" ").replace(b"=", b"%3D").replace(b"%", b"=")
    return binascii.a2b_qp(swapped)
