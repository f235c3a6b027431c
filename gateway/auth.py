"""API keys: from `Authorization: Bearer` to a caller with a tenant and scopes.

A key is stored as its SHA-256 alone; keys are long and random, so a slow hash would add nothing. It is
looked up by that digest, which says nothing about the key to somebody who measures time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aiohttp import hdrs, web

from host.decisions.state import Principal
from schemas.errors import Refusal


@dataclass(frozen=True, slots=True)
class Key:
    """One API key. `sha256` is the hex digest of its text."""

    id: str
    sha256: str
    tenant: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated program."""

    principal: Principal
    scopes: frozenset[str]


STORED: Final = web.RequestKey("caller by a stored key", Caller)
"""Set by `gateway.stored_keys.recognising`."""


class Keys:
    """The API keys of the configuration, and the one that the store knows this request by."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._callers = {
            key.sha256: Caller(
                Principal(
                    id=key.id,
                    tenant=key.tenant,
                    name=key.id,
                    kind="workload",
                    names=frozenset({key.id}),
                ),
                key.scopes,
            )
            for key in keys
        }

    def caller(self, request: web.Request, scope: str) -> Caller:
        """The caller, who has `scope`. Raises `Refusal`: `unauthenticated`, `forbidden`."""
        caller = self.known(request)
        if scope not in caller.scopes:
            raise Refusal("forbidden", f"This API key lacks the scope {scope}.", scope=scope)
        return caller

    def known(self, request: web.Request) -> Caller:
        """The caller, whatever they may do. Raises `Refusal` (`unauthenticated`)."""
        token = bearer(request)
        if not token:
            raise Refusal("unauthenticated", "Send an API key: 'Authorization: Bearer <key>'.")
        caller = self._callers.get(digest(token)) or request.get(STORED)
        if caller is None:
            raise Refusal(
                "unauthenticated", "This API key is not known here, has expired or was revoked."
            )
        return caller


def bearer(request: web.Request) -> str:
    """The credential of `Authorization: Bearer`, or ""."""
    given = request.headers.get(hdrs.AUTHORIZATION, "")
    if given.startswith("Bearer "):  # as nearly everybody spells it
        return given[7:].strip()
    kind, _, token = given.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def digest(key: str) -> str:
    """How a key is stored."""
    return hashlib.sha256(key.encode()).hexdigest()
