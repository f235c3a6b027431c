"""A run's events: long poll and SSE (protocol digest 6.5 and 6.6)."""

from __future__ import annotations

import asyncio
from typing import Final

import orjson
from aiohttp import web

from gateway import wire
from gateway.auth import Keys
from gateway.http import VERSION, VERSION_HEADER, reply
from gateway.routes.runs import run_id_of
from host.host import Host
from host.store.port import StoredEvent
from schemas.errors import Refusal
from schemas.runs import TERMINAL

_MODES: Final = ("updates", "debug")
_UPDATES: Final = frozenset(
    {
        "run.started", "run.completed", "run.failed", "run.cancelled", "run.paused", "run.resumed",
        "node.completed", "node.failed", "node.cancelled", "node.skipped", "node.suspended",
        "node.resumed", "node.dispatched", "interrupt.requested", "interrupt.resolved",
        "approval.requested", "approval.received", "approval.granted", "approval.rejected",
        "approval.overridden", "clarification.requested", "clarification.resolved",
        "artifact.created",
    }
)  # fmt: skip
_KEEP_ALIVE_SECONDS: Final = 15.0
_END: Final = frozenset({"run.completed", "run.failed", "run.cancelled"})


class EventRoutes:
    """`/runs/{runId}/events` and `/runs/{runId}/events/poll`."""

    def __init__(self, host: Host, keys: Keys) -> None:
        self._host = host
        self._keys = keys
        self.stopping = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/runs/{runId}/events/poll", self.poll, allow_head=False),
            web.get("/runs/{runId}/events", self.stream, allow_head=False),
        ]

    async def poll(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:read")
        run_id = run_id_of(request)
        after = _integer(request, "afterSequence", -1, 0, 2**53)
        timeout = _integer(request, "timeout", 30, 1, 60)
        run = await self._host.run(caller.principal, run_id)
        events: list[StoredEvent] = []
        if run.status not in TERMINAL or after < run.version - 1:
            events = await self._host.wait_events(run_id, after, timeout)
            run = await self._host.run(caller.principal, run_id)
        body = {
            "runId": run_id,
            "events": [wire.event_doc(e) for e in events],
            "lastSequence": run.version - 1,
            "status": run.status,
            "isTerminal": run.status in TERMINAL,
        }
        return reply(200, body)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        caller = self._keys.caller(request, "runs:read")
        run_id = run_id_of(request)
        modes = _modes(request)
        run = await self._host.run(caller.principal, run_id)
        after = _last_event_id(request)
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
                VERSION_HEADER: VERSION,
            }
        )
        await response.prepare(request)
        if run.status in TERMINAL and after >= run.version - 1:
            return response
        while not self.stopping.is_set():
            events = await self._host.wait_events(run_id, after, _KEEP_ALIVE_SECONDS)
            if not events:
                await response.write(b": keep-alive\n\n")
                continue
            shown = [e for e in events if "debug" in modes or e.type in _UPDATES]
            await response.write(b"".join(_frame(e) for e in shown))
            after = events[-1].sequence
            if any(e.type in _END for e in events):
                break
        return response


def _frame(event: StoredEvent) -> bytes:
    data = orjson.dumps(wire.event_doc(event))
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.sequence, event.type.encode(), data)


def _modes(request: web.Request) -> set[str]:
    asked = request.query.get("streamMode", "updates").split(",")
    if not asked or any(mode not in _MODES for mode in asked):
        raise Refusal(
            "unsupported_stream_mode",
            f"streamMode is one of {', '.join(_MODES)}, or several of them with commas.",
            supported=list(_MODES),
        )
    return set(asked)


def _last_event_id(request: web.Request) -> int:
    text = request.headers.get("Last-Event-ID", "")
    if not text:
        return -1
    if not text.isdecimal() or len(text) > 15:
        raise Refusal("validation_error", "Last-Event-ID is the sequence of the last event seen.")
    return int(text)


def _integer(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 16 or not least <= int(text) <= most:
        raise Refusal("validation_error", f"{name} is a whole number from {least} to {most}.")
    return int(text)
