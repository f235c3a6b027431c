"""Azure Event Grid, its own schema: a list of events, sent with a bearer token (a delivery property).

Before it delivers, Event Grid posts a `SubscriptionValidationEvent`, to be answered with its code. It is
answered only to who has the token, and its `validationUrl` is never called. Subscriptions with the schema of
CloudEvents are `cloudevents`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapters.webhooks.providers.bearer import BearerToken
from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.strict_json import parse

_VALIDATION: Final = "Microsoft.EventGrid.SubscriptionValidationEvent"
_LONGEST_CODE: Final = 512


def _read(_: Mapping[str, str], body: bytes) -> list[Any]:
    events = parse(body)
    if not isinstance(events, list):
        raise ValueError("is not a list of events")
    return events


def _handshake(headers: Mapping[str, str], body: bytes) -> dict[str, Any] | None:
    """What says that it is a handshake and holds no code is no handshake: it is kept, as unmapped."""
    if headers.get("aeg-event-type", "").strip().lower() != "subscriptionvalidation":
        return None
    try:
        [event] = parse(body)
        kind, code = event["eventType"], event["data"]["validationCode"]
    except (ValueError, TypeError, KeyError):
        return None
    usable = isinstance(code, str) and 0 < len(code) <= _LONGEST_CODE
    return {"validationResponse": code} if kind == _VALIDATION and usable else None


EVENT_GRID: Final = Provider(
    BearerToken(),
    event_type="eventType",
    event_id="join(' ', [topic, id])",
    read=_read,
    handshake=_handshake,
)
