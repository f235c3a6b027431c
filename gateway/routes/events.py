"""A run's events: long poll and SSE (OpenWOP: event stream and poll).

The order of a stream's checks: credential and scope, the id's form, mode and buffer (before anything is
negotiated), tenant and existence, and only then `Last-Event-ID`.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from aiohttp import web

from gateway import wire
from gateway.auth import Keys
from gateway.http import VERSION_HEADER, reply, spoken
from gateway.routes.runs import run_id_of
from gateway.streams.follow import Stream, Subscribers, Wanted
from gateway.streams.modes import parse_modes
from gateway.streams.reader import event_stream
from host.decisions.state import Run
from host.host import Host
from host.store.records import StoredEvent
from schemas.errors import Refusal
from schemas.runs import TERMINAL

_WHOLE: Final = re.compile(r"-?[0-9]+")
_DIGITS: Final = 16


class EventRoutes:
    """`/runs/{runId}/events` and `/runs/{runId}/events/poll`. `most` streams are open at once."""

    def __init__(self, host: Host, keys: Keys, most: int) -> None:
        self._host = host
        self._keys = keys
        self.subscribers = Subscribers(most)
        self.stopping = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/runs/{runId}/events/poll", self.poll, allow_head=False),
            web.get("/runs/{runId}/events", self.stream, allow_head=False),
        ]

    async def poll(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, "runs:read")
        run_id = run_id_of(request)
        after = integer(request, "afterSequence", -1, 0, 2**53)
        timeout = integer(request, "timeout", 30, 1, 60)
        run = await self._host.run(caller.principal, run_id)
        events: list[StoredEvent] = []
        if run.status not in TERMINAL or after < run.version - 1:
            events = await self._host.wait_events(run_id, after, timeout)
            run = await self._host.run(caller.principal, run_id)
        version = spoken(request)
        body = {
            "runId": run_id,
            "events": [wire.event_doc(e, version) for e in events],
            "lastSequence": run.version - 1,
            "status": run.status,
            "isTerminal": run.status in TERMINAL,
        }
        return reply(200, body)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        caller = self._keys.caller(request, "runs:read")
        run_id = run_id_of(request)
        modes = parse_modes(request.query.get("streamMode", "updates"))
        buffer_ms = integer(request, "bufferMs", 0, 0, 5000)
        run = await self._host.run(caller.principal, run_id)
        wanted = Wanted(modes, buffer_ms, _last_event_id(request))
        with self.subscribers.seat():
            return await self._stream(request, run, wanted)

    async def _stream(self, request: web.Request, run: Run, wanted: Wanted) -> web.StreamResponse:
        version = spoken(request)
        seen_all = wanted.after is not None and wanted.after >= run.version - 1
        async with event_stream(request, {VERSION_HEADER: version}) as response:
            if run.status not in TERMINAL or not seen_all:
                await Stream(self._host, response, wanted, version).follow(run, self.stopping)
        return response


def _last_event_id(request: web.Request) -> int | None:
    """The exclusive cursor of a reader that resumes. Raises `Refusal` (`validation_error`).

    Every whole number is one: below 0 means from the start, and far past the end is past the end.
    """
    text = request.headers.get("Last-Event-ID", "").strip()
    if not text:
        return None
    if not _WHOLE.fullmatch(text):
        raise Refusal("validation_error", "Last-Event-ID is the sequence of the last event seen.")
    if text.startswith("-"):
        return -1
    return int(text) if len(text) <= _DIGITS else 10**_DIGITS


def integer(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    """A number of the query, in ASCII digits. Raises `Refusal` (`validation_error`)."""
    text = request.query.get(name)
    if text is None:
        return default
    valid = _WHOLE.fullmatch(text) and len(text) <= _DIGITS
    if not valid or not least <= int(text) <= most:
        raise Refusal("validation_error", f"{name} is a whole number from {least} to {most}.")
    return int(text)
