"""Outbound webhooks as they go over the wire: the registration, the record, a dead letter."""

from __future__ import annotations

from typing import Any, Final

from adapters.webhooks.retry import DAY_MS, RetryPolicy
from adapters.webhooks.sign_out import ALGORITHMS
from host.decisions.state import iso
from host.store.webhooks import DeadLetter, Subscription
from schemas.versions import ProtocolVersion, is_wide

RETENTION_MS: Final = 30 * DAY_MS
"""How long a dead letter is kept."""
OVERLAP_SECONDS: Final = 86_400
"""How long the secret before signs on after a rotation."""
MOST_PAGE: Final = 100
"""Dead letters of one page."""


def facets(protocol: ProtocolVersion) -> dict[str, Any]:
    """What discovery says of webhooks. The last two came after 2.1, whose records are closed."""
    found: dict[str, Any] = {
        "signatureAlgorithms": list(ALGORITHMS),
        "retryPolicy": {"maxAttempts": RetryPolicy().attempts, "backoff": "exponential"},
    }
    if is_wide(protocol):
        found["deadLetter"] = {
            "retentionDays": RETENTION_MS // DAY_MS,
            "maxPageSize": MOST_PAGE,
        }
        found["secretRotation"] = {"overlapSeconds": OVERLAP_SECONDS}
    return found


def registered(subscription: Subscription) -> dict[str, Any]:
    """The answer to a registration. A published client reads `subscriptionId` for `webhookId`."""
    return {
        "webhookId": subscription.webhook_id,
        "subscriptionId": subscription.webhook_id,
        "url": subscription.url,
        "eventTypes": list(subscription.events),
        "createdAt": iso(subscription.created_at),
    }


def record(subscription: Subscription, now: int) -> dict[str, Any]:
    """A subscription as its owner sees it: everything but secrets."""
    body: dict[str, Any] = {
        "webhookId": subscription.webhook_id,
        "url": subscription.url,
        "eventTypes": list(subscription.events),
        "tags": list(subscription.tags),
        "signatureAlgorithms": list(subscription.algorithms),
        "createdAt": iso(subscription.created_at),
        "status": "disabled" if subscription.disabled else "active",
    }
    if subscription.disabled:
        body["reason"] = subscription.disabled
    if subscription.failing_since is not None:
        body["failingSince"] = iso(subscription.failing_since)
    if now < subscription.previous_until:
        body["previousSecretExpiresAt"] = iso(subscription.previous_until)
    return body


def letter_record(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter: which event, how often, why. Never the event, a header or a secret."""
    body: dict[str, Any] = {
        "deliveryId": letter.delivery_id,
        "webhookId": letter.webhook_id,
        "runId": letter.run_id,
        "eventId": f"{letter.run_id.partition('/')[2]}.{letter.sequence}",
        "eventType": letter.event_type,
        "attempts": letter.attempts,
        "deadLetteredAt": iso(letter.died_at),
        "expiresAt": iso(letter.died_at + RETENTION_MS),
        "reason": letter.reason,
    }
    if letter.last_status is not None:
        body["lastStatus"] = letter.last_status
    return body
