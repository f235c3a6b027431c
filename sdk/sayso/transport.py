"""Between operations and httpx: the same for a blocking client and an awaited one. Pure."""

from __future__ import annotations

from typing import Any, Final

import httpx

from sayso.operations import Call, Lost, Reply
from sayso.settings import Target

VERSION: Final = "0.1.0"
CONNECT: Final = 5.0
"""Seconds for a connection to be made."""


def arguments(target: Target, call: Call) -> dict[str, Any] | Lost:
    """The arguments of `httpx.Client.request`, or `Lost` while a local gateway has no address."""
    base = target.address()
    if base is None:
        return Lost()
    headers = {"User-Agent": f"sayso-python/{VERSION}", **call.headers}
    if (key := target.key()) is not None:
        headers["Authorization"] = f"Bearer {key}"
    sent: dict[str, Any] = {
        "method": call.method,
        "url": base + call.path,
        "headers": headers,
        "timeout": httpx.Timeout(call.timeout, connect=CONNECT),
    }
    if call.body is not None:
        sent["json"] = call.body
    return sent


def reply(response: httpx.Response) -> Reply:
    """What an operation needs of an answer."""
    try:
        body = response.json()
    except ValueError:
        body = None
    asked = response.headers.get("Retry-After", "")
    seconds = float(asked) if asked.isascii() and asked.isdigit() else None
    return Reply(response.status_code, body, seconds)
