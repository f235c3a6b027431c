"""The parameters and headers of the operations, as OpenAPI components."""

from __future__ import annotations

from typing import Any, Final, get_args

from gateway.streams.modes import MODES
from gateway.webhook_wire import MOST_PAGE
from schemas.api_keys import KEY_NAME
from schemas.hook_events import EventStanding
from schemas.records import InterruptStatus


def _query(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": description, "schema": schema}


def _path(name: str, description: str, **schema: Any) -> dict[str, Any]:
    found = {"name": name, "in": "path", "required": True, "description": description}
    return {**found, "schema": {"type": "string", **schema}}


_BOUND: Final = r"^[A-Za-z0-9._-]{1,128}(~2F|/)[A-Za-z0-9._-]{16,128}$"
_BOUND_TEXT: Final = "The whole tenant-bound id; its slash is spelled `~2F`, or `%2F`."

PATH: Final = {
    "runId": _path("runId", _BOUND_TEXT, pattern=_BOUND),
    "interruptId": _path("interruptId", _BOUND_TEXT, pattern=_BOUND),
    "webhookId": _path("webhookId", _BOUND_TEXT, pattern=_BOUND),
    "deliveryId": _path("deliveryId", _BOUND_TEXT, pattern=_BOUND),
    "keyName": _path("keyName", "The name of an API key.", pattern=KEY_NAME),
    "contractName": _path(
        "contractName", "The name of a contract.", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,41}$"
    ),
    "source": _path("source", "The name of a webhook source.", pattern=r"^[A-Za-z0-9._~-]{1,128}$"),
    "eventId": _path("eventId", "The event's id, percent-encoded.", minLength=1, maxLength=512),
    "nodeId": _path(
        "nodeId", "The node; `:` may be spelled `~3A`.", pattern=r"^[A-Za-z0-9._:-]{1,128}$"
    ),
    "token": _path(
        "token", "`ow2.<alg>.<kid>.<payload>.<mac>`, or a token of version 1.", minLength=1
    ),
}

PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "Version": _header(
        "OpenWOP-Version",
        "The protocol version that the caller speaks; only the major selects.",
        type="string",
        pattern=r"^2(\.[0-9]{1,9})?$",
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "Chosen by the caller; the same key again gets the same answer for at least a day.",
        type="string",
        pattern=r"^[A-Za-z0-9._~-]{22,128}$",
    ),
    "Dedup": _header(
        "OpenWOP-Dedup",
        "`enforce`: refused while another run of the same `scopeId` is active that was created so too.",
        type="string",
        enum=["enforce"],
    ),
    "IfNoneMatch": _header("If-None-Match", "Entity tags that the caller has.", type="string"),
    "LastEventId": _header(
        "Last-Event-ID", "The sequence seen last; the next one follows.", type="integer", minimum=0
    ),
    "StreamMode": _query(
        "streamMode",
        f"{', '.join(MODES)}; several with commas, but for `values`.",
        type="string",
        pattern=r"^(values|(updates|messages|debug)(,(updates|messages|debug))*)$",
        default="updates",
    ),
    "BufferMs": _query(
        "bufferMs",
        "Collects events for so many milliseconds into one `batch` frame. Not in the mode `values`.",
        type="integer",
        minimum=0,
        maximum=5000,
        default=0,
    ),
    "AfterSequence": _query(
        "afterSequence",
        "Only events above this sequence. Leave it out for all.",
        type="integer",
        minimum=0,
        maximum=2**53,
    ),
    "Timeout": _query(
        "timeout", "Seconds to wait.", type="integer", minimum=1, maximum=60, default=30
    ),
    "Wait": _query(
        "wait",
        "Seconds to wait for the end of an open interrupt.",
        type="integer",
        minimum=0,
        maximum=60,
        default=0,
    ),
    "Status": _query(
        "status", "Only those of this status.", type="string", enum=list(get_args(InterruptStatus))
    ),
    "Limit": _query(
        "limit", "How many a page.", type="integer", minimum=1, maximum=1000, default=100
    ),
    "Cursor": _query(
        "cursor",
        "`nextCursor` of the page before.",
        type="string",
        pattern=r"^[A-Za-z0-9._~-]{1,128}/[A-Za-z0-9._~-]{16,128}$",
    ),
    "HookSource": _query(
        "source",
        "Only those of this source.",
        type="string",
        pattern=r"^[A-Za-z0-9._~-]{1,128}$",
    ),
    "HookState": _query(
        "state",
        "Only those in this state; `duplicate`: only those that came more than once.",
        type="string",
        enum=[*get_args(EventStanding), "duplicate"],
    ),
    "HookCursor": _query(
        "cursor",
        "`nextCursor` of the page before.",
        type="string",
        pattern=r"^[A-Za-z0-9_-]{1,2048}$",
    ),
    "DeadLetterLimit": _query(
        "limit", "How many a page.", type="integer", minimum=1, maximum=MOST_PAGE, default=MOST_PAGE
    ),
    "DeadLetterCursor": _query(
        "cursor",
        "`nextCursor` of the page before.",
        type="string",
        pattern=r"^[0-9]{1,15}\.[A-Za-z0-9._~-]{1,128}/[0-9a-f]{32}$",
    ),
}

HEADERS: Final[dict[str, dict[str, Any]]] = {
    "OpenWOP-Version": {
        "description": "The version that this answer was made by.",
        "required": True,
        "schema": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+$"},
    },
    "OpenWOP-Idempotent-Replay": {
        "description": "There, and `true`, when the answer is one that was given before.",
        "schema": {"type": "string", "const": "true"},
    },
    "ETag": {
        "description": "Names this version of the resource.",
        "required": True,
        "schema": {"type": "string", "pattern": '^(W/)?"[^"]*"$'},
    },
    "Retry-After": {
        "description": "Seconds to wait before the request is sent again.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "schema": {"type": "string"},
    },
}
