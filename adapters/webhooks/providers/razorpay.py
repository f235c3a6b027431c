"""Razorpay: `X-Razorpay-Signature: <hex>` over the body, keyed with the webhook's secret (not the API's).

`X-Razorpay-Event-Id` is not signed, so the digest of the body names the event. Retries of events
from before a rotation are signed with the old secret: keep it for a day.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

RAZORPAY: Final = Provider(
    Scheme(header="X-Razorpay-Signature"),
    event_type="event",
    headers=frozenset({"x-razorpay-event-id"}),
)
