"""Stripe: `Stripe-Signature: t=<unix>,v1=<hex>[,v1=<hex>]`.

The key is the whole `whsec_…` text, not what its base64 decodes to, although Standard Webhooks uses
the same prefix for just that. While a secret is being rolled both sign, each in a `v1` of its own;
`v0` is for tests at Stripe's and proves nothing.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

STRIPE: Final = Provider(
    Scheme(
        header="Stripe-Signature",
        signature_key="v1",
        timestamp_key="t",
        base="{timestamp}.{body}",
    ),
    event_type="type",
    event_id="id",
    mode="livemode",
)
