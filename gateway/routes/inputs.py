"""Contracts, and requests for input made under them: ours, beside the protocol's interrupts."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from gateway import wire
from gateway.addresses import Addresses
from gateway.auth import Keys
from gateway.http import body_of, parse, reply
from gateway.idempotency import Attempt, Idempotency
from gateway.routes.runs import run_id_of
from host.chat_sessions import ChatSessions
from host.children import root_of
from host.host import Host
from host.registry import Contracts
from schemas.contracts import AskForInput, Contract
from schemas.errors import Refusal


class InputRoutes:
    """`/host/sayso/contracts` and `/host/sayso/runs/{runId}/inputs`."""

    def __init__(
        self,
        host: Host,
        keys: Keys,
        once: Idempotency,
        addresses: Addresses,
        contracts: Contracts,
        sessions: ChatSessions,
    ) -> None:
        self._host = host
        self._keys = keys
        self._once = once
        self._addresses = addresses
        self._contracts = contracts
        self._sessions = sessions

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/host/sayso/contracts", self.register),
            web.get("/host/sayso/contracts", self.listing, allow_head=False),
            web.get("/host/sayso/contracts/{contractName}", self.read, allow_head=False),
            web.post("/host/sayso/runs/{runId}/inputs", self.ask),
        ]

    async def register(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")
        contract = parse(Contract, await body_of(request))
        kept, created = await self._contracts.register(caller.principal.tenant, contract)
        return reply(201 if created else 200, kept.wire())

    async def listing(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:read")
        found = await self._contracts.listing(caller.principal.tenant)
        return reply(200, {"contracts": [one.wire() for one in found]})

    async def read(self, request: web.Request) -> web.Response:
        """Every version of one contract."""
        caller = self._keys.caller(request, "runs:read")
        name = request.match_info["contractName"]
        listed = await self._contracts.listing(caller.principal.tenant)
        found = [one for one in listed if one.contract.name == name]
        if not found:
            raise Refusal("not_found", "No contract of this name is registered here.")
        return reply(200, {"contracts": [one.wire() for one in found]})

    async def ask(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")
        principal, run_id = caller.principal, run_id_of(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(AskForInput, await body_of(request))
            notify = self._addresses.check(body.notify)
            if body.session is not None:
                root = await root_of(self._host, principal, await self._host.run(principal, run_id))
                await self._sessions.change(
                    principal.tenant, body.session, lambda one: one.with_run(root.run_id)
                )
            requested = await self._contracts.ask(
                principal,
                run_id,
                body,
                notify,
                attempt.kept(lambda state: (201, wire.interrupt_record(state.interrupt))),
            )
            status = 201 if requested.created else 200
            return status, wire.interrupt_record(requested.interrupt)

        return await self._once.run(request, principal.tenant, "askForInput", act)
