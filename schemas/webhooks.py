"""Outbound webhooks over the wire: the bodies that subscribe and rotate (OpenWOP: webhooks)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, SecretStr, StringConstraints

from schemas.event_names import TYPE
from schemas.model import Exact

LEAST_SECRET: Final = 16
EventType = Annotated[str, StringConstraints(pattern=TYPE, max_length=200)]
Tag = Annotated[str, Field(min_length=1, max_length=256)]
Secret = Annotated[SecretStr, Field(min_length=LEAST_SECRET, max_length=256)]
SignatureAlgorithm = Literal["v1", "standard-webhooks-1"]


class RegisterWebhook(Exact):
    """Body of `POST /webhooks`. Without a `secret` the gateway makes one and returns it once."""

    url: Annotated[str, Field(min_length=1, max_length=4096)]
    events: Annotated[list[EventType], Field(min_length=1, max_length=100)]
    secret: Secret | None = None
    tags: Annotated[list[Tag], Field(max_length=100)] | None = None
    signature_algorithms: (
        Annotated[list[SignatureAlgorithm], Field(min_length=1, max_length=2)] | None
    ) = None


class RotateSecret(Exact):
    """Body of `POST /webhooks/{webhookId}/rotate-secret`."""

    secret: Secret
