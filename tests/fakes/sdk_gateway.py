"""The part of the gateway's HTTP contract that the client uses, in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from aiohttp import web

from schemas.ids import IDEMPOTENCY_KEY, from_path_segment
from schemas.payloads import check_payload
from schemas.runs import AgentDecision, CancelBody, CreateRun, FinishBody, RequestInterrupt

KEY = "test-key"


class Gateway:
    """The contract in memory. `answer(kind, data)` answers a question at once, or leaves it
    open."""

    def __init__(self) -> None:
        self.url = ""
        self.runs: dict[str, dict[str, Any]] = {}
        self.interrupts: dict[str, dict[str, Any]] = {}
        self.asked: list[dict[str, Any]] = []
        self.created: list[dict[str, Any]] = []
        self.reported: list[dict[str, Any]] = []
        self.reasons: list[str | None] = []
        self.calls: list[str] = []
        self.trouble: list[
            int | str
        ] = []  # what the next requests meet instead: a status, or "drop"
        self.answer: Callable[[str, dict[str, Any]], Any] = lambda kind, data: None
        self.changed = asyncio.Condition()
        self.called = asyncio.Event()
        self.waiting: set[asyncio.Transport] = set()

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.post("/runs", self._create),
                web.post("/runs/{run}/cancel", self._cancel_run),
                web.post("/runs/{run}/interrupts/{node}", self._resolve_at),
                web.post("/host/sayso/runs/{run}/interrupts", self._ask),
                web.post("/host/sayso/runs/{run}/agent-decisions", self._decided),
                web.post("/host/sayso/runs/{run}/complete", self._complete),
                web.get("/host/sayso/interrupts/{interrupt}", self._wait),
                web.post("/host/sayso/interrupts/{interrupt}/cancel", self._cancel),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.rel_url.raw_path}")
        self.called.set()
        if self.trouble:
            trouble = self.trouble.pop(0)
            if trouble == "drop":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            return web.Response(status=int(trouble), headers={"Retry-After": "0"})
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return _error(401, "unauthenticated", "no such key")
        return await handler(request)  # type: ignore[no-any-return]

    async def _create(self, request: web.Request) -> web.Response:
        raw = await request.json()
        body = CreateRun.model_validate(raw)
        self.created.append(raw)
        assert body.workflow_id == "sayso.external"
        named = request.headers["Idempotency-Key"]
        assert IDEMPOTENCY_KEY.match(named)
        dedup = request.headers.get("OpenWOP-Dedup")
        assert dedup == (None if body.scope_id is None else "enforce")
        run = self.runs.setdefault(
            named, {"runId": f"acme/run{len(self.runs):016}", "status": "running"}
        )
        run.setdefault("metadata", body.metadata)
        return web.json_response(
            {"runId": run["runId"], "status": run["status"], "eventsUrl": "/e"}, status=201
        )

    async def _ask(self, request: web.Request) -> web.Response:
        run_id, raw = from_path_segment(request.match_info["run"]), await request.json()
        body = RequestInterrupt.model_validate(raw)
        check_payload(body.payload)
        for old in self.interrupts.values():
            if (old["runId"], old["key"]) == (run_id, body.payload["key"]):
                return web.json_response(old, status=200)
        self.asked.append(raw)
        found = {
            "interruptId": f"acme/int{len(self.interrupts):016}",
            "runId": run_id,
            "nodeId": body.node_id,
            "key": body.payload["key"],
            "kind": body.payload["kind"],
            "status": "open",
        }
        self.interrupts[found["interruptId"]] = found
        value = self.answer(found["kind"], body.payload["data"])
        if found["kind"] in ("conversation.start", "conversation.close"):
            found |= {"status": "resolved", "resumeValue": None}
        elif isinstance(value, str) and value in ("expired", "cancelled"):
            found["status"] = value
        elif value is not None:
            found |= {"status": "resolved", "resumeValue": value}
        async with self.changed:
            self.changed.notify_all()
        return web.json_response(found, status=201)

    async def _decided(self, request: web.Request) -> web.Response:
        raw = await request.json()
        AgentDecision.model_validate(raw)
        assert IDEMPOTENCY_KEY.match(request.headers["Idempotency-Key"])
        self.reported.append(raw)
        answered = self.answer("low-confidence", raw)
        if answered is None:
            return web.json_response({"runId": "acme/r", "escalated": False})
        found = {"interruptId": "acme/int-decision", "status": "resolved", "escalated": True}
        return web.json_response(found | {"resumeValue": answered}, status=201)

    async def _wait(self, request: web.Request) -> web.Response:
        found = self.interrupts[from_path_segment(request.match_info["interrupt"])]
        seconds = int(request.query["wait"])
        assert 0 <= seconds <= 60
        assert request.transport is not None
        self.waiting.add(request.transport)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self.changed:
                await self.changed.wait_for(lambda: found["status"] != "open")
        self.waiting.discard(request.transport)
        return web.json_response(found)

    def break_waits(self) -> None:
        """Break the connections of all long polls, as a gateway that dies does."""
        while self.waiting:
            self.waiting.pop().abort()

    async def _resolve_at(self, request: web.Request) -> web.Response:
        body = await request.json()
        run_id = from_path_segment(request.match_info["run"])
        node = from_path_segment(request.match_info["node"])
        await self.resolve(body["resumeValue"], run_id, node)
        return web.json_response({"runId": run_id, "nodeId": node, "status": "running"})

    async def resolve(self, value: Any, run_id: str = "", node: str = "") -> None:
        async with self.changed:
            for found in self.interrupts.values():
                fits = (not run_id or found["runId"] == run_id) and node in ("", found["nodeId"])
                if fits and found["status"] == "open":
                    found |= {"status": "resolved", "resumeValue": value}
            self.changed.notify_all()

    async def until_asked(self, number: int = 1) -> None:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(lambda: len(self.asked) >= number)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that requests bring about."""
        async with asyncio.timeout(60):
            while not holds():
                self.called.clear()
                await self.called.wait()

    async def until_called(self, prefix: str) -> None:
        await self.until(lambda: any(call.startswith(prefix) for call in self.calls))

    async def _cancel(self, request: web.Request) -> web.Response:
        self.reasons.append(CancelBody.model_validate(await request.json()).reason)
        self.interrupts[from_path_segment(request.match_info["interrupt"])]["status"] = "cancelled"
        return web.json_response({})

    async def _cancel_run(self, request: web.Request) -> web.Response:
        self.reasons.append(CancelBody.model_validate(await request.json()).reason)
        return self._end(request, "cancelled")

    async def _complete(self, request: web.Request) -> web.Response:
        FinishBody.model_validate(await request.json())
        return self._end(request, "completed")

    def _end(self, request: web.Request, status: str) -> web.Response:
        run_id = from_path_segment(request.match_info["run"])
        next(run for run in self.runs.values() if run["runId"] == run_id)["status"] = status
        return web.json_response({"runId": run_id, "status": status})


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response(
        {"error": code, "message": message, "details": {"a": 1}}, status=status
    )
