"""Mollie, next-generation webhooks: `X-Mollie-Signature: <hex>` over the body, with `sha256=` before it or
not. The classic webhooks, which carry no signature, are `mollie_classic`'s.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

MOLLIE: Final = Provider(
    Scheme(header="X-Mollie-Signature", optional_prefix="sha256="),
    event_type="type",
    event_id="id",
)
