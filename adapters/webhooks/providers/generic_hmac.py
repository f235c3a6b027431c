"""Anyone who signs the body with an HMAC-SHA256: `X-Signature-256: sha256=<hex>`, unless the source
says otherwise (`signature` in its settings: header, key of the item, encoding, timestamp
header)."""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

GENERIC_HMAC: Final = Provider(
    Scheme(header="X-Signature-256", signature_key="sha256"),
    headers=frozenset({"x-event-type"}),
)
