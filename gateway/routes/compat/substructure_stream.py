"""A session's event stream: server-sent events of its log, from a place on, or of one turn."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import orjson
from aiohttp import web

from gateway.routes.compat.substructure_http import CORS
from gateway.routes.compat.substructure_wire import event_frame, turn_after
from gateway.streams.follow import KEEP_ALIVE_SECONDS, PATIENCE_SECONDS, Subscribers
from gateway.streams.reader import event_stream
from host.decisions.state import Run
from host.host import Host
from schemas.errors import Refusal
from schemas.runs import TERMINAL

_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_PAGE: Final = 200


class SessionStreams:
    """Open streams count as those of runs do; `stopping` ends them."""

    def __init__(self, host: Host, subscribers: Subscribers, stopping: asyncio.Event) -> None:
        self._host = host
        self._subscribers = subscribers
        self._stopping = stopping

    async def follow(self, request: web.Request, run: Run, session_id: str) -> web.StreamResponse:
        """Raises `Refusal`: `validation_error`, `rate_limited`."""
        after, wanted = _after(request), request.query.get("turn_id")
        with self._subscribers.seat():
            async with event_stream(request, CORS) as response:
                await self._write(response, run, session_id, after, wanted)
            return response

    async def _write(
        self,
        response: web.StreamResponse,
        run: Run,
        session_id: str,
        after: int,
        wanted: str | None,
    ) -> None:
        """The log is read from its start, since which turn an event belongs to is a fold over it."""
        cursor, turn = -1, None
        while not self._stopping.is_set():
            events = await self._host.wait_events(run.run_id, cursor, KEEP_ALIVE_SECONDS, _PAGE)
            if not events:
                await _send(response, b": keep-alive\n\n")
            for event in events:
                if event.sequence <= cursor:
                    continue
                cursor = event.sequence
                before, turn = turn, turn_after(event, turn)
                belongs = turn or before
                ended = event.type == "sayso.turn-ended" and event.payload["turnId"] == wanted
                frame = event_frame(event, session_id, belongs)
                shown = wanted is None or belongs == wanted or ended
                if frame is not None and event.sequence + 1 > after and shown:
                    await _send(response, _frame(event.sequence + 1, *frame))
                if ended or (event.type.startswith("run.") and event.type[4:] in TERMINAL):
                    return


def _frame(seq: int, kind: str, doc: object) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, kind.encode(), orjson.dumps(doc))


async def _send(response: web.StreamResponse, raw: bytes) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await response.write(raw)


def _after(request: web.Request) -> int:
    """The last `seq` that the reader has: of its header, else of the query. Raises `Refusal`."""
    text = request.headers.get("Last-Event-ID") or request.query.get("after_seq") or "0"
    if not _WHOLE.fullmatch(text.strip()):
        raise Refusal("validation_error", "after_seq is the seq of the last event seen.")
    return int(text)
