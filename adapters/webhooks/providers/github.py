"""GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body alone.

There is no timestamp, and `X-GitHub-Delivery` isn't signed: a body that was recorded once could
come back under a new delivery id. So the digest of the body names the event, and such a replay is
the duplicate that it is. The old SHA-1 header is ignored.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

GITHUB: Final = Provider(
    Scheme(header="X-Hub-Signature-256", signature_key="sha256"),
    event_type="header('x-github-event')",
    headers=frozenset(
        {"x-github-event", "x-github-hook-id", "x-github-hook-installation-target-id"}
    ),
)
