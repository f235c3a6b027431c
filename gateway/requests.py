"""Around every request: an id for the logs, one line, one count, one span.

The line holds the route's pattern and never the path, which may carry a token. A caller may choose the id
(`X-Request-Id`); every answer names it.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import time
from typing import Any, Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware

from gateway import logs
from gateway.http import Handler, Recognise, envelope
from gateway.json_answer import REQUEST_ID_HEADER as HEADER
from gateway.tracing import traceparent
from gateway.watch import Watch, received_at
from host.observer import asking_trace

log = structlog.get_logger("sayso.requests")

_FORM: Final = re.compile(r"[A-Za-z0-9-]{8,64}")
_PROCESS: Final = secrets.token_hex(5)
_numbers = itertools.count(1)
_GONE: Final = 499  # the caller hung up; no answer was sent


def observed(watch: Watch, recognise: Recognise) -> Middleware:
    """The one middleware: what stands around a request is called from here, since each further middleware
    would cost every request a chain of calls of its own."""

    line = log.bind()

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        # Each connection is a task of its own and serves one request at a time: what is set here is
        # set anew by its next request, so nothing has to be taken back.
        begun = time.perf_counter()
        logs.request_id.set(id_of(request))
        received_at.set(begun)
        given = request.headers.get("traceparent")
        parent = traceparent(given) if given else ""
        status = _GONE
        try:
            if watch.tracing.on:
                response = await _traced(watch, parent, request, handler, recognise)
            else:
                asking_trace.set(parent)
                response = await envelope(request, handler, recognise)
            status = response.status
            return response
        finally:
            route = route_of(request)
            watch.metrics.requested(request.method, route, status)
            _say(line, request.method, route, status, time.perf_counter() - begun)

    return middleware


async def _traced(
    watch: Watch, parent: str, request: web.Request, handler: Handler, recognise: Recognise
) -> web.StreamResponse:
    with watch.tracing.span(
        "request", parent, http_request_method=request.method, http_route=route_of(request)
    ) as span:
        asking_trace.set(span.traceparent)
        response = await envelope(request, handler, recognise)
        span.note(http_status_code=response.status)
        return response


async def name_request(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Put the id on an answer that is no `JsonAnswer`: a page, a stream. For `on_response_prepare`."""
    found = logs.request_id.get()
    if found:
        response.headers[HEADER] = found


def id_of(request: web.Request) -> str:
    """The caller's id if it is well formed (8 to 64 of A-Z a-z 0-9 -), else a new one: random for this
    process, then counted."""
    given = request.headers.get(HEADER)
    return given if given and _FORM.fullmatch(given) else f"{_PROCESS}{next(_numbers):08x}"


def route_of(request: web.Request) -> str:
    """The pattern of the route, never the path."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else "unmatched"


def _say(line: Any, method: str, route: str, status: int, seconds: float) -> None:
    """A line a request costs as much as the request: only what failed is said at the usual level."""
    if status >= 500:
        write = line.warning
    elif line.is_enabled_for(logging.DEBUG):
        write = line.debug
    else:
        return
    write("request", method=method, route=route, status=status, ms=round(seconds * 1000, 1))
