"""Forks of runs, what an agent reports of its decisions, and the seams that a replay suppresses."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from aiohttp import web

from gateway import wire
from gateway.addresses import Addresses
from gateway.auth import Keys
from gateway.http import body_of, parse, reply
from gateway.idempotency import Attempt, Idempotency
from gateway.routes.runs import run_id_of
from host.agents import report
from host.forks import fork
from host.host import Host
from schemas.ids import path_segment
from schemas.runs import AgentDecision, ForkBody


class ForkRoutes:
    """`POST /runs/{runId}:fork`, `/host/sayso/runs/{runId}/agent-decisions`, `/host/effect-seams`."""

    def __init__(self, host: Host, keys: Keys, once: Idempotency, addresses: Addresses) -> None:
        self._host = host
        self._keys = keys
        self._once = once
        self._addresses = addresses

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/runs/{runId}:fork", self.fork),
            web.post("/host/sayso/runs/{runId}/agent-decisions", self.decided),
            web.get("/host/effect-seams", self.seams, allow_head=False),
        ]

    async def fork(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")
        self._keys.caller(request, "runs:read")
        source = run_id_of(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(ForkBody, await body_of(request))

            def answer(run_id: str, status: str) -> dict[str, Any]:
                segment = path_segment(run_id)
                return {
                    "runId": run_id,
                    "sourceRunId": source,
                    "mode": body.mode,
                    "status": status,
                    "eventsUrl": f"/runs/{segment}/events",
                    "fromSeq": body.from_seq or 0,
                }

            kept = attempt.kept(lambda s: (201, answer(s.run.run_id, s.run.status)))
            run = await fork(self._host, caller.principal, source, body, kept)
            return 201, answer(run.run_id, run.status)

        return await self._once.run(request, caller.principal.tenant, "forkRun", act)

    async def decided(self, request: web.Request) -> web.Response:
        """An agent decided something: below the run's threshold a person is asked to ratify it."""
        caller = self._keys.caller(request, "runs:create")
        run_id = run_id_of(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(AgentDecision, await body_of(request))
            notify = self._addresses.check(body.notify)
            interrupt = await report(self._host, caller.principal, run_id, body, notify)
            if interrupt is None:
                return 200, {"runId": run_id, "escalated": False}
            record = {"escalated": True, **wire.interrupt_record(interrupt)}
            return 201, record

        return await self._once.run(request, caller.principal.tenant, "reportDecision", act)

    async def seams(self, request: web.Request) -> web.Response:
        """Every outbound effect of this host, and that a replay has none of them."""
        self._keys.caller(request, "runs:read")
        messages = "a replay opens its interrupts without addresses, so no message is ever due"
        seams = [
            {"seam": f"channel.{name}", "kind": "message", "guarded": True, "guardedBy": messages}
            for name in sorted(self._addresses.channels)
        ]
        webhooks = "events of a replay make no row in the outbox"
        out = {"seam": "webhooks.out", "kind": "webhook", "guarded": True, "guardedBy": webhooks}
        build = version("sayso-gateway")
        host = {"name": "sayso-gateway", "build": build}
        return reply(200, {"manifestVersion": "1", "host": host, "seams": [*seams, out]})
