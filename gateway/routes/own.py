"""What the protocol has no operation for: request, list, look at and cancel interrupts, mint tokens."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from aiohttp import web

from gateway import wire
from gateway.addresses import Addresses
from gateway.auth import Caller, Keys
from gateway.callbacks import Callbacks
from gateway.http import body_of, parse, reply
from gateway.idempotency import Attempt, Idempotency
from gateway.links import AnswerLinks
from gateway.routes.events import integer
from gateway.routes.runs import run_id_of
from gateway.watch import Watch
from host import notes
from host.access import Access
from host.decisions.state import Interrupt, iso
from host.host import Host
from schemas.errors import Refusal
from schemas.ids import BOUND_ID, bound_id_of
from schemas.payloads import check_payload
from schemas.runs import AskBody, CancelBody, MintToken, RequestInterrupt

log = structlog.get_logger("sayso.tokens")

_STATUSES = ("open", "resolved", "cancelled", "expired")


class OwnRoutes:
    """`/host/sayso/…`."""

    def __init__(
        self,
        host: Host,
        access: Access,
        links: AnswerLinks,
        keys: Keys,
        once: Idempotency,
        addresses: Addresses,
        watch: Watch,
        callbacks: Callbacks,
    ) -> None:
        self._callbacks = callbacks
        self._host = host
        self._access = access
        self._links = links
        self._keys = keys
        self._once = once
        self._addresses = addresses
        self._watch = watch

    def routes(self) -> list[web.RouteDef]:
        one = "/host/sayso/interrupts/{interruptId}"
        return [
            web.post("/host/sayso/runs/{runId}/interrupts", self.request),
            web.post("/host/sayso/interrupts", self.ask),
            web.get("/host/sayso/interrupts", self.listing, allow_head=False),
            web.get(one, self.read, allow_head=False),
            web.post(f"{one}/cancel", self.cancel),
            web.post(f"{one}/tokens", self.mint),
        ]

    async def request(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")
        run_id = run_id_of(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(RequestInterrupt, await body_of(request))
            payload = check_payload(body.payload)
            notify = self._addresses.check(body.notify)
            requested = await self._host.request(
                caller.principal,
                run_id,
                body.node_id,
                payload,
                notify,
                follow=body.notify is None,
                self_approval=body.self_approval,
                replies=body.replies or "",
                fallback=self._addresses.fallback(body.fallback),
                reply=attempt.kept(lambda state: (201, wire.interrupt_record(state.interrupt))),
            )
            status = 201 if requested.created else 200
            return status, wire.interrupt_record(requested.interrupt)

        return await self._once.run(request, caller.principal.tenant, "requestInterrupt", act)

    async def ask(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(AskBody, await body_of(request))
            payload, notify = check_payload(body.payload), self._addresses.check(body.notify)
            callback = None
            if body.callback_url is not None:
                callback = await self._callbacks.prepare(caller.principal.tenant, body.callback_url)
            interrupt = await self._host.runs.ask(
                caller.principal,
                body,
                payload,
                notify,
                attempt.kept(lambda state: (201, wire.interrupt_record(state.interrupt))),
                callback,
                self._addresses.fallback(body.fallback),
            )
            return 201, wire.interrupt_record(interrupt)

        return await self._once.run(request, caller.principal.tenant, "ask", act)

    async def listing(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:read")
        status = request.query.get("status")
        if status is not None and status not in _STATUSES:
            raise Refusal("validation_error", f"status is one of {', '.join(_STATUSES)}.")
        limit = integer(request, "limit", 100, 1, 1000)
        cursor = request.query.get("cursor")
        if cursor is not None and not BOUND_ID.match(cursor):
            raise Refusal("validation_error", "cursor is the nextCursor of the page before.")
        page = await self._host.store.log.interrupts(caller.principal.tenant, status, limit, cursor)
        body: dict[str, Any] = {"interrupts": [wire.interrupt_record(i) for i in page.interrupts]}
        if page.cursor is not None:
            body["nextCursor"] = page.cursor
        return reply(200, body)

    async def read(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:read")
        interrupt = await self._interrupt(request, caller)
        wait = integer(request, "wait", 0, 0, 60)
        if wait and interrupt.status == "open":
            interrupt_id = interrupt.interrupt_id
            del interrupt  # whoever is parked for long holds as little as can be
            interrupt = await self._host.wait(caller.principal, interrupt_id, wait)
            if interrupt.status != "open":
                self._watch.resumed(interrupt)
        trace = {"traceparent": interrupt.trace} if interrupt.trace else None
        if not interrupt.notify:  # nobody was told, so nothing was sent and nothing came back
            return reply(200, wire.interrupt_detail(interrupt, [], []), trace)
        store = self._host.store
        messages, found = await asyncio.gather(
            store.deliveries.of(interrupt.interrupt_id),
            notes.of(store.documents, interrupt.interrupt_id, self._host.clock()),
        )
        return reply(200, wire.interrupt_detail(interrupt, messages, found), trace)

    async def cancel(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:cancel")

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(CancelBody, await body_of(request))
            interrupt = await self._host.cancel(
                caller.principal,
                _interrupt_id(request),
                body.reason or "",
                attempt.kept(lambda state: (200, wire.interrupt_record(state.interrupt))),
            )
            return 200, wire.interrupt_record(interrupt)

        return await self._once.run(request, caller.principal.tenant, "cancelInterrupt", act)

    async def mint(self, request: web.Request) -> web.Response:
        """Never idempotent by key: a token is a capability and is kept nowhere."""
        caller = self._keys.caller(request, "approvals:respond")
        interrupt = await self._interrupt(request, caller)
        body = parse(MintToken, await body_of(request))
        ttl = body.ttl_seconds * 1000 if body.ttl_seconds else None
        token, expires = self._access.mint(
            interrupt, body.intent, body.principal, ttl, by=caller.principal
        )
        log.info(
            "token minted",
            interrupt=interrupt.interrupt_id,
            intent=body.intent,
            principal=body.principal,
            by=caller.principal.id,
        )
        answer = {"token": token, "url": self._links.for_token(token), "expiresAt": iso(expires)}
        return reply(201, answer, {"Cache-Control": "no-store"})

    async def _interrupt(self, request: web.Request, caller: Caller) -> Interrupt:
        return await self._host.interrupt(caller.principal, _interrupt_id(request))


def _interrupt_id(request: web.Request) -> str:
    return bound_id_of(request.match_info["interruptId"])
