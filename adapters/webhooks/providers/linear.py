"""Linear: `Linear-Signature: <hex>` over the body, which holds its own time, `webhookTimestamp`, in ms.

The header `Linear-Timestamp` says the same and is not signed, nor is `Linear-Delivery`. A retry is
sent with a new time, so neither the header nor the digest names an event: what happened, to what
and when does.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

LINEAR: Final = Provider(
    Scheme(header="Linear-Signature", time_member="webhookTimestamp", tolerance=60.0),
    event_type="join('.', [type, action])",
    event_id="join(':', [type, action, data.id, createdAt])",
    headers=frozenset({"linear-event", "linear-delivery"}),
)
