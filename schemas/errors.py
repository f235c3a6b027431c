"""The registered error codes, their one HTTP status each, and the exception that carries one.

docs/errors.md is made from the table here.

The envelope is `{error, message, details?}`, closed; the status is the registered one and nothing
else (OpenWOP: error envelope, codes). A refusal is raised anywhere below the gateway and rendered once,
in the gateway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from schemas.model import Exact


@dataclass(frozen=True, slots=True)
class Registered:
    """A code: its one HTTP status, when it is sent, and what the caller does next."""

    status: int
    when: str
    then: str


REGISTRY: Final[dict[str, Registered]] = {
    "validation_error": Registered(
        400,
        "The request does not fit its schema, or the answer does not fit the question.",
        "Correct what `details.errors` lists, one `{path, message}` a mistake. "
        "The question stays open.",
    ),
    "idempotency_key_invalid": Registered(
        400,
        "The `Idempotency-Key` is not 22 to 128 characters of `A-Z a-z 0-9 . _ ~ -`.",
        "Send a key of that form; a UUID fits.",
    ),
    "unsupported_stream_mode": Registered(
        400,
        "`streamMode` is not a mode of the stream, or `values` was combined with another.",
        "Choose from `details.supported`.",
    ),
    "protocol_version_mismatch": Registered(
        400,
        "The path belongs to version 1 and the `OpenWOP-Version` header to another.",
        "Use the unversioned path.",
    ),
    "webhook_url_rejected": Registered(
        400,
        "The URL of a webhook is not https, or leads to a private address.",
        "Register a public https URL.",
    ),
    "webhook_endpoint_unverified": Registered(
        400,
        "The endpoint did not echo the verification challenge.",
        "Answer the challenge within ten seconds, then register again.",
    ),
    "unauthenticated": Registered(
        401,
        "No API key was sent, or it is not known here.",
        "Send `Authorization: Bearer <key>`.",
    ),
    "interrupt_token_invalid": Registered(
        401,
        "The token in the path is not one that this gateway minted.",
        "Ask for a new link. All kinds of bad tokens have this one answer.",
    ),
    "forbidden": Registered(
        403,
        "The key lacks the scope in `details.scope`, the person may not answer this request, or the "
        "token only shows it.",
        "Let somebody answer who may. The question stays open.",
    ),
    "run_forbidden": Registered(
        403, "The run may not be used by this caller.", "Use a key of the run's owner."
    ),
    "id_tenant_mismatch": Registered(
        403,
        "The id belongs to another tenant. Decided before any look-up, so it says nothing about what "
        "exists.",
        "Use a key of that tenant.",
    ),
    "not_found": Registered(404, "No such run, node, interrupt or path.", "Check the id."),
    "interrupt_not_found": Registered(404, "No such interrupt.", "Check the id."),
    "replay_source_missing": Registered(
        404,
        "The source of this replay has no recorded answer to the key. A replay asks nobody.",
        "Fork in the mode `branch` to ask for real.",
    ),
    "protocol_version_unsupported": Registered(
        406,
        "The `OpenWOP-Version` header asks for a version that is not served.",
        "Choose from `details.protocolVersions`, or send no header.",
    ),
    "interrupt_already_resolved": Registered(
        409,
        "The one answer has been given, or can't be given any more: the run ended, the deadline "
        "passed, the request was taken back.",
        "Read the interrupt to see how it ended.",
    ),
    "idempotency_key_mismatch": Registered(
        409,
        "The key was used for another request.",
        "Use a new key for a new request.",
    ),
    "idempotency_in_flight": Registered(
        409,
        "A request with this key is being processed.",
        "Send it again after `Retry-After` seconds: it then gets the first one's answer.",
    ),
    "run_already_active": Registered(
        409, "A run of this scope is active.", "Wait for it to end, or use another scope."
    ),
    "run_terminal": Registered(
        409, "The run has ended: it can neither ask nor be cancelled.", "Start a new run."
    ),
    "run_state_conflict": Registered(
        409,
        "The run's state does not allow this; `details.runStatus` says which it is in.",
        "Wait for the state to change. A node asks one thing at a time.",
    ),
    "interrupt_expired": Registered(410, "The time of the token is over.", "Ask for a new link."),
    "payload_too_large": Registered(
        413, "The body is larger than `http.max_body_bytes`.", "Send less, or a reference."
    ),
    "unsupported_media_type": Registered(
        415, "The body is not `application/json`.", "Send JSON with that content type."
    ),
    "capability_required": Registered(
        422,
        "The request needs a capability that this gateway does not advertise: "
        "`details.requiredCapability`.",
        "Leave the member out, or use a host that serves it.",
    ),
    "fork_point_invalid": Registered(
        422, "The run has no event of that sequence to fork at.", "Use a sequence of its log."
    ),
    "approval_rejected": Registered(
        422,
        "In `run.failed` and `node.failed`: an approval was rejected and nothing handles that.",
        "Not retried. Give the gate an edge for rejection.",
    ),
    "run_timeout": Registered(
        422,
        "In `node.failed`: nobody answered before the deadline.",
        "Ask again with a later `timeoutMs`.",
    ),
    "client_version_unsupported": Registered(
        426, "The client's protocol version is too old.", "Update the client."
    ),
    "rate_limited": Registered(
        429,
        "Too many requests, or too many open streams.",
        "Try again after `Retry-After` seconds.",
    ),
    "internal_error": Registered(
        500, "Something went wrong in the gateway; it was logged.", "Try again; tell the operator."
    ),
    # Ours, in the vendor form that the envelope allows: no registered code says these.
    "sayso.unavailable": Registered(
        503,
        "The gateway can't reach its store, or a provider that it has to ask. Nothing was recorded.",
        "Send the same request again after `Retry-After` seconds.",
    ),
    "sayso.contract_conflict": Registered(
        409,
        "The contract's name is the operator's, or its version is registered with other schemas.",
        "Register what changed under a new version, or choose another name.",
    ),
    "sayso.pause_lost": Registered(
        424,
        "The store no longer has what a pause token answers.",
        "Raise the pause again; tell the operator that its store was replaced or emptied.",
    ),
    "sayso.method_not_allowed": Registered(
        405, "The resource has no such method.", "Use a method of the `Allow` header."
    ),
}
STATUS: Final[dict[str, int]] = {code: found.status for code, found in REGISTRY.items()}


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
