"""Paddle Billing: `Paddle-Signature: ts=<unix>;h1=<hex>[;h1=<hex>]`, the time in it joined to the body
by a colon.

Their own library allows five seconds, which an ordinary clock fails; a minute is safe, since the
event id, which a replay keeps, tells duplicates apart.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

PADDLE: Final = Provider(
    Scheme(
        header="Paddle-Signature",
        separator=";",
        signature_key="h1",
        timestamp_key="ts",
        base="{timestamp}:{body}",
        tolerance=60.0,
    ),
    event_type="event_type",
    event_id="event_id",
)
