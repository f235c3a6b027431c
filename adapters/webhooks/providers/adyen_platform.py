"""Adyen, balance platform and management webhooks: `HmacSignature: <base64>` over the body.

The key is given in hex. A new key takes a while to reach all of their servers: keep the old one beside it.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

ADYEN_PLATFORM: Final = Provider(
    Scheme(header="HmacSignature", key="hex", min_key=16, encoding="base64"),
    event_type="type",
    mode="environment",
)
