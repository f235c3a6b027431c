"""Mailgun's webhooks: routes that forward to a URL ending in `/mime`, a form with the raw mail in it; and the
events of what went out.

Its HMAC covers a timestamp and a token, and nothing else. So it proves who calls and not what they bring:
a mail's sender is proven by DKIM, on the mail itself; what an event is about, by the mark that only our mail
to that person carries; and each token is taken once.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Final

from adapters.email.inbound.machines import Bounce, Complaint, given_up
from adapters.email.inbound.providers.provider import (
    Asked,
    Brought,
    NotProven,
    NotUsable,
    Reported,
    form_of,
    map_in,
    object_in,
    same,
    text_in,
)
from adapters.email.transports.port import MARK

TOLERANCE: Final = 300.0
"""Seconds between its clock and ours."""


def receive(asked: Asked, key: str, limit: int) -> Brought:
    """Raises `NotProven`, `NotUsable`."""
    form = form_of(asked, limit)
    signed = {name: form.get(name, b"").decode("ascii", "replace") for name in _SIGNATURE}
    token = _proven(signed, key, asked.now)
    raw = form.get("body-mime", b"")
    if not raw:
        raise NotUsable("it holds no raw mail: let the route's URL end in /mail/mailgun/mime")
    recipient = form.get("recipient", b"").decode("utf-8", "replace")
    sender = form.get("sender", b"").decode("utf-8", "replace")
    return Brought(raw, tuple(recipient.split(",")), sender, once=f"mailgun\0{token}")


def report(asked: Asked, key: str) -> Reported:
    """Raises `NotProven`, `NotUsable`."""
    members = object_in(asked.body)
    signature = map_in(members, "signature")
    signed = {name: text_in(signature, name) for name in _SIGNATURE}
    token = _proven(signed, key, asked.now)
    event = map_in(members, "event-data")
    if not event:
        raise NotUsable("it holds no event-data: this URL is for webhooks, not for routes")
    mark = text_in(map_in(event, "user-variables"), MARK)
    return Reported(mark, _machine(event), once=f"mailgun\0{token}")


def _machine(event: dict[str, Any]) -> Bounce | Complaint | None:
    kind = text_in(event, "event")
    if kind == "complained":
        return Complaint("abuse")
    if kind == "rejected":  # by Mailgun itself, before anything was sent
        return given_up(text_in(map_in(event, "reject"), "reason") or kind)
    if kind != "failed" or text_in(event, "severity") != "permanent":
        return None
    status, reason = map_in(event, "delivery-status"), text_in(event, "reason")
    said = text_in(status, "message") or text_in(status, "description") or reason or kind
    code = status.get("code")
    shown = f"{code} {said}" if isinstance(code, int) else said
    # It doesn't even try addresses that bounced before: the list is its own, and says so.
    return given_up(shown, gone=reason == "suppress-bounce")


_SIGNATURE: Final = ("timestamp", "token", "signature")


def _proven(signed: dict[str, str], key: str, now: float) -> str:
    """The token. Raises `NotProven`."""
    timestamp, token = signed["timestamp"], signed["token"]
    if not (timestamp.isdecimal() and len(timestamp) < 13 and 0 < len(token) <= 200):
        raise NotProven("it has no timestamp and token")
    expected = hmac.new(key.encode(), f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    if not same(expected, signed["signature"]):
        raise NotProven("its signature is not of our key")
    if abs(now - float(timestamp)) > TOLERANCE:
        raise NotProven("its timestamp is too far from our clock")
    return token
