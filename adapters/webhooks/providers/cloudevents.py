"""CloudEvents 1.0 over HTTP: binary, structured and batched, sent with a bearer token.

CloudEvents sign nothing; the HTTP webhook specification asks for a token, and so do we. An event is
named by its source and its id together. The `OPTIONS` handshake is answered with consent: who has
no token gets no further, and a callback URL is never called.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from adapters.webhooks.providers.bearer import BearerToken
from adapters.webhooks.providers.provider import Greeted, Greeting, Provider
from adapters.webhooks.strict_json import parse

_REQUIRED: Final = ("id", "source", "specversion", "type")
_ORIGIN: Final = re.compile(r"[A-Za-z0-9.:/_-]{1,255}")
_ATTRIBUTE: Final = re.compile(r"ce-([a-z0-9]{1,64})")


def _read(headers: Mapping[str, str], body: bytes) -> list[Any]:
    content = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content == "application/cloudevents-batch+json":
        events = parse(body)
        if not isinstance(events, list):
            raise ValueError("is not a list of events")
    elif content == "application/cloudevents+json":
        events = [parse(body)]
    else:
        events = [_binary(headers, content, body)]
    for event in events:
        _check(event)
    return events


def _binary(headers: Mapping[str, str], content: str, body: bytes) -> dict[str, Any]:
    """Binary mode: the attributes are headers, percent-encoded; the body is the data."""
    event: dict[str, Any] = {}
    for name, value in headers.items():
        attribute = _ATTRIBUTE.fullmatch(name)
        if attribute:
            event[attribute[1]] = unquote(value, errors="strict")
    if not event:
        raise ValueError("has neither ce- headers nor the content type of CloudEvents")
    if not body:
        return event
    event["datacontenttype"] = content or "application/json"
    if content in ("", "application/json") or content.endswith("+json"):
        return event | {"data": parse(body)}
    return event | {"data_base64": base64.b64encode(body).decode()}


def _check(event: Any) -> None:
    """Raises `ValueError` for what is no CloudEvent of version 1.0."""
    if not isinstance(event, dict):
        raise ValueError("is not an object")
    for name in _REQUIRED:
        if not isinstance(event.get(name), str) or not event[name]:
            raise ValueError(f"has no {name}")
    if event["specversion"] != "1.0":
        raise ValueError("is not of specversion 1.0")


def _greet(
    _: Sequence[str], query: Mapping[str, str], headers: Mapping[str, str]
) -> Greeted | None:
    origin = headers.get("webhook-request-origin", "")
    if not _ORIGIN.fullmatch(origin):
        return None
    allowed = {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*", "Allow": "POST"}
    return Greeted(allowed)


CLOUDEVENTS: Final = Provider(
    BearerToken(),
    event_type="type",
    event_id="join(' ', [source, id])",
    read=_read,
    greeting=Greeting("OPTIONS", _greet),
)
