"""The registered error codes, their one HTTP status each, and the exception that carries one.

The envelope is `{error, message, details?}`, closed; the status is the registered one and nothing
else (protocol digest 1.2 and 21). A refusal is raised anywhere below the gateway and rendered once,
in the gateway.
"""

from __future__ import annotations

from typing import Any, Final

from schemas.model import Exact

STATUS: Final[dict[str, int]] = {
    "validation_error": 400,
    "idempotency_key_invalid": 400,
    "unsupported_stream_mode": 400,
    "protocol_version_mismatch": 400,
    "webhook_url_rejected": 400,
    "webhook_endpoint_unverified": 400,
    "unauthenticated": 401,
    "interrupt_token_invalid": 401,
    "forbidden": 403,
    "run_forbidden": 403,
    "id_tenant_mismatch": 403,
    "not_found": 404,
    "interrupt_not_found": 404,
    "replay_source_missing": 404,
    "protocol_version_unsupported": 406,
    "interrupt_already_resolved": 409,
    "idempotency_key_mismatch": 409,
    "idempotency_in_flight": 409,
    "run_already_active": 409,
    "run_terminal": 409,
    "run_state_conflict": 409,
    "interrupt_expired": 410,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "capability_required": 422,
    "fork_point_invalid": 422,
    "approval_rejected": 422,
    "run_timeout": 422,
    "client_version_unsupported": 426,
    "rate_limited": 429,
    "internal_error": 500,
    # Ours, in the vendor form that the envelope allows: no registered code says these.
    "sayso.unavailable": 503,
    "sayso.method_not_allowed": 405,
}


class ErrorEnvelope(Exact):
    """The body of every error answer."""

    error: str
    message: str
    details: dict[str, Any] | None = None


class Refusal(Exception):
    """A request that cannot be done, with the registered code that says why.

    `message` is for a person and says what to do next; `details` is JSON. Neither may ever hold a
    secret, a token or an idempotency key: both go to the caller and to the log.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details: dict[str, Any] = details
        self.status = STATUS[code]

    def envelope(self) -> dict[str, Any]:
        """The closed error body."""
        body: dict[str, Any] = {"error": self.code, "message": self.message}
        if self.details:
            body["details"] = self.details
        return body
