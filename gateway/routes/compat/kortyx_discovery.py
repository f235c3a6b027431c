"""Kortyx' `listInterrupts` and `getInterrupt` over HTTP, and the lifecycle of a session's questions.

What is asked after a response was complete is on no stream: here it is found. A listing never has a token;
one question, asked for by its id within a scope, has its resume handle (kortyx: discovery).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from aiohttp import web

from gateway.auth import Keys
from gateway.http import reply
from gateway.routes.compat.kortyx import translated
from gateway.routes.compat.kortyx_errors import KortyxRefused
from gateway.routes.compat.kortyx_prompts import prompt_of, request_id_of
from gateway.routes.compat.kortyx_telemetry import Capture, lifecycle
from gateway.routes.compat.kortyx_turns import Turns
from host import history
from host.chat_sessions import KIND, ChatSession, ChatSessions
from host.children import Bridged, family, open_requests, root_of
from host.decisions.state import Principal, Run, iso
from host.host import Host
from schemas.errors import Refusal

_SCOPES: Final = ("sessionId", "runId", "context")
_MEMBERS: Final = (*_SCOPES, "status", "afterResponseCompleted")
_MOST_SESSIONS: Final = 1000
_FRESH: Final = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Which questions are meant: those of a session, of a run, of the sessions with a context."""

    session_id: str = ""
    run_id: str = ""
    context: dict[str, Any] = field(default_factory=dict)
    after_completed: bool | None = None


def parse_scope(query: Any) -> Scope:
    """The scope of a query string. Raises `KortyxRefused`: an unknown member, no scope at all."""
    unknown = sorted(set(query) - set(_MEMBERS))
    if unknown:
        raise KortyxRefused(f"{unknown[0][:80]} is not known; there is {', '.join(_MEMBERS)}.")
    if query.get("status", "pending") != "pending":
        raise KortyxRefused("status can only be 'pending'.")
    after = query.get("afterResponseCompleted")
    if after not in (None, "true", "false"):
        raise KortyxRefused("afterResponseCompleted is true or false.")
    context = _context(query.get("context"))
    scope = Scope(
        query.get("sessionId", "")[:256],
        query.get("runId", "")[:300],
        context,
        None if after is None else after == "true",
    )
    if not (scope.session_id or scope.run_id or scope.context):
        raise KortyxRefused("Name a scope: sessionId, runId or context.")
    return scope


