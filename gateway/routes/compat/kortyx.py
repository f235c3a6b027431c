"""Kortyx' chat route, and `agent.resume` over HTTP, under `/compat/kortyx`.

An application points its chat transport here, with our API key on its server side. What runs is a workflow
of this gateway, or a run that another program drives. See docs/dialects/kortyx.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import structlog
from aiohttp import web

from gateway.auth import Caller, Keys
from gateway.http import body_of, reply
from gateway.routes.compat.kortyx_chat import (
    DONE,
    Chat,
    chunks_of,
    frame,
    parse_chat,
    session_chunk,
    text_of,
)
from gateway.routes.compat.kortyx_errors import KortyxRefused, invalid_response, of_refusal
from gateway.routes.compat.kortyx_prompts import given_of
from gateway.routes.compat.kortyx_resume import MOST_SELECTED, Given
from gateway.routes.compat.kortyx_turns import Turn, Turns, new_session_id
from host.decisions.state import Principal, Run
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

log = structlog.get_logger("sayso.kortyx")

Late = Literal["refuse", "new-turn"]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class KortyxRoutes:
    """`/compat/kortyx/chat` and `/compat/kortyx/resume`. `workflow` serves a chat that names none."""

    def __init__(self, turns: Turns, keys: Keys, workflow: str, late: Late) -> None:
        self._turns = turns
        self._keys = keys
        self._workflow = workflow
        self._late = late

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/compat/kortyx/chat", translated(self.chat)),
            web.post("/compat/kortyx/resume", translated(self.resume)),
        ]

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """A message, or the answer to an open question. Everything is decided before the stream begins, so
        a refusal is a 400 and not a broken stream."""
        scope = "approvals:respond"
        caller = self._keys.caller(request, scope)
        chat = parse_chat(await body_of(request))
        session_id = chat.session_id or new_session_id()
        try:
            begun = await self._begin(request, caller, chat, session_id)
        except KortyxRefused as refused:
            if not (refused.stale and self._late == "new-turn"):
                raise
            begun = await self._start(request, chat, session_id)

        async def turn() -> Turn:
            if isinstance(begun, Turn):
                return begun
            return await self._turns.follow(caller.principal, session_id, begun)

        if not chat.stream:
            done = await turn()
            chunks = chunks_of(done, self._token(done))
            return reply(200, {"chunks": chunks, "text": text_of(done), "structured": []}, _FRESH)
        first = [] if isinstance(begun, Turn) else [session_chunk(session_id)]
        return await self._stream(request, first, turn)

    async def _begin(
        self, request: web.Request, caller: Caller, chat: Chat, session_id: str
    ) -> Turn | Run:
        """What the message does: the run that goes on by it, or the turn that a cancel was."""
        if chat.resume is None:
            return await self._start(request, chat, session_id)
        resume, principal = chat.resume, caller.principal
        found = await self._turns.find(principal, session_id, resume.token, resume.request_id)
        if resume.cancel:
            self._keys.caller(request, "runs:cancel")
            return await self._turns.cancel(principal, session_id, found)
        given = given_of(found[0], resume.selected, resume.value, resume.has_value)
        return await self._turns.answer(principal, found, given, chat.content)

    async def _start(self, request: web.Request, chat: Chat, session_id: str) -> Run:
        principal = self._keys.caller(request, "runs:create").principal
        workflow = chat.workflow_id or self._workflow
        if not workflow:
            raise KortyxRefused("workflowId is missing, and this gateway has no default for it.")
        return await self._turns.start(principal, session_id, workflow, chat.content, chat.context)

    async def _stream(
        self,
        request: web.Request,
        first: list[dict[str, Any]],
        turn: Callable[[], Awaitable[Turn]],
    ) -> web.StreamResponse:
        """The `session` chunk at once, and the others when the turn has ended."""
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", **_FRESH}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        try:
            for chunk in first:
                await response.write(frame(chunk))
            rest = await self._rest(turn, len(first))
            await response.write(b"".join(frame(chunk) for chunk in rest) + DONE)
        except ConnectionError:
            pass  # the reader has gone: the turn is what it is, and listInterrupts finds its question
        return response

    async def _rest(
        self, turn: Callable[[], Awaitable[Turn]], written: int
    ) -> list[dict[str, Any]]:
        try:
            done = await turn()
            return chunks_of(done, self._token(done))[written:]
        except (Refusal, StoreUnavailable) as away:
            log.warning("kortyx turn not followed", reason=type(away).__name__)
            message = "What was sent is recorded. How it goes on can't be read right now."
            return [{"type": "error", "message": message}, {"type": "done"}]

    def _token(self, turn: Turn) -> str:
        return self._turns.token_of(turn.pending.interrupt) if turn.pending is not None else ""

    async def resume(self, request: web.Request) -> web.StreamResponse:
        """`{handle: {token, requestId, sessionId, runId}, response: {type, …}}` -> a RunResult."""
        principal = self._keys.caller(request, "approvals:respond").principal
        raw = await body_of(request)
        handle, response = _members(raw)
        session_id = handle["sessionId"]
        found = await self._turns.find(principal, session_id, handle["token"], handle["requestId"])
        if handle["runId"] not in (found[0].run_id, found[1].run_id):
            raise KortyxRefused(
                "This question belongs to another run.", "RESUME_MISMATCH", "session"
            )
        if response.get("type") == "cancel":
            self._keys.caller(request, "runs:cancel")
            turn = await self._turns.cancel(principal, session_id, found)
            return reply(200, self._result(principal, turn), _FRESH)
        given = _given(response)
        root = await self._turns.answer(principal, found, given)
        turn = await self._turns.follow(principal, session_id, root)
        return reply(200, self._result(principal, turn), _FRESH)

    def _result(self, principal: Principal, turn: Turn) -> dict[str, Any]:
        run, session_id = turn.run, turn.session.session_id
        found: dict[str, Any] = {
            "runId": run.run_id,
            "sessionId": session_id,
            "checkpointId": turn.checkpoint.id,
        }
        if turn.cancelled:
            return {**found, "status": "cancelled", "reason": "cancelled_by_client"}
        if turn.pending is not None:
            chunk = chunks_of(turn, self._token(turn))[1]
            names = ("token", "requestId", "sessionId", "runId")
            values = (chunk["resumeToken"], chunk["requestId"], session_id, run.run_id)
            shown = {name: value for name, value in chunk.items() if name != "resumeToken"}
            handle = dict(zip(names, values, strict=True))
            return {**found, "status": "suspended", "interrupt": shown, "resume": handle}
        if run.status == "failed":
            error = run.error or {"code": "internal_error", "message": "The run failed."}
            return {**found, "status": "failed", "error": error}
        if run.status == "cancelled":
            return {**found, "status": "cancelled", "reason": "cancelled"}
        status = "completed" if run.status == "completed" else "running"
        return {**found, "status": status, "data": run.outputs or {}}


_FRESH = {"Cache-Control": "no-store"}


def translated(handler: Handler) -> Handler:
    """Refusals in the shape that kortyx' clients read: `{error: "<sentence>"}`."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except KortyxRefused as refused:
            return reply(400, refused.body(), _FRESH)
        except Refusal as refusal:
            headers = {**_FRESH, **({"Retry-After": "1"} if refusal.status == 503 else {})}
            return reply(refusal.status, of_refusal(refusal), headers)

    return handle


