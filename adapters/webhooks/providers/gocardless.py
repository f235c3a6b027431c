"""GoCardless: `Webhook-Signature: <hex>` over a body with up to 250 events, each with an id of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme
from adapters.webhooks.strict_json import parse


def _events(_: Mapping[str, str], body: bytes) -> list[Any]:
    whole = parse(body)
    events = whole.get("events") if isinstance(whole, dict) else None
    if not isinstance(events, list):
        raise ValueError("has no list 'events'")
    return events


GOCARDLESS: Final = Provider(
    Scheme(header="Webhook-Signature"),
    event_type="join('.', [resource_type, action])",
    event_id="id",
    read=_events,
)
