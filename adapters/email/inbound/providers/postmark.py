"""Postmark's webhooks: the inbound one, JSON with the raw mail in it once "Include raw email content" is on,
and the one that reports bounces and spam complaints of what went out.

Postmark signs nothing. The password in the URL that it was given is what proves it, over https.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

from adapters.email.inbound.machines import Bounce, Complaint, given_up
from adapters.email.inbound.providers.provider import (
    Asked,
    Brought,
    NotProven,
    NotUsable,
    Reported,
    map_in,
    object_in,
    same,
    text_in,
)
from adapters.email.transports.port import MARK

_PASSING: Final = frozenset(
    {"Transient", "DnsError", "AutoResponder", "AddressChange", "ChallengeVerification", "Subscribe",
     "Unsubscribe", "OpenRelayTest", "InboundError"}
)  # fmt: skip
"""Types of its bounces that say nothing final about a mail: delays, and what machines answer. `SoftBounce` is
none of them: it is a delay that Postmark has given up on."""

_GONE: Final = frozenset({"HardBounce", "BadEmailAddress"})
"""The address does not exist, unless a status code in the details says otherwise."""


def receive(asked: Asked, password: str) -> Brought:
    """Raises `NotProven`, `NotUsable`."""
    members = _proven(asked, password)
    raw = text_in(members, "RawEmail")
    if not raw:
        raise NotUsable(
            'switch on "Include raw email content in JSON payload" for the inbound stream'
        )
    return Brought(raw.encode("utf-8", "surrogateescape"), (text_in(members, "OriginalRecipient"),))


def report(asked: Asked, password: str) -> Reported:
    """Raises `NotProven`, `NotUsable`."""
    members = _proven(asked, password)
    if "RecordType" not in members:
        raise NotUsable("it is no report: this URL is for the outbound stream's webhook")
    return Reported(text_in(map_in(members, "Metadata"), MARK), _machine(members))


def _machine(members: dict[str, object]) -> Bounce | Complaint | None:
    record, kind = text_in(members, "RecordType"), text_in(members, "Type")
    if record == "SpamComplaint":
        return Complaint("abuse")
    if record != "Bounce" or kind in _PASSING:
        return None
    said = text_in(members, "Details") or text_in(members, "Description") or kind
    return given_up(said.removeprefix("smtp;"), gone=kind in _GONE)


def _proven(asked: Asked, password: str) -> dict[str, object]:
    if not same(_password(asked.headers.get("authorization", "")), password):
        raise NotProven("it has not the password")
    return object_in(asked.body)


def _password(header: str) -> str:
    kind, _, value = header.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
