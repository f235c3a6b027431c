"""What a token lets its bearer do: mint, inspect, resolve. The order of the checks is a rule.

grammar, alg, kid, MAC (401) -> the interrupt exists (404) -> over (409) -> expired (410) -> intent (403)
(OpenWOP: order of checks). A bearer never skips an approvers list: a gate that lists people accepts no token
that isn't bound to one of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

from host.decisions.eligibility import check_not_requester, is_listed_gate
from host.decisions.ending import already_resolved
from host.decisions.resolve import Answer
from host.decisions.state import SOMEBODY, Interrupt, Principal, State
from host.directory import Directory
from host.host import Host
from host.journal import MakeReply
from host.tokens import DEFAULT_TTL_MS, LEGACY, LONGEST_TTL_MS, TokenRing, expires_ms
from schemas.errors import Refusal
from schemas.runs import TERMINAL
from schemas.tokens import Intent, TokenClaims


class Access:
    """Tokens of one host."""

    def __init__(self, host: Host, ring: TokenRing, directory: Directory) -> None:
        self._host = host
        self._ring = ring
        self._directory = directory

    def use(self, ring: TokenRing) -> None:
        """Sign and verify with this ring from now on (a key was added, promoted or retired)."""
        self._ring = ring

    def mint(
        self,
        interrupt: Interrupt,
        intent: Intent,
        principal: str | None = None,
        ttl_ms: int | None = None,
        *,
        by: Principal | None = None,
    ) -> tuple[str, int]:
        """A token and when it expires (ms). Its life is capped at the interrupt's deadline. `by` is the
        program that gets it: one that asked, and may not decide that, gets none to decide it with.

        Raises `Refusal`: `interrupt_already_resolved`; `forbidden`; `validation_error` when a gate with a
        list would get a token that names nobody.
        """
        if interrupt.status != "open":
            raise already_resolved(interrupt)
        if intent == "resolve" and by is not None:
            check_not_requester(interrupt, by, self._host.policy)
        if (
            intent == "resolve"
            and principal is None
            and is_listed_gate(interrupt.data, self._host.policy)
        ):
            raise Refusal(
                "validation_error",
                "This request lists its approvers: name the one that the token is for as "
                "'principal'.",
            )
        expires = self._host.clock() + min(ttl_ms or DEFAULT_TTL_MS, LONGEST_TTL_MS)
        if interrupt.deadline is not None:
            expires = min(expires, interrupt.deadline)
        claims = TokenClaims(
            run_id=interrupt.run_id,
            node_id=interrupt.node_id,
            interrupt_id=interrupt.interrupt_id,
            expires_at=datetime.fromtimestamp(expires / 1000, UTC),
            intent=intent,
            principal=principal,
        )
        return self._ring.mint(claims), expires

    async def verify(self, token: str) -> TokenClaims:
        """The claims of an authentic token. Raises `Refusal` (`interrupt_token_invalid`).

        Beside signed tokens, an opaque version 1 token that was taken over with `adopt_legacy`.
        """
        try:
            return self._ring.verify(token)
        except Refusal:
            row = None if "." in token else await self._host.store.links.find(_digest(token))
            if row is None or row[1].get("channel") != LEGACY:
                raise
            return TokenClaims.model_validate_json(row[1]["claims"])

    async def adopt_legacy(self, token: str, claims: TokenClaims) -> None:
        """Keep an opaque token that a version 1 host issued resolvable until its `expiresAt`."""
        person = {"channel": LEGACY, "claims": claims.model_dump_json(by_alias=True)}
        await self._host.store.links.put(_digest(token), claims.interrupt_id, person)

    async def open(self, token: str) -> tuple[Interrupt, TokenClaims]:
        """The interrupt that a token is for, while it is open and the token's time is not over.

        Raises `Refusal`: `interrupt_token_invalid`, `not_found`, `interrupt_already_resolved`,
        `interrupt_expired`.
        """
        claims = await self.verify(token)
        interrupt = await self._host.store.log.interrupt(claims.interrupt_id)
        if interrupt is None:
            raise Refusal("not_found", "The request that this token is for does not exist.")
        if (interrupt.run_id, interrupt.node_id) != (claims.run_id, claims.node_id):
            raise Refusal(
                "interrupt_token_invalid", "This token is not one that this gateway accepts."
            )
        if interrupt.status != "open":
            raise already_resolved(interrupt)
        run = await self._host.store.log.run(interrupt.run_id)
        if run is not None and run.status in TERMINAL:
            raise already_resolved(replace(interrupt, status="cancelled"))
        if self._host.clock() > expires_ms(claims):
            raise Refusal("interrupt_expired", "The time of this link is over. Ask for a new one.")
        return interrupt, claims

    async def resolve(self, token: str, value: object, reply: MakeReply | None = None) -> State:
        """Resolve with a token. Raises as `open` and `Host.resolve` do; `forbidden` for a token that
        only inspects."""
        interrupt, claims = await self.open(token)
        if claims.intent != "resolve":
            raise Refusal("forbidden", "This token only shows the request; it can't answer it.")
        bearer = await self._directory.at_decision(self.bearer(interrupt, claims, token), interrupt)
        answer = Answer(bearer, value, "token")
        return await self._host.resolve(interrupt.interrupt_id, answer, reply)

    def bearer(self, interrupt: Interrupt, claims: TokenClaims, token: str) -> Principal:
        """Who a token speaks for: its principal, else a bearer who has one vote a token."""
        if claims.principal is not None:
            principal = self._directory.principal(claims.principal, interrupt.tenant)
            return replace(principal, asked=True)
        digest = _digest(token)[:16]
        return Principal(
            id=f"token:{digest}",
            tenant=interrupt.tenant,
            name=SOMEBODY,
            kind="bearer",
            known=False,
            asked=True,
        )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
