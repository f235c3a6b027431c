"""The protocol's three interrupt operations: resolve by run, inspect and resolve by token."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from gateway.auth import Keys
from gateway.http import body_of, parse, reply
from gateway.idempotency import Attempt, Idempotency, Render
from gateway.routes.runs import run_id_of
from host.access import Access
from host.decisions.ending import already_resolved
from host.decisions.resolve import Answer
from host.decisions.state import Principal, Run, State
from host.host import Host
from schemas.ids import node_id_of, tenant_of
from schemas.resume import ResolveBody


class InterruptRoutes:
    """`/runs/{runId}/interrupts/{nodeId}` and `/interrupts/{token}` (OpenWOP: resolving)."""

    def __init__(self, host: Host, access: Access, keys: Keys, once: Idempotency) -> None:
        self._host = host
        self._access = access
        self._keys = keys
        self._once = once

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/runs/{runId}/interrupts/{nodeId}", self.resolve_by_run),
            web.get("/interrupts/{token}", self.inspect, allow_head=False),
            web.post("/interrupts/{token}", self.resolve_by_token),
        ]

    async def resolve_by_run(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "approvals:respond")
        run_id, node_id = run_id_of(request), node_id_of(request.match_info["nodeId"])

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            seen = await self._host.at_node(caller.principal, run_id, node_id)
            if seen.interrupt.status != "open":
                raise already_resolved(seen.interrupt)
            body = parse(ResolveBody, await body_of(request))
            principal = self._voter(caller.principal, body.resume_value)
            answer = Answer(principal, body.resume_value, "api")
            kept = attempt.kept(lambda state: (200, _resolved(state.run, node_id)))
            state = await self._host.resolve(seen.interrupt.interrupt_id, answer, kept, seen)
            return 200, _resolved(state.run, node_id)

        return await self._once.run(request, caller.principal.tenant, "resolveInterruptByRun", act)

    def _voter(self, principal: Principal, value: Any) -> Principal:
        """The caller. A test seam lets one key cast the votes of several people; in production a
        voter that the caller chooses would be spoofing."""
        named = value.get("voter") if isinstance(value, dict) else None
        if not self._host.policy.named_voters or not isinstance(named, str):
            return principal
        return Principal(named, principal.tenant, names=frozenset({named}), known=True)

    async def inspect(self, request: web.Request) -> web.Response:
        interrupt, _ = await self._access.open(request.match_info["token"])
        return reply(200, interrupt.payload, {"Cache-Control": "no-store"})

    async def resolve_by_token(self, request: web.Request) -> web.Response:
        token = request.match_info["token"]
        claims = await self._access.verify(token)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            await self._access.open(token)
            body = parse(ResolveBody, await body_of(request))
            kept = attempt.kept(_by_token(claims.node_id))
            state = await self._access.resolve(token, body.resume_value, kept)
            return _by_token(claims.node_id)(state)

        tenant = tenant_of(claims.run_id)
        return await self._once.run(request, tenant, "resolveInterruptByToken", act)


def _by_token(node_id: str) -> Render:
    def render(state: State) -> tuple[int, dict[str, Any]]:
        return 200, _resolved(state.run, node_id)

    return render


def _resolved(run: Run, node_id: str) -> dict[str, Any]:
    return {"runId": run.run_id, "nodeId": node_id, "status": run.status}
