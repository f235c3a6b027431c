"""Symfonic's resume endpoint and, beside it, what `agent.interrupt` is in their process.

    POST /compat/symfonic/api/v1/interrupts                raise a pause -> its event, with a token
    GET  /compat/symfonic/api/v1/interrupts/{interruptId}  the event that says how it stands (?wait=30)
    POST /compat/symfonic/api/v1/resume/{pauseToken}       the bare answer -> a stream of events

Every request has an API key and the scope headers `X-Tenant-ID`, `X-Sub-Tenant-ID`, `X-Namespace`; the
tenant is the key's. See docs/dialects/symfonic.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web
from pydantic import ValidationError

from gateway.addresses import Addresses
from gateway.auth import Caller, Keys
from gateway.http import read_json, reply
from gateway.routes.compat.symfonic_wire import (
    error_body,
    error_frame,
    event_of,
    frame,
    status_of,
)
from gateway.routes.events import integer
from host.pause_tokens import Scope
from host.pauses import Pause, Pauses
from schemas.errors import Refusal
from schemas.payloads import problems
from schemas.symfonic import PauseBody

PREFIX = "/compat/symfonic/api/v1"
_FRESH = {"Cache-Control": "no-store"}
_LONGEST_SCOPE = 128
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class SymfonicRoutes:
    """The dialect."""

    def __init__(self, pauses: Pauses, keys: Keys, addresses: Addresses) -> None:
        self._pauses = pauses
        self._keys = keys
        self._addresses = addresses

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{PREFIX}/interrupts", _translated(self.pause)),
            web.get(
                f"{PREFIX}/interrupts/{{interruptId}}", _translated(self.look), allow_head=False
            ),
            web.post(f"{PREFIX}/resume/{{pauseToken}}", _translated(self.resume)),
        ]

    async def pause(self, request: web.Request) -> web.StreamResponse:
        caller = self._keys.caller(request, "runs:create")
        scope = _scope(request, caller)
        try:
            body = PauseBody.model_validate(await _json(request))
        except ValidationError as error:
            found = problems(error)
            where = ".".join(map(str, found[0]["path"])) or "the body"
            raise Refusal("validation_error", f"{where}: {found[0]['message']}.") from None
        notify = self._addresses.check(body.notify)
        pause = await self._pauses.pause(caller.principal, scope, body, notify)
        return self._event(201, pause)

    async def look(self, request: web.Request) -> web.StreamResponse:
        caller = self._keys.caller(request, "runs:read")
        wait = integer(request, "wait", 0, 0, 60)
        name = request.match_info["interruptId"]
        pause = await self._pauses.look(_scope(request, caller), name, wait)
        return self._event(200, pause)

    async def resume(self, request: web.Request) -> web.StreamResponse:
        caller = self._keys.caller(request, "approvals:respond")
        scope = _scope(request, caller)
        token = request.match_info["pauseToken"]
        pause = await self._pauses.redeem(caller.principal, scope, token, await _json(request))
        return web.Response(
            body=frame(event_of(pause, "")),
            headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", **_FRESH},
        )

    def _event(self, status: int, pause: Pause) -> web.Response:
        token = self._pauses.mint(pause) if pause.interrupt.status == "open" else ""
        event = event_of(pause, token)
        body = {**event.wire(), "event": type(event).__name__, "interrupt_id": pause.interrupt_id}
        return reply(status, body, _FRESH)


def _scope(request: web.Request, caller: Caller) -> Scope:
    """The scope headers. Raises `Refusal`: `unauthenticated` without a tenant, `forbidden` for one that is
    not the key's, `validation_error` for levels that are too long or contradict each other."""
    tenant = request.headers.get("X-Tenant-ID", "").strip()
    if not tenant:
        raise Refusal("unauthenticated", "Send the scope: X-Tenant-ID is missing.")
    if tenant != caller.principal.tenant:
        raise Refusal("forbidden", "This API key belongs to another tenant than X-Tenant-ID.")
    levels = [request.headers.get(name, "").strip() for name in ("X-Sub-Tenant-ID", "X-Namespace")]
    if any(len(level) > _LONGEST_SCOPE for level in levels):
        raise Refusal("validation_error", f"A level of the scope has {_LONGEST_SCOPE} characters.")
    sub, namespace = (level or None for level in levels)
    if sub and namespace and sub != namespace:
        raise Refusal("validation_error", "X-Sub-Tenant-ID and X-Namespace are given and differ.")
    return Scope(tenant, sub, namespace)


async def _json(request: web.Request) -> object:
    return read_json(await request.read())


def _translated(handler: Handler) -> Handler:
    """Refusals by their code map. A reader of streams gets its `error` event, under the status that it
    names: their own servers answer it under 200."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refusal as refusal:
            status = status_of(refusal)
            if "text/event-stream" in request.headers.get("Accept", ""):
                headers = {"Content-Type": "text/event-stream", **_FRESH}
                return web.Response(status=status, body=error_frame(refusal), headers=headers)
            return reply(status, error_body(refusal), _FRESH)

    return handle
