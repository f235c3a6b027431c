"""Substructure's client and machine API, under `/compat/substructure`: paths, shapes and statuses of theirs.

A browser's client has a short token of one user and acts on that user's sessions only; a program has an API
key and acts with the level of a machine, or of an operator if it may manage keys. The rules are the host's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, TypeAdapter, ValidationError

from gateway.client_tokens import ClientTokens, Holder
from gateway.http import body_of
from gateway.routes.compat.substructure_http import (
    PREFIX,
    Callers,
    Malformed,
    answer,
    answering,
    preflight,
)
from gateway.routes.compat.substructure_stream import SessionStreams
from gateway.routes.compat.substructure_wire import session_view
from host import ids
from host.branches import Branches
from host.decisions import session_inputs as inputs
from host.decisions.session_actions import model_outcome
from host.decisions.session_inputs import Accepted
from host.decisions.session_moves import Moves
from schemas import substructure as wire
from schemas.errors import Refusal
from schemas.payloads import problems

_CLIENT: Final = f"{PREFIX}/api/client/sessions"
_MACHINE: Final = f"{PREFIX}/api/machine"
_ID: Final = "{session_id}"

M = TypeVar("M", bound=BaseModel)


class SubstructureRoutes:
    """Their HTTP API, as far as a session needs it."""

    def __init__(
        self,
        branches: Branches,
        callers: Callers,
        tokens: ClientTokens,
        clock: Callable[[], int],
        streams: SessionStreams,
    ) -> None:
        self._branches = branches
        self._callers = callers
        self._tokens = tokens
        self._clock = clock
        self._streams = streams

    def routes(self) -> list[web.RouteDef]:
        one = f"{_CLIENT}/{_ID}"
        return [
            web.post(f"{_CLIENT}/input", self.input),
            web.get(one, self.read, allow_head=False),
            web.get(f"{one}/events/stream", self.stream, allow_head=False),
            web.post(f"{one}/interrupt", self.park),
            web.options(_CLIENT + "/{path:.*}", preflight),
            web.post(f"{_MACHINE}/client-tokens", self.mint),
            web.post(f"{_MACHINE}/sessions/submit", self.submit),
            web.post(f"{_MACHINE}/sessions/{_ID}/calls/settle", self.settle),
            web.get(f"{_MACHINE}/sessions/{_ID}/events/stream", self.stream, allow_head=False),
            web.post(f"{_MACHINE}/workers/submit", self.decided),
        ]

    # --- clients ------------------------------------------------------------------------------------

    @answering
    async def input(self, request: web.Request) -> web.Response:
        self._callers.check_known(request)
        body = parsed(wire.InputBody, await body_of(request))
        said = body.input
        if isinstance(said, wire.ResumeInput):
            caller, _ = self._callers.caller(request, "approvals:respond")
            name = _session_of(body.session_id)
            turn = await self._branches.resume(caller, name, said.interrupt_id, said.payload)
            return _accepted(name, Accepted(turn))
        caller, owner = self._callers.caller(request, "runs:create")
        if isinstance(said, wire.ToolResult | wire.ToolError):
            name = _session_of(body.session_id)
            outcome = outcome_of(said)
            turn = await self._branches.settle(caller, name, said.id, said.attempt, outcome)
            return _accepted(name, Accepted(turn))
        name = body.session_id or f"ses_{ids.opaque(self._clock())}"
        begin = self._callers.beginning(said.agent_id, owner, caller, body.thread)
        put = act_of(said, said.turn_id, getattr(said, "queue", False))
        accepted = await self._branches.put(caller, name, begin, said.turn_id, put)
        return _accepted(name, accepted)

    @answering
    async def read(self, request: web.Request) -> web.Response:
        caller, _ = self._callers.caller(request, "runs:read")
        found = await self._branches.read(caller, request.match_info["session_id"])
        return answer(200, session_view(*found))

    @answering
    async def stream(self, request: web.Request) -> web.StreamResponse:
        caller, _ = self._callers.caller(request, "runs:read")
        run, session = await self._branches.read(caller, request.match_info["session_id"])
        return await self._streams.follow(request, run, session.session_id)

    @answering
    async def park(self, request: web.Request) -> web.Response:
        caller, _ = self._callers.caller(request, "runs:create")
        body = parsed(wire.RaiseBody, await body_of(request))
        name = request.match_info["session_id"]
        raised = await self._branches.park(
            caller, name, body.reason or "interrupt", body.payload, body.interrupt_id
        )
        return answer(200, {"ok": True, "interrupt_id": raised})

    # --- machines -----------------------------------------------------------------------------------

    @answering
    async def mint(self, request: web.Request) -> web.Response:
        caller = self._callers.key(request, "runs:create")
        body = parsed(wire.TokenBody, await body_of(request))
        who = body.identity
        holder = Holder(caller.principal.tenant, who.id, who.metadata, caller.scopes & _LENT)
        token, expires = self._tokens.mint(holder, self._clock(), body.ttl_seconds)
        return answer(200, {"token": token, "expires_at": expires})

    @answering
    async def submit(self, request: web.Request) -> web.Response:
        caller, _ = self._callers.machine(request, "runs:create")
        body = parsed(wire.SubmitBody, await body_of(request))
        name = body.session_id or f"ses_{ids.opaque(self._clock())}"
        owner = body.identity.model_dump(exclude_none=True)
        begin = self._callers.beginning(body.agent_id, owner, caller, body.thread)
        queue = body.queue or getattr(body.payload, "queue", False)
        put = act_of(body.payload, body.turn_id, queue)
        accepted = await self._branches.put(caller, name, begin, body.turn_id, put)
        return _accepted(name, accepted)

    @answering
    async def settle(self, request: web.Request) -> web.Response:
        caller, _ = self._callers.machine(request, "runs:create")
        said = adapted(wire.SETTLE, await body_of(request))
        name = request.match_info["session_id"]
        try:
            outcome = outcome_of(said)
            await self._branches.settle(caller, name, said.id, said.attempt, outcome)
        except Refusal as refusal:
            return answer(refusal.status, {"ok": False, "error": refusal.message})
        return answer(200, {"ok": True})

    @answering
    async def decided(self, request: web.Request) -> web.Response:
        caller, _ = self._callers.machine(request, "runs:create")
        body = parsed(wire.WorkerSubmit, await body_of(request))
        for action in body.actions or ():
            ends = action.type in ("tool.result", "tool.error", "llm.result", "llm.error")
            if ends and getattr(action, "id", None) is None:
                raise Malformed(f"{action.type}: there is no trigger here to take the id from")
        response = {n: v for n, v in body.plain().items() if n not in ("session_id", "decision_id")}
        await self._branches.answered(caller, body.session_id, body.decision_id, response)
        return answer(200, {"ok": True})


_LENT: Final = frozenset({"runs:create", "runs:read", "approvals:respond"})


def act_of(said: Any, turn: str | None, queue: bool) -> Callable[[Moves], Accepted]:
    """What an input does: one function of the rules, with its arguments."""
    if isinstance(said, wire.ActionPayload):
        return lambda moves: inputs.action(moves, said.name, said.args, turn)
    if isinstance(said, wire.MessagePayload):
        message = said.message.model_dump(exclude_none=True)
        return lambda moves: inputs.append(moves, [message], turn, queue=queue)
    messages = [m.model_dump(exclude_none=True) for m in said.messages]
    client = said.client.model_dump(exclude_none=True) if said.client is not None else None
    if isinstance(said, wire.AppendPayload):
        return lambda moves: inputs.append(moves, messages, turn, queue=queue, client=client)
    return lambda moves: inputs.view(moves, messages, turn, client)


def outcome_of(said: Any) -> dict[str, Any]:
    """How a call ended, as the rules take it."""
    if isinstance(said, wire.ToolResult):
        return {"result": said.result}
    if isinstance(said, wire.ModelResult):
        return model_outcome(said.id, said.response)
    found: dict[str, Any] = said.model_dump(include={"error", "retryable", "code", "detail"})
    return {name: value for name, value in found.items() if value is not None}


def parsed(model: type[M], raw: Any) -> M:
    """`raw` as one of their objects. Raises `Malformed`."""
    return adapted(TypeAdapter(model), raw)


T = TypeVar("T")


def adapted(adapter: TypeAdapter[T], raw: Any) -> T:
    try:
        return adapter.validate_python(raw)
    except ValidationError as error:
        first = problems(error)[0]
        where = ".".join(str(p) for p in first["path"]) or "the body"
        raise Malformed(f"{where}: {first['message']}") from None


def _session_of(session_id: str | None) -> str:
    if session_id is None:
        raise Malformed("session_id: is missing")
    return session_id


def _accepted(session_id: str, accepted: Accepted) -> web.Response:
    body = {"session_id": session_id, "turn_id": accepted.turn, "queued": accepted.queued}
    return answer(202, body)
