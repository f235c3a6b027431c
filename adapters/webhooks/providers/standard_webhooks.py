"""Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64> v1,…`.

The key is what follows `whsec_`, base64-decoded, at least 24 bytes. Only the symmetric `v1` is
verified; `v1a` (Ed25519) items are `standard_webhooks_v1a`'s. The id is signed, so it may name the event.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

STANDARD_WEBHOOKS: Final = Provider(
    Scheme(
        header="webhook-signature",
        separator=" ",
        assign=",",
        signature_key="v1",
        timestamp_header="webhook-timestamp",
        id_header="webhook-id",
        base="{id}.{timestamp}.{body}",
        key="base64",
        key_prefix="whsec_",
        min_key=24,
        encoding="base64",
    ),
    event_type="type",
    event_id="header('webhook-id')",
    headers=frozenset({"webhook-id"}),
)
