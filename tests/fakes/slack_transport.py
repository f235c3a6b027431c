"""How the fake Slack reaches the program: signed requests, or envelopes over the program's
socket.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

ACK_SECONDS = 3.0


@dataclass(slots=True)
class Answer:
    """What the program answered. `status` is 0 when no acknowledgement came in time."""

    status: int
    body: Any = None
    seconds: float = 0.0


@dataclass(slots=True)
class Sent:
    """One payload that was sent, and what became of it."""

    kind: str  # "events_api" or "interactive"
    payload: dict[str, Any]
    answer: Answer


def sign(secret: str, body: bytes, stamp: int) -> dict[str, str]:
    """The two headers that Slack puts on a request."""
    base = b"v0:%d:" % stamp + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(stamp), "X-Slack-Signature": f"v0={digest}"}


async def send_http(
    url: str, secret: str, kind: str, payload: dict[str, Any], headers: dict[str, str]
) -> Answer:
    """POST as Slack does: events as JSON, interactions as a form, signed over those very bytes."""
    if kind == "events_api":
        body, content_type = json.dumps(payload).encode(), "application/json"
    else:
        members = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
        body = urlencode(members).encode()
        content_type = "application/x-www-form-urlencoded"
    signed = sign(secret, body, int(time.time()))
    started = time.monotonic()
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            url, data=body, headers={"Content-Type": content_type, **signed, **headers}
        ) as response,
    ):
        text = await response.text()
        return _answer(response.status, text, time.monotonic() - started)


def _answer(status: int, text: str, seconds: float) -> Answer:
    try:
        return Answer(status, json.loads(text) if text else None, seconds)
    except ValueError:
        return Answer(status, text, seconds)


@dataclass(slots=True)
class Sockets:
    """The Socket Mode side: open sockets, and the acknowledgements that are waited for."""

    open: list[web.WebSocketResponse] = field(default_factory=list)
    tickets: set[str] = field(default_factory=set)
    waiting: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    hearing: list[web.WebSocketResponse] = field(default_factory=list)  # not deaf when they opened
    opened: int = 0
    sent: int = 0
    deaf: bool = False  # take connections and answer no ping: a stalled peer
    used: list[int] = field(default_factory=list)  # which connection got each envelope

    def ticket(self) -> str:
        found = secrets.token_hex(8)
        self.tickets.add(found)
        return found

    async def serve(self, request: web.Request, app_id: str, changed: Any) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets:
            return web.Response(status=401)
        self.tickets.discard(ticket)  # good for one connection
        socket = web.WebSocketResponse(autoping=not self.deaf)
        await socket.prepare(request)
        hello = {
            "type": "hello",
            "num_connections": len(self.open) + 1,
            "connection_info": {"app_id": app_id},
            "debug_info": {"host": "fake", "approximate_connection_time": 3600},
        }
        await socket.send_json(hello)
        self.open.append(socket)
        if not self.deaf:
            self.hearing.append(socket)
        self.opened += 1
        changed()
        try:
            async for frame in socket:
                if frame.type == aiohttp.WSMsgType.TEXT:
                    self._acknowledge(json.loads(frame.data))
        finally:
            self.open.remove(socket)
            changed()
        return socket

    def _acknowledge(self, frame: dict[str, Any]) -> None:
        waiter = self.waiting.pop(frame.get("envelope_id", ""), None)
        if waiter is not None and not waiter.done():
            waiter.set_result(frame.get("payload"))

    async def send(
        self, kind: str, payload: dict[str, Any], headers: dict[str, str], patience: float
    ) -> Answer:
        """One envelope to one of the open sockets, whichever, as Slack does; waits `patience` seconds
        for its acknowledgement, which may come over any."""
        live = [socket for socket in self.open if not socket.closed]
        assert live, "no socket is open"
        envelope: dict[str, Any] = {
            "envelope_id": secrets.token_hex(16),
            "type": kind,
            "accepts_response_payload": kind in ("interactive", "slash_commands"),
            "payload": payload,
        }
        if "X-Slack-Retry-Num" in headers:
            envelope["retry_attempt"] = int(headers["X-Slack-Retry-Num"])
            envelope["retry_reason"] = headers["X-Slack-Retry-Reason"]
        waiter = asyncio.get_running_loop().create_future()
        self.waiting[envelope["envelope_id"]] = waiter
        started = time.monotonic()
        chosen = self.sent % len(live)
        self.sent += 1
        self.used.append(chosen)
        await live[chosen].send_json(envelope)
        try:
            body = await asyncio.wait_for(waiter, patience)
        except TimeoutError:
            return Answer(0, None, time.monotonic() - started)
        return Answer(200, body, time.monotonic() - started)

    async def disconnect(self, reason: str, most: int = 10) -> None:
        """Ask the program to reconnect (up to `most` of its sockets), as Slack does."""
        for socket in self.open[:most]:
            await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})

    async def close(self) -> None:
        for socket in list(self.open):
            await socket.close()
