"""Postmark's inbound webhook: JSON with the raw mail in it, once "Include raw email content" is on.

Postmark signs nothing. The password in the URL that it was given is what proves it, over https.
"""

from __future__ import annotations

import base64
import binascii
import json

from adapters.email.inbound.providers.provider import (
    Asked,
    Brought,
    NotProven,
    NotUsable,
    same,
    text_in,
)


def receive(asked: Asked, password: str) -> Brought:
    """Raises `NotProven`, `NotUsable`."""
    if not same(_password(asked.headers.get("authorization", "")), password):
        raise NotProven("it has not the password")
    try:
        members = json.loads(asked.body)
    except (ValueError, RecursionError):
        raise NotUsable("it is no JSON") from None
    if not isinstance(members, dict):
        raise NotUsable("it is no JSON object")
    raw = text_in(members, "RawEmail")
    if not raw:
        raise NotUsable(
            'switch on "Include raw email content in JSON payload" for the inbound stream'
        )
    return Brought(raw.encode("utf-8", "surrogateescape"), (text_in(members, "OriginalRecipient"),))


def _password(header: str) -> str:
    kind, _, value = header.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
