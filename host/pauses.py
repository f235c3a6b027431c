"""Pauses under registered names: raised with a token, answered once, expired by the sweep.

A pause is an interrupt of kind `custom`: people answer it wherever they are, and a token is one more way.
The order in which a token is checked is symfonic's, and nothing that is refused burns it. Single
use is the interrupt's own condition, so a second token of one pause is worth nothing once it is answered;
the tokens that were spent are kept as they keep them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Final

from host.decisions import asking_user
from host.decisions.resolve import Answer
from host.decisions.state import Interrupt, Principal
from host.host import Host
from host.pause_tokens import PauseTokens, Scope, new_jti, request_hash
from host.registrations import Registration, Registrations
from schemas.errors import Refusal
from schemas.payloads import check_payload
from schemas.runs import AskBody
from schemas.symfonic import (
    ASK_USER,
    AskUserRequest,
    AskUserRequestInput,
    AskUserResponse,
    PauseBody,
    PauseClaims,
)

KIND: Final = "symfonic."
"""`customKind` begins with it; the registered name follows."""
_PAUSE: Final = "pause"
_SCOPE: Final = "pause-scope"
_SPENT: Final = "pause-token"
_KEPT_MS: Final = 90 * 86_400_000


@dataclass(frozen=True, slots=True)
class Pause:
    """What is kept of a pause beside its interrupt. Times in ms."""

    interrupt_id: str
    interrupt: Interrupt
    name: str
    scope: Scope
    session_id: str
    tool_call_id: str
    minted_at: int
    expires_at: int
    request_hash: str

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = self.interrupt.data["payload"]
        return found


class Pauses:
    """The pauses of one gateway. `ttl_ms` is the life of each."""

    def __init__(
        self, host: Host, registrations: Registrations, tokens: PauseTokens, ttl_ms: int
    ) -> None:
        self._host = host
        self._registrations = registrations
        self._tokens = tokens
        self._ttl_ms = ttl_ms

    async def pause(
        self, principal: Principal, scope: Scope, body: PauseBody, notify: tuple[str, ...]
    ) -> Pause:
        """Raise one. Raises `Refusal` (`validation_error`, `forbidden`, and what `Host.request` raises)."""
        registration = self._registrations.get(body.name)
        payload = _stamped(registration, body.payload)
        name = f"i-{secrets.token_hex(6)}"
        wire = {
            "kind": "custom",
            "key": name,
            "data": {"customKind": f"{KIND}{body.name}", "payload": payload},
            "resumeSchema": registration.resume_schema(payload),
            "timeoutMs": self._ttl_ms,
        }
        checked = check_payload(wire)
        if body.run_id:
            # What follows in a run belongs to whom the run belongs, whoever has answered in between.
            scope = await self._scope_of(body.run_id, scope)
            asked = await self._host.request(principal, body.run_id, name, checked, notify)
            interrupt = asked.interrupt
        else:
            first = AskBody(node_id=name, payload=wire)
            interrupt = await self._host.runs.ask(principal, first, checked, notify)
            kept = [scope.tenant, scope.sub_tenant, scope.namespace]
            await self._put(_SCOPE, interrupt.run_id, kept)
        pause = Pause(
            interrupt_id=name,
            interrupt=interrupt,
            name=body.name,
            scope=scope,
            session_id=body.session_id,
            tool_call_id=body.tool_call_id,
            minted_at=interrupt.requested_at,
            expires_at=interrupt.deadline or interrupt.requested_at + self._ttl_ms,
            request_hash=request_hash(payload),
        )
        await self._put(_PAUSE, name, _kept(pause))
        return pause

    def mint(self, pause: Pause) -> str:
        """A token for it. Each has a name of its own; all of them answer the same interrupt once."""
        return self._tokens.mint(
            PauseClaims(
                run_id=pause.interrupt.run_id,
                session_id=pause.session_id,
                scope_hash=pause.scope.hash,
                thread_id=pause.scope.thread(pause.session_id, pause.interrupt.run_id),
                checkpoint_id=pause.interrupt.interrupt_id,
                tool_call_id=pause.tool_call_id,
                request_hash=pause.request_hash,
                exp=pause.expires_at // 1000,
                jti=new_jti(),
                name=pause.name,
                interrupt_id=pause.interrupt_id,
            )
        )

    async def redeem(self, principal: Principal, scope: Scope, token: str, raw: Any) -> Pause:
        """Answer with a token; the pause as it is then.

        Raises `Refusal` in their order: `unauthenticated`, `interrupt_expired`, `validation_error` (claims,
        name), `forbidden` (scope), `sayso.pause_lost`, `validation_error` (payload, response, validator),
        `interrupt_already_resolved`.
        """
        now = self._host.clock()
        claims = self._tokens.read(token, now)
        registration = self._registrations.get(claims.name)
        pause = await self._find(claims.interrupt_id)
        because = _crossing(registration, claims, scope, pause)
        if pause is None:
            raise Refusal(
                "sayso.pause_lost",
                "The gateway no longer has what this token answers: its store was replaced or emptied. "
                "Raise the pause again.",
            )
        stored = (request_hash(pause.payload), pause.interrupt.interrupt_id, pause.name)
        if stored != (claims.request_hash, claims.checkpoint_id, claims.name):
            raise Refusal("validation_error", "The token does not belong to what was asked.")
        response = registration.read_response(raw)
        registration.cross_check(response, registration.read_payload(pause.payload))
        if await self._host.store.documents.get(_SPENT, claims.jti, now) is not None:
            raise Refusal("interrupt_already_resolved", "This pause token was used already.")
        by = Principal(
            principal.id, pause.scope.tenant, principal.name, "workload", principal.names
        )
        value = _value(pause, response, raw)
        answer = Answer(by, value, "token", because=because)
        await self._host.resolve(pause.interrupt.interrupt_id, answer)
        spent = {"scope_hash": scope.hash, "consumed_at": now, "name": claims.name}
        await self._put(_SPENT, claims.jti, spent, expected=0)
        return await self.look(pause.scope, pause.interrupt_id)

    async def look(self, scope: Scope, interrupt_id: str, seconds: float = 0) -> Pause:
        """A pause of this scope, as soon as it is over or `seconds` are. Raises `Refusal` (`not_found`)."""
        pause = await self._find(interrupt_id)
        if pause is None or pause.scope != scope:
            raise Refusal("not_found", "No such pause in this scope.")
        if seconds and pause.interrupt.status == "open":
            watcher = Principal("symfonic", scope.tenant)
            await self._host.wait(watcher, pause.interrupt.interrupt_id, seconds)
            pause = await self._find(interrupt_id) or pause
        return pause

    def cross_check(self, interrupt: Interrupt, value: Any) -> None:
        """Check an answer by the validator of its name, whatever channel it came by. Raises `Refusal`."""
        kind = interrupt.data.get("customKind", "") if interrupt.kind == "custom" else ""
        if not kind.startswith(KIND):
            return
        registration = self._registrations.get(kind.removeprefix(KIND))
        payload = registration.read_payload(interrupt.data["payload"])
        response: Any = value
        if registration.built_in:
            try:
                response = asking_user.response_of(value, payload)
            except (ValueError, AttributeError, TypeError):
                raise Refusal("validation_error", "Every question needs an answer.") from None
        else:
            response = registration.read_response(value)
        registration.cross_check(response, payload)

    async def _find(self, interrupt_id: str) -> Pause | None:
        found = await self._host.store.documents.get(_PAUSE, interrupt_id, self._host.clock())
        if found is None:
            return None
        kept = dict(found.value)
        interrupt = await self._host.store.log.interrupt(kept.pop("checkpoint_id"))
        if interrupt is None:
            return None
        scope = Scope(*kept.pop("scope"))
        return Pause(interrupt=interrupt, scope=scope, **kept)

    async def _scope_of(self, run_id: str, scope: Scope) -> Scope:
        found = await self._host.store.documents.get(_SCOPE, run_id, self._host.clock())
        return Scope(*found.value) if found is not None else scope

    async def _put(self, kind: str, key: str, value: Any, expected: int | None = None) -> None:
        now = self._host.clock()
        life = max(self._ttl_ms, 0) + _KEPT_MS
        await self._host.store.documents.put(
            kind, key, value, now, expected=expected, expires_at=now + life
        )


def _stamped(registration: Registration, payload: dict[str, Any]) -> dict[str, Any]:
    if not registration.built_in:
        registration.read_payload(payload)
        return payload
    given = [q for q in payload.get("questions", []) if isinstance(q, dict)]
    if given and all("id" in q for q in given):
        asked: AskUserRequest = registration.read_payload(payload)
    else:
        blank = Registration(ASK_USER, AskUserRequestInput, AskUserResponse).read_payload(payload)
        asked = AskUserRequest.model_validate(
            {
                "questions": [
                    {**q.model_dump(), "id": f"q-{secrets.token_hex(6)}"} for q in blank.questions
                ]
            }
        )
    return asked.model_dump(mode="json")


def _crossing(
    registration: Registration, claims: PauseClaims, scope: Scope, pause: Pause | None
) -> str:
    """Why the rules let this scope answer, for the audit trail; "" within its own. Raises `Refusal`."""
    same = scope.hash == claims.scope_hash if pause is None else scope == pause.scope
    if same and scope.hash == claims.scope_hash:
        return ""
    if not registration.cross_scope_allowed:
        raise Refusal("forbidden", "This pause belongs to another scope.")
    return (
        f"cross-scope:{registration.name}:{claims.interrupt_id}:{claims.scope_hash}:{scope.hash}:"
        f"{claims.jti}"
    )


def _value(pause: Pause, response: Any, raw: Any) -> Any:
    if pause.name != ASK_USER:
        return raw
    return asking_user.value_of(response, AskUserRequest.model_validate(pause.payload))


def _kept(pause: Pause) -> dict[str, Any]:
    return {
        "interrupt_id": pause.interrupt_id,
        "checkpoint_id": pause.interrupt.interrupt_id,
        "name": pause.name,
        "scope": [pause.scope.tenant, pause.scope.sub_tenant, pause.scope.namespace],
        "session_id": pause.session_id,
        "tool_call_id": pause.tool_call_id,
        "minted_at": pause.minted_at,
        "expires_at": pause.expires_at,
        "request_hash": pause.request_hash,
    }
