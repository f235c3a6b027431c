"""What the webhook operations answer. A secret is in one of them, once: the registration without one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.ids import BoundId, EventId
from schemas.model import Exact
from schemas.payloads import Text
from schemas.records import Timestamp
from schemas.webhooks import SignatureAlgorithm


class RegisteredWebhook(Exact):
    """Answer of `POST /webhooks`. `subscriptionId` is `webhookId` by its former name."""

    webhook_id: BoundId
    subscription_id: BoundId
    url: Text
    event_types: list[str]
    created_at: Timestamp
    signature_algorithms: list[SignatureAlgorithm] | None = None
    secret: Text | None = None


class WebhookRecord(Exact):
    """A subscription as its owner sees it: everything but secrets."""

    webhook_id: BoundId
    url: Text
    event_types: list[str]
    tags: list[str]
    signature_algorithms: list[SignatureAlgorithm]
    created_at: Timestamp
    status: Literal["active", "disabled"]
    reason: Text | None = None
    failing_since: Timestamp | None = None
    previous_secret_expires_at: Timestamp | None = None


class WebhookList(Exact):
    """All subscriptions of the tenant."""

    webhooks: list[WebhookRecord]


class SecretRotated(Exact):
    """Answer of a rotation. Until then both secrets sign."""

    rotated_at: Timestamp
    previous_secret_expires_at: Timestamp


class DeadLetterRecord(Exact):
    """A delivery that was given up. Never the event, a header or a secret."""

    delivery_id: BoundId
    webhook_id: BoundId
    run_id: BoundId
    event_id: EventId
    event_type: Text
    attempts: Annotated[int, Field(ge=1)]
    dead_lettered_at: Timestamp
    expires_at: Timestamp
    reason: Text
    last_status: Annotated[int, Field(ge=100, le=599)] | None = None


class DeadLetterPage(Exact):
    """A page of dead letters. `nextCursor` is missing on the last one."""

    deliveries: list[DeadLetterRecord]
    next_cursor: str | None = None


class Redriven(Exact):
    """Answer of a redrive: the delivery is owed again."""

    delivery_id: BoundId
    status: Literal["due"]
