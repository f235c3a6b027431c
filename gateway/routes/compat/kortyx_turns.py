"""A turn of a kortyx session: a run is started or resumed, and followed to its next question or its end.

The answer goes through the host like any other; this module only finds the question, binds it to its session
and waits. One question of a session is shown at a time: the oldest that is open in its run or in a run that
this one called (kortyx: children). The resume token names the question and proves that we showed it; what may
be done is the API key's, so a leaked token alone answers nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from dataclasses import dataclass
from typing import Any

from gateway.routes.compat.kortyx_errors import KortyxRefused, invalid_response, stale
from gateway.routes.compat.kortyx_prompts import (
    answer_of,
    checkpoint_id_of,
    prompt_of,
    request_id_of,
)
from gateway.routes.compat.kortyx_resume import Given
from host.access import Access
from host.chat_sessions import ChatSession, ChatSessions, Checkpoint
from host.children import Bridged, family, open_requests, root_of
from host.decisions.resolve import Answer
from host.decisions.state import Interrupt, Principal, Run
from host.host import Host
from host.tokens import LONGEST_TTL_MS
from host.waiters import Change
from schemas.errors import Refusal
from schemas.runs import TERMINAL, CreateRun

_LOOK_SECONDS = 1.0  # a child that another gateway starts wakes nobody here
_STATUS_OF_END = {"resolved": "resumed", "expired": "expired", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a turn ended: the run, the question that it waits with, and the checkpoint after it."""

    session: ChatSession
    run: Run
    checkpoint: Checkpoint
    pending: Bridged | None = None
    cancelled: bool = False


