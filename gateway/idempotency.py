"""Idempotency-Key on every mutating operation (OpenWOP: idempotency).

The answer to a key is kept in the very transaction that it answers for, so a replay is right even when
Redis has lost its memory; Redis holds only the claim of the request that is being processed now. The key
itself is stored nowhere: its scope is a digest of tenant, operation and key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from gateway.http import reply
from gateway.watch import Watch
from host.coordination.port import Coordination
from host.decisions.state import State
from host.host import Host
from host.journal import AlreadyReplied, MakeReply
from host.store.records import Reply
from schemas.errors import Refusal
from schemas.ids import IDEMPOTENCY_KEY

Render = Callable[[State], tuple[int, dict[str, Any]]]
_CLAIM_SECONDS = 8.0  # what a retry waits for at most when the gateway that had its key was killed
_REPLAYED = "OpenWOP-Idempotent-Replay"
_RESOLVES = {"resolveInterruptByRun": "api", "resolveInterruptByToken": "token"}
_NEVER_KEPT = frozenset(
    {
        "idempotency_key_invalid",
        "validation_error",
        # The other run ends, which is why the answer has a Retry-After.
        "run_already_active",
        # Why an endpoint was refused may pass: the same request is judged again.
        "webhook_url_rejected",
        "webhook_endpoint_unverified",
    }
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One processing of a request. `kept` makes the reply that goes into the transaction."""

    scope: str | None = None
    digest: str = ""

    def kept(self, render: Render) -> MakeReply | None:
        """What `Host` calls with the state after the change; None without an idempotency key."""
        if self.scope is None:
            return None
        scope = self.scope

        def make(state: State) -> Reply:
            status, body = render(state)
            return Reply(scope, self.digest, status, orjson.dumps(body))

        return make


_WITHOUT_KEY = Attempt()
Act = Callable[[Attempt], Awaitable[tuple[int, dict[str, Any]]]]


class Idempotency:
    """Runs mutating operations."""

    def __init__(self, host: Host, coordination: Coordination, watch: Watch) -> None:
        self._host = host
        self._coordination = coordination
        self._watch = watch

    async def run(
        self, request: web.Request, tenant: str, operation: str, act: Act
    ) -> web.Response:
        """`act` once for this key; the same answer, marked, for every later request with it.

        Raises `Refusal`: `idempotency_key_invalid`, `idempotency_key_mismatch`,
        `idempotency_in_flight`, and what `act` raises.
        """
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return reply(*await act(_WITHOUT_KEY))
        response = await self._once(request, tenant, operation, key, act)
        if operation in _RESOLVES and _REPLAYED in response.headers:
            self._watch.metrics.resolved(_RESOLVES[operation], "replayed")
        return response

    async def _once(
        self, request: web.Request, tenant: str, operation: str, key: str, act: Act
    ) -> web.Response:
        if not IDEMPOTENCY_KEY.match(key):
            raise Refusal(
                "idempotency_key_invalid",
                "An Idempotency-Key has 22 to 128 characters of A-Z a-z 0-9 . _ ~ - (a UUID fits).",
            )
        scope = hashlib.sha256("\0".join((tenant, operation, key)).encode()).hexdigest()
        digest = hashlib.sha256(request.path.encode() + b"\0" + await request.read()).hexdigest()
        found = await self._host.store.replies.find(scope)
        if found is not None:
            return _replay(found, digest)
        return await self._first(Attempt(scope, digest), act)

    async def _first(self, attempt: Attempt, act: Act) -> web.Response:
        assert attempt.scope is not None
        claimed = await self._coordination.claim(attempt.scope, _CLAIM_SECONDS)
        if claimed == "taken":
            found = await self._host.store.replies.find(attempt.scope)
            if found is not None:
                return _replay(found, attempt.digest)
            raise Refusal(
                "idempotency_in_flight",
                "A request with this Idempotency-Key is being processed. Send it again in a moment.",
            )
        try:
            found = await self._host.store.replies.find(attempt.scope)
            if found is not None:
                return _replay(found, attempt.digest)
            return await self._act(attempt, act)
        finally:
            if claimed == "won":
                await self._coordination.release(attempt.scope)

    async def _act(self, attempt: Attempt, act: Act) -> web.Response:
        assert attempt.scope is not None
        try:
            status, body = await act(attempt)
        except AlreadyReplied as again:
            return _replay(again.reply, attempt.digest)
        except Refusal as refusal:
            found = await self._host.store.replies.find(attempt.scope)
            if found is not None:
                return _replay(found, attempt.digest)
            if _kept(refusal):
                raw = orjson.dumps(refusal.envelope())
                kept = Reply(attempt.scope, attempt.digest, refusal.status, raw)
                await self._host.store.replies.remember(kept, self._host.clock())
            raise
        return await self._same_for_all(
            Reply(attempt.scope, attempt.digest, status, orjson.dumps(body))
        )

    async def _same_for_all(self, made: Reply) -> web.Response:
        """The answer, or the one that was given to this key before.

        A change that was no change (an interrupt's key that is known already) appended nothing, so its answer
        is kept now. It may be none because another request with this idempotency key has just made the
        change: then that one's answer is everybody's.
        """
        found = await self._host.store.replies.find(made.scope)
        if found is None:
            await self._host.store.replies.remember(made, self._host.clock())
            found = await self._host.store.replies.find(made.scope)
        if found is None or (found.status, found.body) == (made.status, made.body):
            return reply(made.status, made.body)
        return _replay(found, made.digest)


def _kept(refusal: Refusal) -> bool:
    """Whether a refusal is final for its key: a 4xx that is not on the never-cache list."""
    if refusal.code in _NEVER_KEPT or refusal.code.startswith("idempotency"):
        return False
    return 400 <= refusal.status < 500 and refusal.status not in (401, 403, 429)


def _replay(found: Reply, digest: str) -> web.Response:
    if found.digest != digest:
        raise Refusal(
            "idempotency_key_mismatch",
            "This Idempotency-Key was used for another request. Use a new key for a new request.",
        )
    return reply(found.status, found.body, {_REPLAYED: "true"})
