"""Square: `x-square-hmacsha256-signature: <base64>` over the notification URL, exactly as it was
registered, with the body behind it.
"""

from __future__ import annotations

from typing import Final

from adapters.webhooks.providers.provider import Provider
from adapters.webhooks.scheme import Scheme

SQUARE: Final = Provider(
    Scheme(
        header="x-square-hmacsha256-signature",
        base="{url}{body}",
        encoding="base64",
    ),
    event_type="type",
    event_id="event_id",
)
