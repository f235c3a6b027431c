"""Runs: create, read, cancel, and end one that an outside program drives (OpenWOP: runs)."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from gateway import wire
from gateway.auth import Keys
from gateway.callbacks import Callbacks
from gateway.http import body_of, not_modified, parse, reply
from gateway.idempotency import Attempt, Idempotency
from host.host import Host
from schemas.errors import Refusal
from schemas.ids import bound_id_of
from schemas.runs import CancelBody, CreateRun, FinishBody


class RunRoutes:
    """`/runs` and the run operations of our own."""

    def __init__(self, host: Host, keys: Keys, once: Idempotency, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._host = host
        self._keys = keys
        self._once = once

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/runs", self.create),
            web.get("/runs/{runId}", self.read),
            web.post("/runs/{runId}/cancel", self.cancel),
            web.post("/host/sayso/runs/{runId}/complete", self.complete),
        ]

    async def create(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")
        tenant = caller.principal.tenant

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(CreateRun, await body_of(request))
            _check_served(body, request, tenant)
            kept = attempt.kept(lambda state: (201, wire.created(state.run)))
            callback = None
            if body.callback_url is not None:
                callback = await self._callbacks.prepare(tenant, body.callback_url)
            run = await self._host.runs.start(
                caller.principal, body, kept, callback, alone=_alone(body, request)
            )
            return 201, wire.created(run)

        return await self._once.run(request, tenant, "createRun", act)

    async def read(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:read")
        run = await self._host.run(caller.principal, run_id_of(request))
        etag = f'"{run.version}"'
        return not_modified(request, etag) or reply(200, wire.snapshot(run), {"ETag": etag})

    async def cancel(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:cancel")
        run_id = run_id_of(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(CancelBody, await body_of(request))
            answer = {"runId": run_id, "status": "cancelled"}
            kept = attempt.kept(lambda _: (200, answer))
            await self._host.runs.cancel(caller.principal, run_id, body.reason or "", kept)
            return 200, answer

        return await self._once.run(request, caller.principal.tenant, "cancelRun", act)

    async def complete(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:create")
        run_id = run_id_of(request)

        async def act(attempt: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(FinishBody, await body_of(request))
            answer = {"runId": run_id, "status": "completed"}
            kept = attempt.kept(lambda _: (200, answer))
            await self._host.runs.complete(caller.principal, run_id, body.outputs or {}, kept)
            return 200, answer

        return await self._once.run(request, caller.principal.tenant, "completeRun", act)


def run_id_of(request: web.Request) -> str:
    """The run id of the path. Raises `Refusal` (`validation_error`)."""
    return bound_id_of(request.match_info["runId"])


def _check_served(body: CreateRun, request: web.Request, tenant: str) -> None:
    """Refuse what this gateway would have to ignore (OpenWOP: runs): a caller who asks for a
    residency must not believe to have got it.

    Raises `Refusal`: `id_tenant_mismatch`, `capability_required`, `validation_error`.
    """
    if body.tenant_id not in (None, tenant):
        raise Refusal("id_tenant_mismatch", "This API key belongs to another tenant.")
    if body.mode == "eval" or body.eval_suite_ref is not None:
        raise _unserved("eval", "This gateway runs no evaluations.")
    if body.mode is not None:
        raise Refusal("validation_error", "mode can only be 'eval'; leave it out.", field="mode")
    if body.residency is not None:
        raise _unserved("residency", "This gateway can't promise where a run's data is kept.")
    if body.workflow_id is None:
        raise Refusal(
            "validation_error",
            "workflowId is missing: name a workflow, or 'sayso.external' for a run that your own "
            "program drives.",
            field="workflowId",
        )


def _alone(body: CreateRun, request: web.Request) -> bool:
    """Whether this is to be the only active run of its scope. Raises `Refusal` (`validation_error`)."""
    if request.headers.get("OpenWOP-Dedup", "").strip().lower() != "enforce":
        return False
    if not body.scope_id:
        raise Refusal(
            "validation_error",
            "scopeId is missing: OpenWOP-Dedup: enforce lets one run of a scope be active.",
            field="scopeId",
        )
    return True


def _unserved(capability: str, message: str) -> Refusal:
    return Refusal("capability_required", message, requiredCapability=capability)
