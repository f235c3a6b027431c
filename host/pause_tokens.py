"""Pause tokens: symfonic's JWT of eleven claims, and the two hashes in it (symfonic: claims, hashes).

HS256 and nothing else, checked before anything is read. An expired token with a bad signature is a bad
signature. A token whose last second is the current one still passes, as theirs does.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any, Final

import jwt
from pydantic import ValidationError

from schemas.errors import Refusal
from schemas.symfonic import PauseClaims

_ALGORITHM: Final = "HS256"
_LONGEST: Final = 4096
_SHORTEST_KEY: Final = 32


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant, and what is below it. Compared as a whole: the hash alone can't tell `None` from `_`."""

    tenant: str
    sub_tenant: str | None = None
    namespace: str | None = None

    @property
    def hash(self) -> str:
        """`scope_hash` as their tokens have it: 16 hex digits."""
        parts = (self.tenant, self.sub_tenant or "_", self.namespace or "_")
        return hashlib.sha256(":".join(parts).encode()).hexdigest()[:16]

    def thread(self, session_id: str, run_id: str) -> str:
        """`thread_id`. Without a session the run stands in its place."""
        return f"{self.tenant}:{self.sub_tenant or '_'}:{session_id or run_id}"


def request_hash(payload: Any) -> str:
    """The hash of a payload: sorted keys, Python's separators, ASCII. The same for a model and its JSON."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True, default=str).encode()).hexdigest()


def new_jti() -> str:
    """Names one token: 32 hex digits."""
    return secrets.token_hex(16)


class PauseTokens:
    """Mints and reads with one key. Raises `ValueError` for a key of less than 32 characters."""

    def __init__(self, key: str) -> None:
        if len(key) < _SHORTEST_KEY:
            raise ValueError(f"has {len(key)} characters; it needs {_SHORTEST_KEY} or more")
        self._key = key

    def mint(self, claims: PauseClaims) -> str:
        return jwt.encode(claims.model_dump(), self._key, _ALGORITHM)

    def read(self, token: str, now: int) -> PauseClaims:
        """The claims at `now` (ms).

        Raises `Refusal`: `unauthenticated` for what we did not sign; `interrupt_expired` after its last
        second; `validation_error` for claims that are missing or of another type.
        """
        if len(token) > _LONGEST:
            raise _unsigned()
        try:
            raw = jwt.decode(
                token,
                self._key,
                algorithms=[_ALGORITHM],
                options={"verify_exp": False, "verify_iat": False, "verify_jti": False},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise _unsigned() from None
        expires = raw.get("exp")
        if isinstance(expires, int) and expires < now // 1000:
            raise Refusal("interrupt_expired", "This pause token has expired.")
        try:
            return PauseClaims.model_validate(raw)
        except ValidationError as error:
            names = sorted({str(one["loc"][0]) for one in error.errors() if one["loc"]})
            raise Refusal(
                "validation_error", f"The pause token lacks what it needs: {', '.join(names)}."
            ) from None


def _unsigned() -> Refusal:
    return Refusal("unauthenticated", "This is no pause token of this gateway.")
