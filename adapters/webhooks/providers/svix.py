"""Svix and who sends through it (Clerk, Resend, …): Standard Webhooks with headers of its own,
`svix-id`, `svix-timestamp` and `svix-signature`.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

SVIX: Final = Provider(
    Scheme(
        header="svix-signature",
        separator=" ",
        assign=",",
        signature_key="v1",
        timestamp_header="svix-timestamp",
        id_header="svix-id",
        base="{id}.{timestamp}.{body}",
        key="base64",
        key_prefix="whsec_",
        min_key=24,
        encoding="base64",
    ),
    event_type="type",
    event_id="header('svix-id')",
    headers=frozenset({"svix-id"}),
)
