"""Shopify: `X-Shopify-Hmac-Sha256: <base64>` over the body, keyed with the app's client secret.

There is no timestamp, and the id headers are not signed, so the digest of the body names the event:
a retry has the original payload. For up to an hour after a rotation the old secret still signs.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

SHOPIFY: Final = Provider(
    Scheme(header="X-Shopify-Hmac-Sha256", encoding="base64"),
    event_type="header('x-shopify-topic')",
    headers=frozenset({"x-shopify-topic", "x-shopify-shop-domain", "x-shopify-triggered-at"}),
)
