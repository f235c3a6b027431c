"""The webhook operations: the protocol's, and two of our own."""

from __future__ import annotations

from typing import Final

from gateway.openapi.operation import Answer, Operation
from schemas.webhook_answers import (
    DeadLetterPage,
    Redriven,
    RegisteredWebhook,
    SecretRotated,
    WebhookList,
)
from schemas.webhooks import RegisterWebhook, RotateSecret

_REPLAYED: Final = ("OpenWOP-Idempotent-Replay",)
_SCOPE: Final = "webhooks:manage"

OPERATIONS: Final = (
    Operation(
        "registerWebhook",
        "post",
        "/webhooks",
        "Have events delivered, signed, to a public https URL.",
        (
            Answer(
                201,
                "Subscribed. A secret that was made here is in this answer only.",
                RegisteredWebhook,
                headers=_REPLAYED,
            ),
        ),
        scope=_SCOPE,
        body=RegisterWebhook,
        errors=("webhook_url_rejected", "webhook_endpoint_unverified"),
        idempotent=True,
    ),
    Operation(
        "unregisterWebhook",
        "delete",
        "/webhooks/{webhookId}",
        "End a subscription.",
        (Answer(204, "It is gone.", headers=_REPLAYED),),
        scope=_SCOPE,
        idempotent=True,
    ),
    Operation(
        "listWebhookDeadLetters",
        "get",
        "/webhooks/{webhookId}/dead-letters",
        "Deliveries that were given up.",
        (Answer(200, "A page of them.", DeadLetterPage),),
        scope=_SCOPE,
        parameters=("DeadLetterLimit", "DeadLetterCursor"),
    ),
    Operation(
        "rotateWebhookSecret",
        "post",
        "/webhooks/{webhookId}/rotate-secret",
        "Sign with a new secret, and with the old one for a while.",
        (Answer(200, "Rotated.", SecretRotated, headers=_REPLAYED),),
        scope=_SCOPE,
        body=RotateSecret,
        idempotent=True,
    ),
    Operation(
        "listWebhooks",
        "get",
        "/host/sayso/webhooks",
        "The tenant's subscriptions.",
        (Answer(200, "All of them.", WebhookList),),
        scope=_SCOPE,
    ),
    Operation(
        "redriveDelivery",
        "post",
        "/host/sayso/webhooks/{webhookId}/dead-letters/{deliveryId}/redrive",
        "Deliver a dead letter again.",
        (Answer(200, "It is owed again.", Redriven, headers=_REPLAYED),),
        scope=_SCOPE,
        idempotent=True,
    ),
)