class Turns:
    """The turns of one host. `wait_seconds` bounds how long one is followed."""

    def __init__(
        self, host: Host, access: Access, sessions: ChatSessions, wait_seconds: float
    ) -> None:
        self._host = host
        self._access = access
        self._sessions = sessions
        self._wait_seconds = wait_seconds

    async def start(
        self, principal: Principal, session_id: str, workflow: str, content: str, context: Any
    ) -> Run:
        """A new run for an ordinary message. Raises `Refusal` (`not_found`) for an unknown workflow."""
        inputs: dict[str, Any] = {"message": content}
        if isinstance(context, dict):
            inputs["context"] = context
        body = CreateRun(
            workflow_id=workflow, inputs=inputs, metadata={"kortyxSessionId": session_id}
        )
        run = await self._host.runs.start(principal, body)

        def opened(session: ChatSession) -> ChatSession:
            kept = session.with_run(run.run_id)
            return _with_context(kept, context)

        await self._sessions.change(principal.tenant, session_id, opened)
        return run

    async def find(
        self, principal: Principal, session_id: str, token: str, request_id: str
    ) -> tuple[Interrupt, Run]:
        """The open question of a token, and the root run that it is shown in.

        Raises `KortyxRefused`: INVALID_RESUME when it is none, belongs to another request, or is over;
        RESUME_MISMATCH when it was asked in another session.
        """
        try:
            claims = await self._access.verify(token)
            interrupt = await self._host.interrupt(principal, claims.interrupt_id)
            run = await self._host.run(principal, interrupt.run_id)
        except Refusal:
            raise stale("unknown") from None
        root = await root_of(self._host, principal, run)
        session = await self._sessions.find(principal.tenant, session_id)
        if session is None or root.run_id not in session.runs:
            raise KortyxRefused(
                "This question was asked in another session.", "RESUME_MISMATCH", "session"
            )
        if request_id != request_id_of(interrupt.interrupt_id):
            raise stale("mismatch")
        self._check_open(interrupt)
        return interrupt, root

    def _check_open(self, interrupt: Interrupt) -> None:
        if interrupt.is_open(self._host.clock()):
            return
        ended = _STATUS_OF_END.get(interrupt.status, "expired")
        raise stale(ended)  # type: ignore[arg-type]  # one of the reasons

    async def answer(
        self,
        principal: Principal,
        found: tuple[Interrupt, Run],
        given: Given,
        content: str = "",
    ) -> Run:
        """Resume the question's run; the root that it is shown in.

        Raises `KortyxRefused` (INVALID_RESPONSE, INVALID_RESUME), `Refusal`.
        """
        interrupt, root = found
        value = answer_of(interrupt, given, content)
        try:
            await self._host.resolve(interrupt.interrupt_id, Answer(principal, value, "kortyx"))
        except Refusal as refusal:
            if refusal.code == "interrupt_already_resolved":
                self._check_open(await self._host.interrupt(principal, interrupt.interrupt_id))
                raise stale("expired") from None
            if refusal.code == "validation_error":
                raise invalid_response(refusal.message, refusal.details.get("errors", [])) from None
            raise
        return root

    async def cancel(
        self, principal: Principal, session_id: str, found: tuple[Interrupt, Run]
    ) -> Turn:
        """Take the question back. No run is started by it."""
        interrupt, root = found
        try:
            await self._host.cancel(principal, interrupt.interrupt_id, "cancelled_by_client")
        except Refusal as refusal:
            if refusal.code != "interrupt_already_resolved":
                raise
            self._check_open(await self._host.interrupt(principal, interrupt.interrupt_id))
        run = await self._host.run(principal, root.run_id)
        turn = await self._ended(principal, session_id, run, None)
        return Turn(turn.session, turn.run, turn.checkpoint, cancelled=True)

    async def follow(self, principal: Principal, session_id: str, root: Run) -> Turn:
        """Wait until the run asks, has ended, or the time is over; then note the turn."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._wait_seconds
        while True:
            run = await self._host.run(principal, root.run_id)
            members = await family(self._host, run)
            with contextlib.ExitStack() as stack:
                changed = [
                    stack.enter_context(self._host.waiters.on(one.run_id)) for one, _ in members
                ]
                run = await self._host.run(principal, root.run_id)
                asked = [b for b in await open_requests(self._host, run) if self._shown(b)]
                left = end - loop.time()
                over = left <= 0 or self._host.waiters.closed or run.status in TERMINAL
                if asked or over:
                    return await self._ended(
                        principal, session_id, run, asked[0] if asked else None
                    )
                await _any(changed, min(left, _LOOK_SECONDS))

    def _shown(self, bridged: Bridged) -> bool:
        interrupt = bridged.interrupt
        return prompt_of(interrupt) is not None and interrupt.is_open(self._host.clock())

    async def _ended(
        self, principal: Principal, session_id: str, run: Run, pending: Bridged | None
    ) -> Turn:
        now = self._host.clock()

        def noted(session: ChatSession) -> ChatSession:
            turn = session.turns + 1
            name = checkpoint_id_of(f"{session_id}#{run.run_id}", turn)
            at = Checkpoint(name, turn, run.run_id, run.version, now)
            return session.with_run(run.run_id).with_turn(at)

        session = await self._sessions.change(principal.tenant, session_id, noted)
        return Turn(session, run, session.checkpoints[-1], pending)

    def token_of(self, interrupt: Interrupt) -> str:
        """The resume token of an open question. It names it; the API key answers it."""
        return self._access.mint(interrupt, "inspect", ttl_ms=LONGEST_TTL_MS)[0]


def _with_context(session: ChatSession, context: Any) -> ChatSession:
    """The context of a session is the one that it was opened with."""
    if session.context or not isinstance(context, dict):
        return session
    return ChatSession(
        session.session_id, session.runs, session.turns, context, session.checkpoints,
        session.completed, session.forked_from,
    )  # fmt: skip


def new_session_id() -> str:
    """For a client that sends none: sharing one among all of those would mix up their questions."""
    return f"session-{uuid.uuid4()}"


async def _any(changed: list[Change], seconds: float) -> None:
    tasks = [asyncio.ensure_future(one.wait()) for one in changed]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
