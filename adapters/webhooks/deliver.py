"""One attempt to deliver, and the challenge that an endpoint answers before it is subscribed.

Everything is bounded: the time for all of it (names, connecting, the answer), and how much of the answer
is read. What an endpoint answers is shown to nobody, its status alone is: a body or a timing would let a
subscriber look around inside.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
import orjson

from adapters.egress import AddressRefused, Egress, UrlRejected
from adapters.webhooks.sign_out import Signing, headers

ATTEMPT_SECONDS: Final = 15.0
CHALLENGE_SECONDS: Final = 10.0
MOST_READ: Final = 16 * 1024
VERIFICATION: Final = "openwop.webhook.verification"
_MOST_ASKED: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt went. `status` is None when there was no answer; `reason` is for the log and holds
    nothing that the endpoint said. `retry_after` in seconds, `gone` when it asked to be left alone."""

    delivered: bool
    status: int | None = None
    reason: str = ""
    retry_after: float | None = None

    @property
    def gone(self) -> bool:
        return self.status == 410


class Unverified(Exception):
    """The endpoint did not answer the challenge. The text says what it did instead."""


class Sender:
    """Posts to endpoints through the guard."""

    def __init__(self, egress: Egress, seconds: float = ATTEMPT_SECONDS) -> None:
        self._egress = egress
        self._seconds = seconds

    async def deliver(self, url: str, body: bytes, signed: Mapping[str, str]) -> Outcome:
        """One attempt. Never raises for anything that the endpoint or the network does."""
        try:
            status, answered, _ = await self._post(url, body, signed, self._seconds)
        except UrlRejected as error:
            return Outcome(False, reason=str(error))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            return Outcome(False, reason=_why(error))
        if 200 <= status < 300:
            return Outcome(True, status)
        asked = retry_after(answered.get("Retry-After", ""), time.time())
        told = "redirects are not followed" if 300 <= status < 400 else "not accepted"
        return Outcome(False, status, f"{told} ({status})", asked)

    async def challenge(self, url: str, signing: Signing, timestamp: int) -> None:
        """Have the endpoint repeat a random text, once. Raises `Unverified`, `UrlRejected`."""
        text = secrets.token_urlsafe(32)
        body = orjson.dumps({"type": VERIFICATION, "challenge": text})
        message_id = "verify_" + secrets.token_hex(16)
        signed = headers(signing, VERIFICATION, message_id, timestamp, body)
        try:
            status, _, raw = await self._post(url, body, signed, CHALLENGE_SECONDS)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise Unverified(_why(error)) from None
        if not 200 <= status < 300:
            raise Unverified(f"it answered {status}")
        if not _echoes(raw, text):
            raise Unverified("it did not repeat the challenge as a JSON member 'challenge'")

    async def _post(
        self, url: str, body: bytes, signed: Mapping[str, str], seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        session = self._egress.session(url)
        sent = {**signed, "Content-Type": "application/json"}
        async with (
            asyncio.timeout(seconds),
            session.post(url, data=body, headers=sent, allow_redirects=False) as response,
        ):
            raw = await _bounded(response)
            return response.status, response.headers, raw


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """The beginning of the answer. The rest is never read: the connection is closed after it."""
    raw = b""
    while len(raw) <= MOST_READ:
        chunk = await response.content.read(MOST_READ + 1 - len(raw))
        if not chunk:
            return raw
        raw += chunk
    response.close()
    return raw[:MOST_READ]


def _echoes(raw: bytes, text: str) -> bool:
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    said = answer.get("challenge") if isinstance(answer, dict) else None
    return isinstance(said, str) and hmac.compare_digest(said.encode(), text.encode())


def retry_after(text: str, now: float) -> float | None:
    """Seconds until a `Retry-After` (a number or an HTTP date), from 0 to a day. None without one.

    `now` in Unix seconds.
    """
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 12:
        return min(float(text), _MOST_ASKED)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    left = (at - datetime.fromtimestamp(now, UTC)).total_seconds()
    return min(max(left, 0.0), _MOST_ASKED)


def _why(error: BaseException) -> str:
    """What went wrong, in words of our own: a library's text may quote the URL."""
    cause = getattr(error, "os_error", None) or error.__cause__ or error
    if isinstance(cause, AddressRefused):
        return "its host leads to an address that is not public"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its host could not be looked up"
    if isinstance(error, aiohttp.ClientSSLError):
        return "its certificate was not accepted"
    if isinstance(error, aiohttp.ClientConnectorError | OSError):
        return "it could not be connected to"
    return f"the connection failed ({type(error).__name__})"