def _context(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    flat = isinstance(found, dict) and all(
        value is None or isinstance(value, str | int | float | bool) for value in found.values()
    )
    if not flat:
        raise KortyxRefused("context is a JSON object of texts, numbers, booleans and nulls.")
    return dict(found)


class KortyxDiscovery:
    """`/compat/kortyx/interrupts…` and `/compat/kortyx/telemetry`."""

    def __init__(
        self, host: Host, keys: Keys, sessions: ChatSessions, turns: Turns, capture: Capture
    ) -> None:
        self._host = host
        self._keys = keys
        self._sessions = sessions
        self._turns = turns
        self._capture = capture

    def routes(self) -> list[web.RouteDef]:
        base = "/compat/kortyx"
        return [
            web.get(f"{base}/interrupts", translated(self.listing), allow_head=False),
            web.get(f"{base}/interrupts/{{requestId}}", translated(self.one), allow_head=False),
            web.get(f"{base}/telemetry", translated(self.telemetry), allow_head=False),
        ]

    async def listing(self, request: web.Request) -> web.StreamResponse:
        principal = self._keys.caller(request, "runs:read").principal
        scope = parse_scope(request.query)
        items = [item for item, _, _ in await self._pending(principal, scope)]
        items.sort(key=lambda item: (item["createdAt"], item["id"]))
        return reply(200, {"interrupts": items}, _FRESH)

    async def one(self, request: web.Request) -> web.StreamResponse:
        """One question with its handle. 404 when it is unknown, out of scope, or over."""
        principal = self._keys.caller(request, "approvals:respond").principal
        scope = parse_scope(request.query)
        for item, bridged, root in await self._pending(principal, scope):
            if item["id"] != request.match_info["requestId"]:
                continue
            handle = {
                "token": self._turns.token_of(bridged.interrupt),
                "requestId": item["id"],
                "sessionId": item["sessionId"],
                "runId": root.run_id,
            }
            return reply(200, {**item, "resume": handle}, _FRESH)
        raise Refusal("not_found", "No such question is open in this scope.")

    async def telemetry(self, request: web.Request) -> web.StreamResponse:
        """The events of every question in scope, as kortyx' batch endpoint takes them."""
        principal = self._keys.caller(request, "runs:read").principal
        scope = parse_scope(request.query)
        events: list[dict[str, Any]] = []
        for root, session in await self._roots(principal, scope):
            for run, _ in await family(self._host, root):
                events += await self._told(run, session.session_id)
        events.sort(key=lambda event: (event["occurredAt"], event["eventId"]))
        return reply(200, {"events": events}, _FRESH)

    async def _told(self, run: Run, session_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for event in await history.all_events(self._host.store.log, run.run_id):
            opens = (event.record or {}).get("opens")
            interrupt = await self._host.store.log.interrupt(opens) if opens else None
            if interrupt is not None:
                found += lifecycle(interrupt, run.workflow_id, session_id, self._capture)
        return found

    async def _pending(
        self, principal: Principal, scope: Scope
    ) -> list[tuple[dict[str, Any], Bridged, Run]]:
        found = []
        now = self._host.clock()
        for root, session in await self._roots(principal, scope):
            for bridged in await open_requests(self._host, root):
                interrupt = bridged.interrupt
                asked = prompt_of(interrupt)
                if asked is None or not interrupt.is_open(now):
                    continue
                after = interrupt.requested_at > session.completed.get(root.run_id, 1 << 62)
                if scope.after_completed is None or scope.after_completed == after:
                    found.append((_item(bridged, asked, session, after), bridged, root))
        return found

    async def _roots(self, principal: Principal, scope: Scope) -> list[tuple[Run, ChatSession]]:
        """The root runs in scope, each with its session. Every part of a scope narrows it."""
        tenant = principal.tenant
        if scope.session_id:
            one = await self._sessions.find(tenant, scope.session_id)
            sessions = [one] if one is not None else []
        elif scope.run_id:
            run = await root_of(
                self._host, principal, await self._host.run(principal, scope.run_id)
            )
            name = (run.metadata or {}).get("kortyxSessionId", "")
            known = await self._sessions.find(tenant, name) if isinstance(name, str) else None
            sessions = [known or ChatSession("", (run.run_id,))]
        else:
            kept = await self._host.store.documents.list(
                KIND, self._host.clock(), prefix=f"{tenant}/", limit=_MOST_SESSIONS
            )
            names = [document.key.removeprefix(f"{tenant}/") for document in kept]
            loaded = [await self._sessions.find(tenant, name) for name in names]
            sessions = [one for one in loaded if one is not None]
        found = []
        for session in sessions:
            if not _has(session.context, scope.context):
                continue
            for run_id in session.runs:
                run_or_none = await self._host.store.log.run(run_id)
                if run_or_none is not None and scope.run_id in ("", run_id):
                    found.append((run_or_none, session))
        return found


def _has(context: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether every member of `wanted` is there, exactly: 1 is not true."""
    return all(
        name in context and type(context[name]) is type(value) and context[name] == value
        for name, value in wanted.items()
    )


def _item(
    bridged: Bridged, asked: dict[str, Any], session: ChatSession, after: bool
) -> dict[str, Any]:
    interrupt = bridged.interrupt
    found: dict[str, Any] = {
        "id": request_id_of(interrupt.interrupt_id),
        "status": "pending",
        "runId": interrupt.run_id,
        "sessionId": session.session_id,
        "workflow": bridged.run.workflow_id,
        "node": interrupt.node_id,
        "createdAt": iso(interrupt.requested_at),
        "afterResponseCompleted": after,
        "input": {name: value for name, value in asked.items() if name != "meta"},
    }
    if interrupt.deadline is not None:
        found["expiresAt"] = iso(interrupt.deadline)
    return found