def _members(raw: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """The handle, which is strict, and the response. Raises `KortyxRefused`."""
    handle = raw.get("handle") if isinstance(raw, dict) else None
    response = raw.get("response") if isinstance(raw, dict) else None
    names = {"token", "requestId", "sessionId", "runId"}
    if not isinstance(handle, dict) or handle.keys() != names:
        raise KortyxRefused(f"handle has exactly the members {', '.join(sorted(names))}.")
    if not all(isinstance(value, str) and value for value in handle.values()):
        raise KortyxRefused("Every member of handle is a text that is not empty.")
    if not isinstance(response, dict):
        raise KortyxRefused("response is not an object.")
    return handle, response


def _given(response: dict[str, Any]) -> Given:
    """What `response` says. Raises `KortyxRefused` (INVALID_RESPONSE)."""
    kind = response.get("type")
    if kind == "text" and isinstance(response.get("text"), str) and response["text"]:
        return Given("text", text=response["text"])
    ids = response.get("ids")
    listed = isinstance(ids, list) and len(ids) <= MOST_SELECTED
    if kind == "select" and listed and all(isinstance(one, str) for one in ids or []):
        return Given("select", ids=tuple(ids or []))
    if kind == "value" and "value" in response:
        return Given("value", value=response["value"])
    raise invalid_response(
        "response is {type: text, text}, {type: select, ids}, {type: value, value} or {type: cancel}."
    )
