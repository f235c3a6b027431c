"""Short-lived tokens of session clients: a program vouches for one of its users, for minutes.

A JSON Web Token, HS256 and nothing else, with a key of its own that is derived from the gateway's secret. It
holds no more rights than the API key that minted it, and its bearer is never somebody of the directory: a
program that says "this is ada" can't make anybody an approver.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any, Final

import jwt

from host.decisions.state import Principal
from schemas.errors import Refusal

_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "sayso:sessions"
_LONGEST: Final = 8192


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token speaks for. `scopes` are those of the key that minted it."""

    tenant: str
    identity: str
    metadata: dict[str, str] | None
    scopes: frozenset[str]

    @property
    def principal(self) -> Principal:
        name = f"session:{self.identity}"
        return Principal(name, self.tenant, self.identity, names=frozenset({name}))

    @property
    def owner(self) -> dict[str, Any]:
        """As a session remembers its owner."""
        return {"id": self.identity, **({"metadata": self.metadata} if self.metadata else {})}


class ClientTokens:
    """Mints and reads them. `secret` is the gateway's own; replicas share it."""

    def __init__(self, secret: str) -> None:
        self._key = hmac.digest(secret.encode(), b"client tokens of sessions", "sha256")

    def mint(self, holder: Holder, now: int, ttl_seconds: int) -> tuple[str, int]:
        """A token and when it expires (Unix seconds). `now` in ms."""
        expires = now // 1000 + ttl_seconds
        claims = {
            "aud": _AUDIENCE,
            "sub": holder.identity,
            "tenant": holder.tenant,
            "metadata": holder.metadata or {},
            "scopes": sorted(holder.scopes),
            "iat": now // 1000,
            "exp": expires,
        }
        return jwt.encode(claims, self._key, _ALGORITHM), expires

    def read(self, token: str) -> Holder | None:
        """Whom a bearer's credential speaks for; None when it is no token of this form (an API key).

        Raises `Refusal` (`unauthenticated`) for a token that is forged, expired or of another gateway.
        """
        if token.count(".") != 2 or not token.startswith("eyJ"):
            return None
        try:
            if len(token) > _LONGEST:
                raise ValueError("too long")
            required = ["exp", "sub", "aud"]
            claims = jwt.decode(
                token,
                self._key,
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                options={"require": required},
            )
            return Holder(
                claims["tenant"],
                claims["sub"],
                claims["metadata"] or None,
                frozenset(claims["scopes"]),
            )
        except (jwt.PyJWTError, KeyError, ValueError, TypeError):
            raise Refusal(
                "unauthenticated", "This client token is not valid (any more): get a new one."
            ) from None
