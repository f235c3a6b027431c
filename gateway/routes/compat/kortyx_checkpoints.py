"""Kortyx' checkpoints: the turns of a session, going back to one, and forking at one.

An answer is durable here and never taken back: going back to a turn whose question was answered since asks it
anew, in a branch of the run, under a new token. Theirs makes the old token usable again (kortyx).
"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from gateway.auth import Caller, Keys
from gateway.http import body_of, reply
from gateway.routes.compat.kortyx import translated
from gateway.routes.compat.kortyx_errors import KortyxRefused
from gateway.routes.compat.kortyx_prompts import request_id_of
from gateway.routes.compat.kortyx_turns import Turns, new_session_id
from host import forks
from host.chat_sessions import KIND, ChatSession, ChatSessions, Checkpoint
from host.children import Bridged, open_requests
from host.decisions.state import Principal, Run, iso
from host.host import Host
from schemas.errors import Refusal
from schemas.runs import TERMINAL, ForkBody

_MEMBERS: Final = {
    "list": {"sessionId"},
    "get": {"checkpointId", "sessionId"},
    "rollback": {"checkpointId", "sessionId"},
    "fork": {"checkpointId", "sessionId", "newSessionId"},
}
_MOST_SESSIONS: Final = 1000


class KortyxCheckpoints:
    """`/compat/kortyx/checkpoints`."""

    def __init__(self, host: Host, keys: Keys, sessions: ChatSessions, turns: Turns) -> None:
        self._host = host
        self._keys = keys
        self._sessions = sessions
        self._turns = turns

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/compat/kortyx/checkpoints", translated(self.act))]

    async def act(self, request: web.Request) -> web.StreamResponse:
        caller = self._keys.caller(request, "runs:create")
        raw = await body_of(request)
        action = raw.get("action") if isinstance(raw, dict) else None
        if action not in _MEMBERS:
            raise KortyxRefused("action is one of list, get, rollback, fork.")
        unknown = sorted(raw.keys() - _MEMBERS[action] - {"action"})
        if unknown:
            raise KortyxRefused(f"{unknown[0][:80]} is not a member of {action}.")
        if not all(isinstance(value, str) and 0 < len(value) <= 256 for value in raw.values()):
            raise KortyxRefused("Every member is a text of 1 to 256 characters.")
        tenant = caller.principal.tenant
        if action == "list":
            session = await self._sessions.find(tenant, raw.get("sessionId", ""))
            points = session.checkpoints if session else ()
            head = points[-1].id if points else None
            listed = [_shown(raw.get("sessionId", ""), one) for one in points]
            return reply(200, {"checkpoints": listed, "head": head})
        session, at = await self._find(tenant, raw)
        if action == "get":
            return reply(200, {"checkpoint": _shown(session.session_id, at)})
        if action == "fork":
            return reply(200, await self._fork(caller, session, at, raw.get("newSessionId", "")))
        self._keys.caller(request, "runs:cancel")  # what was asked since is withdrawn
        return reply(200, await self._rollback(caller, session, at))

    async def _find(self, tenant: str, raw: dict[str, str]) -> tuple[ChatSession, Checkpoint]:
        """The checkpoint, in the session that is named or in whichever has it."""
        wanted = raw.get("checkpointId", "")
        names = [raw["sessionId"]] if "sessionId" in raw else await self._names(tenant)
        for name in names:
            session = await self._sessions.find(tenant, name)
            for at in session.checkpoints if session else ():
                if session is not None and at.id == wanted:
                    return session, at
        raise KortyxRefused(f"Unknown checkpoint {wanted[:80]}.")

    async def _names(self, tenant: str) -> list[str]:
        kept = await self._host.store.documents.list(
            KIND, self._host.clock(), prefix=f"{tenant}/", limit=_MOST_SESSIONS
        )
        return [document.key.removeprefix(f"{tenant}/") for document in kept]

    async def _branch(self, principal: Principal, at: Checkpoint) -> Run:
        body = ForkBody(mode="branch", from_seq=at.seq)
        return await forks.fork(self._host, principal, at.run_id, body)

    async def _fork(
        self, caller: Caller, session: ChatSession, at: Checkpoint, name: str
    ) -> dict[str, Any]:
        new = name or new_session_id()
        if await self._sessions.find(caller.principal.tenant, new) is not None:
            raise KortyxRefused("newSessionId names a session that exists already.")
        run = await self._branch(caller.principal, at)
        here = Checkpoint(
            f"{at.id}-{run.run_id[-8:]}", at.turn, run.run_id, at.seq, self._host.clock()
        )

        def forked(fresh: ChatSession) -> ChatSession:
            kept = fresh.with_run(run.run_id).with_turn(here)
            return ChatSession(
                new, kept.runs, kept.turns, session.context, kept.checkpoints, kept.completed,
                session.session_id,
            )  # fmt: skip

        await self._sessions.change(caller.principal.tenant, new, forked)
        return {
            "sessionId": new,
            "parentSessionId": session.session_id,
            "forkedFrom": at.id,
            "checkpoint": _shown(new, here),
            "activePendingRequests": await self._active(new, run),
        }

    async def _rollback(
        self, caller: Caller, session: ChatSession, at: Checkpoint
    ) -> dict[str, Any]:
        """Go back to a turn: what was asked after it is withdrawn, what waited then waits again."""
        principal = caller.principal
        run = await self._host.run(principal, at.run_id)
        if at.run_id not in session.runs:
            raise KortyxRefused("This checkpoint's run is not kept in its session any more.")
        later = session.runs[session.runs.index(at.run_id) + 1 :]
        moved = run.version > at.seq
        back = await self._branch(principal, at) if moved else run  # first: it may be refused
        gone: list[Bridged] = []
        for run_id in [*later, *([at.run_id] if moved else [])]:
            gone += await self._withdraw(principal, run_id)

        def returned(one: ChatSession) -> ChatSession:
            kept = tuple(point for point in one.checkpoints if point.turn <= at.turn)
            runs = tuple(name for name in one.runs if name not in later)
            found = ChatSession(
                one.session_id, runs, at.turn, one.context, kept, one.completed, one.forked_from
            )
            return found.with_run(back.run_id)

        await self._sessions.change(principal.tenant, session.session_id, returned)
        return {
            "sessionId": session.session_id,
            "head": at.id,
            "invalidatedStructuredStreamIds": [],
            "invalidatedInterruptTokens": [self._turns.token_of(b.interrupt) for b in gone],
            "invalidatedRequestIds": [request_id_of(b.interrupt.interrupt_id) for b in gone],
            "activePendingRequests": await self._active(session.session_id, back),
        }

    async def _withdraw(self, principal: Principal, run_id: str) -> list[Bridged]:
        """What a run and its children wait for, taken back by cancelling them."""
        run = await self._host.run(principal, run_id)
        gone = await open_requests(self._host, run)
        members = {run_id: run, **{b.run.run_id: b.run for b in gone}}
        for member in members.values():
            if member.status in TERMINAL:
                continue
            try:
                await self._host.runs.cancel(principal, member.run_id, "rolled-back")
            except Refusal as refusal:
                if refusal.code != "run_terminal":
                    raise
        return gone

    async def _active(self, session_id: str, run: Run) -> list[dict[str, Any]]:
        return [
            {
                "requestId": request_id_of(one.interrupt.interrupt_id),
                "token": self._turns.token_of(one.interrupt),
                "sessionId": session_id,
                "runId": run.run_id,
            }
            for one in await open_requests(self._host, run)
        ]


def _shown(session_id: str, at: Checkpoint) -> dict[str, Any]:
    return {
        "id": at.id,
        "sessionId": session_id,
        "turnIndex": at.turn,
        "runId": at.run_id,
        "createdAt": iso(at.at),
    }
