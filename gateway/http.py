"""What every protocol request and response has in common: JSON, errors, the version header.

Every error is the closed envelope at its registered status; every protocol response names the version that
it was made by; nothing that went wrong inside is told outside (OpenWOP: wire basics).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, cast

import orjson
import structlog
from aiohttp import web
from pydantic import BaseModel, ValidationError

from gateway.json_answer import JsonAnswer
from host.schema_bounds import OutOfBounds
from host.schema_work import size
from host.store.records import StoreUnavailable
from schemas.errors import Refusal
from schemas.payloads import problems
from schemas.versions import DEFAULT_VERSION, ProtocolVersion

log = structlog.get_logger("sayso.http")

PROTOCOL: Final = web.AppKey("protocol version", str)
VERSION_HEADER: Final = "OpenWOP-Version"
DEEPEST: Final = 128
"""Levels of JSON that a request may have: what is sent is kept, and shown again inside of other JSON, and the
encoder stops at 254."""
_VERSION: Final = re.compile(r"(\d{1,9})(\.\d{1,9})?")
_JSON: Final = "application/json"
_OUTSIDE: Final = (
    "/a/",
    "/slack/",
    "/hooks/",
    "/host/sayso/",
    "/compat/",
    "/healthz",
    "/readyz",
    "/metrics",
)

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Recognise = Callable[[web.Request], Awaitable[None]]
"""Finds out who sends a request."""


def spoken(request: web.Request) -> ProtocolVersion:
    """The protocol version that this gateway was told to speak."""
    return cast(ProtocolVersion, request.app.get(PROTOCOL, DEFAULT_VERSION))


def reply(status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
    """A JSON response."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return JsonAnswer(status, raw, headers)


def refused(refusal: Refusal) -> web.Response:
    """The envelope of a refusal, with the headers that its status asks for."""
    response = reply(refusal.status, refusal.envelope())
    if refusal.status == 401 and refusal.code == "unauthenticated":
        response.headers["WWW-Authenticate"] = "Bearer"
    if refusal.status in (429, 503):
        response.headers["Retry-After"] = "1"
    if refusal.code in ("idempotency_in_flight", "run_already_active"):
        response.headers["Retry-After"] = "1"
    return response


def not_modified(request: web.Request, etag: str) -> web.Response | None:
    """304 when `If-None-Match` names `etag` (quoted), by the weak comparison that it asks for: a list,
    `W/` and `*` are understood (RFC 9110, 13.1.2)."""
    asked = request.if_none_match or ()
    if all(tag.value not in ("*", etag.strip('"')) for tag in asked):
        return None
    return web.Response(status=304, headers={"ETag": etag})


async def body_of(request: web.Request) -> Any:
    """The JSON value of the body. Raises `Refusal`: `unsupported_media_type`, `validation_error`."""
    raw = await request.read()
    if not raw:
        return {}
    if request.content_type not in (_JSON, "application/octet-stream"):
        raise Refusal("unsupported_media_type", "Send JSON with 'Content-Type: application/json'.")
    return read_json(raw)


def read_json(raw: bytes) -> Any:
    """The JSON value of `raw`. Raises `Refusal` (`validation_error`), for what is nested too deeply too."""
    try:
        value = orjson.loads(raw)
        if raw.count(b"{") + raw.count(b"[") > DEEPEST:  # else there is nothing to look for
            size(value, DEEPEST)
    except orjson.JSONDecodeError as error:
        raise Refusal("validation_error", f"The body is not JSON: {error}.") from None
    except OutOfBounds as problem:
        raise Refusal("validation_error", f"The body is not taken. {problem}") from None
    return value


def parse(model: type[M], raw: Any) -> M:
    """`raw` as a wire model. Raises `Refusal` (`validation_error`) with every mistake."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        found = problems(error)
        where = ".".join(str(p) for p in found[0]["path"]) or "the body"
        raise Refusal(
            "validation_error", f"{where}: {found[0]['message']}.", errors=found
        ) from None


async def envelope(
    request: web.Request, handler: Handler, recognise: Recognise
) -> web.StreamResponse:
    """Around every handler: refusals, aiohttp's own errors and the unexpected become envelopes."""
    try:
        _check_version(request)
        await recognise(request)
        response = await handler(request)
    except Refusal as refusal:
        response = refused(refusal)
    except StoreUnavailable as away:
        log.error("store unavailable", reason=str(away))
        response = refused(
            Refusal("sayso.unavailable", "The gateway can't reach its store. Try again.")
        )
    except web.HTTPException as error:
        response = _http_error(error)
    except ConnectionError:
        raise
    except Exception:
        log.exception("request failed", method=request.method, route=_route(request))
        response = refused(Refusal("internal_error", "Something went wrong here; it was logged."))
    if not response.prepared and not request.path.startswith(_OUTSIDE):
        response.headers.setdefault(VERSION_HEADER, spoken(request))
    return response


def _check_version(request: web.Request) -> None:
    """Only the major version selects; what is not of the header's form names none that is served."""
    asked = request.headers.get(VERSION_HEADER)
    if asked is None or request.path.startswith(_OUTSIDE):
        return
    form = _VERSION.fullmatch(asked.strip())
    major = int(form[1]) if form else None
    if request.path.startswith("/v1/") and major != 1:
        raise Refusal(
            "protocol_version_mismatch",
            "A path under /v1 is of protocol version 1. Leave the prefix out.",
        )
    if major != 2:
        version = spoken(request)
        raise Refusal(
            "protocol_version_unsupported",
            f"This gateway speaks protocol version {version}: send '{version}', '2' or no header.",
            protocolVersions=[version],
        )


def _http_error(error: web.HTTPException) -> web.StreamResponse:
    if error.status < 400:
        return error
    code = {
        400: "validation_error",
        404: "not_found",
        405: "sayso.method_not_allowed",
        413: "payload_too_large",
        415: "unsupported_media_type",
    }.get(error.status, "internal_error")
    message = {
        "not_found": "No such path; GET /openapi.json lists them. "
        "The slash of an id in a path is spelled '~2F'.",
        "sayso.method_not_allowed": "This resource has no such method.",
        "payload_too_large": "The body is larger than the gateway's http.max_body_bytes. "
        "Send less, or a reference.",
        "unsupported_media_type": "This media type is not accepted here.",
    }.get(code, "The request could not be read.")
    response = refused(Refusal(code, message))
    if "Allow" in error.headers:
        response.headers["Allow"] = error.headers["Allow"]
    return response


def _route(request: web.Request) -> str:
    """The route's pattern, never the path: a path may carry a token."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else "unmatched"
