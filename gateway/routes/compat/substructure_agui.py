"""The AG-UI binding of sessions: a run is a turn, a pause ends the run with what it asks. Its clients are
published, and refuse a run that leaves an interrupt unanswered; so does this end, and applies nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson
from aiohttp import web
from pydantic import ValidationError

from gateway.http import body_of
from gateway.routes.compat.substructure_agui_wire import (
    Connect,
    RunAgentInput,
    drafts,
    interrupt_entry,
    rendered,
    snapshot,
)
from gateway.routes.compat.substructure_http import CORS, PREFIX, Callers, answering, preflight
from gateway.streams.follow import KEEP_ALIVE_SECONDS, PATIENCE_SECONDS, Subscribers
from gateway.streams.reader import event_stream
from host.branches import Branches, Caller
from host.decisions import session_inputs as inputs
from host.decisions.session import Session, parking
from host.decisions.session_begin import Beginning
from host.host import Host
from host.sessions import run_id_of
from schemas.errors import Refusal

_AGENT: Final = f"{PREFIX}/api/channels/ag-ui/agents"
_PAGE: Final = 200


class AguiRoutes:
    """`/api/channels/ag-ui/agents/{agent_id}/run` and `/connect`."""

    def __init__(
        self,
        host: Host,
        branches: Branches,
        callers: Callers,
        subscribers: Subscribers,
        stopping: asyncio.Event,
    ) -> None:
        self._host = host
        self._branches = branches
        self._callers = callers
        self._subscribers = subscribers
        self._stopping = stopping

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{_AGENT}/{{agent_id}}/run", self.run),
            web.post(f"{_AGENT}/{{agent_id}}/connect", self.connect),
            web.options(_AGENT + "/{path:.*}", preflight),
        ]

    @answering
    async def run(self, request: web.Request) -> web.StreamResponse:
        caller, owner = self._callers.caller(request, "runs:create")
        self._callers.caller(request, "approvals:respond")
        try:
            asked = RunAgentInput.model_validate(await body_of(request))
        except ValidationError:
            raise Refusal("validation_error", "This is no RunAgentInput.") from None
        begin = self._callers.beginning(request.match_info["agent_id"], owner, caller)
        return await self._stream(request, self._run(caller, begin, asked))

    @answering
    async def connect(self, request: web.Request) -> web.StreamResponse:
        caller, _ = self._callers.caller(request, "runs:read")
        try:
            asked = Connect.model_validate(await body_of(request))
        except ValidationError:
            raise Refusal("validation_error", "threadId names the session.") from None
        _, session = await self._branches.read(caller, asked.thread_id)
        return await self._stream(request, self._connect(session, asked))

    async def _connect(self, session: Session, asked: Connect) -> AsyncIterator[dict[str, Any]]:
        ids = {"threadId": asked.thread_id, "runId": asked.run_id or "connect"}
        yield {"type": "RUN_STARTED", **ids}
        yield {"type": "MESSAGES_SNAPSHOT", "messages": snapshot(session)}
        yield {"type": "RUN_FINISHED", **ids, **outcome_of(session)}

    async def _run(
        self, caller: Caller, begin: Beginning, asked: RunAgentInput
    ) -> AsyncIterator[dict[str, Any]]:
        ids = {"threadId": asked.thread_id, "runId": asked.run_id}
        yield {"type": "RUN_STARTED", **ids}
        try:
            cursor, turn = await self._apply(caller, begin, asked)
        except Refusal as refusal:
            yield {"type": "RUN_ERROR", "message": refusal.message, "code": refusal.code}
            return
        async for event in self._follow(caller, asked.thread_id, cursor, turn, ids):
            yield event

    async def _apply(
        self, caller: Caller, begin: Beginning, asked: RunAgentInput
    ) -> tuple[int, str]:
        """The resumes, then the messages. The log's place before them, and the turn that they are in.

        Raises `Refusal`, before anything is applied, when an interrupt of the head's path is left out.
        """
        messages = drafts(asked.messages)
        if not messages and not asked.resume:
            raise Refusal("validation_error", "Send messages, or resume an interrupt.")
        run_id = run_id_of(caller.principal.tenant, asked.thread_id)
        run = await self._host.store.log.run(run_id)
        session = None
        if run is not None:
            run, session = await self._branches.read(caller, asked.thread_id)
        cursor = run.version - 1 if run is not None else -1
        resumes = {
            r.interrupt_id: r for r in reversed(asked.resume)
        }  # the first of the same id wins
        open_here = parking(session, session.head) if session is not None else ()
        missing = [p.interrupt_id for p in open_here if p.interrupt_id not in resumes]
        if missing:
            raise Refusal(
                "run_state_conflict",
                f"This thread is interrupted: answer {', '.join(missing)} as well.",
            )
        turn = ""
        for name, resume in resumes.items():
            if session is not None and session.pause(name) is not None:
                turn = await self._branches.resume(
                    caller, asked.thread_id, name, resume.resume_payload()
                )
        if messages and (session is None or inputs.match(session, messages)[1] or not resumes):
            name = turn or asked.run_id
            client = asked.client()
            accepted = await self._branches.put(
                caller,
                asked.thread_id,
                begin,
                None if turn else asked.run_id,
                lambda moves: inputs.view(moves, messages, name, client),
            )
            turn = accepted.turn or turn
        return cursor, turn

    async def _follow(
        self, caller: Caller, thread: str, cursor: int, turn: str, ids: dict[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        """The log as AG-UI events, until the turn ends, pauses, or waits for a tool of the client."""
        while not self._stopping.is_set():
            run, session = await self._branches.read(caller, thread)
            for event in await self._host.store.log.events(run.run_id, cursor, _PAGE):
                if event.sequence > cursor:
                    cursor = event.sequence
                    for one in rendered(event):
                        yield one
            if cursor < run.version - 1:
                continue
            if over(session, turn):
                if session.turns.get(turn) == "failed":
                    yield {"type": "RUN_ERROR", "message": "The turn failed."}
                else:
                    yield {"type": "RUN_FINISHED", **ids, **outcome_of(session)}
                return
            if not await self._host.wait_events(run.run_id, cursor, KEEP_ALIVE_SECONDS, 1):
                yield {}

    async def _stream(
        self, request: web.Request, events: AsyncIterator[dict[str, Any]]
    ) -> web.StreamResponse:
        with self._subscribers.seat():
            async with event_stream(request, CORS) as response:
                async for event in events:
                    frame = b"data: %b\n\n" % orjson.dumps(event) if event else b": keep-alive\n\n"
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await response.write(frame)
            return response


def over(session: Session, turn: str) -> bool:
    """Whether a run has nothing more to show: its turn is over, parked, or the client's to go on with."""
    if session.turn != turn or parking(session, session.head):
        return True
    return not session.decisions and all(c.handler == "client" for c in session.calls)


def outcome_of(session: Session) -> dict[str, Any]:
    """`outcome` of a finished run: what parks the head, or success. Never an empty list of interrupts."""
    pauses = parking(session, session.head)
    if not pauses:
        return {"outcome": {"type": "success"}}
    entries = [interrupt_entry(p) for p in pauses]
    return {"outcome": {"type": "interrupt", "interrupts": entries}}
