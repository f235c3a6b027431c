"""What the routes of this dialect have in common: callers, refusals, preflights."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
from aiohttp import web

from gateway import auth
from gateway.addresses import Addresses
from gateway.auth import Keys, bearer
from gateway.client_tokens import ClientTokens
from gateway.routes.compat.substructure_prompts import Agent
from host.branches import Caller
from host.decisions.session_begin import Beginning
from schemas.errors import Refusal

PREFIX: Final = "/compat/substructure"
CORS: Final = {"Access-Control-Allow-Origin": "*"}
Handle = Callable[[Any, web.Request], Awaitable[web.StreamResponse]]


class Malformed(Exception):
    """JSON that doesn't fit: 422, with where."""


def answering(handle: Handle) -> Handle:
    """Refusals in their shape: `{"error": "<sentence>"}`."""

    @functools.wraps(handle)
    async def wrapped(self: Any, request: web.Request) -> web.StreamResponse:
        try:
            return await handle(self, request)
        except Malformed as error:
            return answer(422, {"error": str(error)})
        except Refusal as refusal:
            body: dict[str, Any] = {"error": refusal.message}
            if refusal.details.get("interrupts"):
                body["interrupts"] = refusal.details["interrupts"]
            headers = {"Retry-After": "1"} if refusal.status in (429, 503) else None
            return answer(refusal.status, body, headers)

    return wrapped


class Callers:
    """Who sends a request: the bearer of a client token, or a program with an API key."""

    def __init__(
        self,
        keys: Keys,
        tokens: ClientTokens,
        agents: Mapping[str, Agent],
        addresses: Addresses,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._agents = agents
        self._addresses = addresses

    def key(self, request: web.Request, scope: str) -> auth.Caller:
        """A program, by its API key. Raises `Refusal`: `unauthenticated`, `forbidden`."""
        return self._keys.caller(request, scope)

    def check_known(self, request: web.Request) -> None:
        """For a route whose scope hangs on its body: nobody unknown has one read. Raises `Refusal`
        (`unauthenticated`)."""
        if self._tokens.read(bearer(request)) is None:
            self._keys.known(request)

    def caller(self, request: web.Request, scope: str) -> tuple[Caller, dict[str, Any]]:
        """The caller, and the owner of a session that they begin. Raises `Refusal`."""
        holder = self._tokens.read(bearer(request))
        if holder is None:
            return self.machine(request, scope)
        if scope not in holder.scopes:
            raise Refusal("forbidden", f"This token was minted without the scope {scope}.")
        return Caller(holder.principal, "frontend", holder.identity), holder.owner

    def machine(self, request: web.Request, scope: str) -> tuple[Caller, dict[str, Any]]:
        key = self._keys.caller(request, scope)
        level: Any = "operator" if "keys:manage" in key.scopes else "machine"
        return Caller(key.principal, level), {"id": key.principal.id}

    def beginning(
        self, agent_id: str, owner: dict[str, Any], caller: Caller, thread: str | None = None
    ) -> Beginning:
        """What a session begins with. `thread` is the place that the request names, "" for nowhere; None
        takes the agent's. Raises `Malformed`; `Refusal` (`forbidden`) for a user who names a place."""
        agent = self._agents.get(agent_id)
        if agent is None:
            raise Malformed(f"agent_id: there is no agent {agent_id[:80]!r} here")
        if thread is None:
            return Beginning(agent_id, owner, thread=agent.thread)
        if caller.level == "frontend":
            raise Refusal(
                "forbidden",
                "thread: only a program with an API key says where a conversation has its thread.",
            )
        try:
            return Beginning(agent_id, owner, thread=thread and self._addresses.thread(thread))
        except Refusal as refusal:
            raise Malformed(refusal.message) from None


async def preflight(request: web.Request) -> web.Response:
    """A browser asks before it calls: any origin may, since nothing is granted by a cookie."""
    headers = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
        "Access-Control-Max-Age": "600",
    }
    return web.Response(status=204, headers=CORS | headers)


def answer(status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
    """A JSON answer that a browser of any origin may read."""
    return web.Response(
        body=orjson.dumps(body),
        status=status,
        content_type="application/json",
        headers=CORS | (headers or {}),
    )
