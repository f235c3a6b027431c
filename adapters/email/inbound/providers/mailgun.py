"""Mailgun routes that forward to a URL ending in `/mime`: a form with the raw mail in it.

Its HMAC covers a timestamp and a token, and nothing of the mail. So it proves who calls and not what they
bring: the sender is proven by DKIM, on the mail itself, and each token is taken once.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from adapters.email.inbound.providers.provider import (
    Asked,
    Brought,
    NotProven,
    NotUsable,
    form_of,
    same,
)

TOLERANCE: Final = 300.0
"""Seconds between its clock and ours."""


def receive(asked: Asked, key: str, limit: int) -> Brought:
    """Raises `NotProven`, `NotUsable`."""
    form = form_of(asked, limit)
    timestamp, token, signature = (
        form.get(name, b"").decode("ascii", "replace")
        for name in ("timestamp", "token", "signature")
    )
    if not (timestamp.isdecimal() and len(timestamp) < 13 and 0 < len(token) <= 200):
        raise NotProven("it has no timestamp and token")
    expected = hmac.new(key.encode(), f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    if not same(expected, signature):
        raise NotProven("its signature is not of our key")
    if abs(asked.now - float(timestamp)) > TOLERANCE:
        raise NotProven("its timestamp is too far from our clock")
    raw = form.get("body-mime", b"")
    if not raw:
        raise NotUsable("it holds no raw mail: let the route's URL end in /mail/mailgun/mime")
    recipient = form.get("recipient", b"").decode("utf-8", "replace")
    sender = form.get("sender", b"").decode("utf-8", "replace")
    return Brought(raw, tuple(recipient.split(",")), sender, once=f"mailgun\0{token}")
