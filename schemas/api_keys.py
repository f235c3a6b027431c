"""API keys as our own operations make, show and revoke them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import Field, StringConstraints

from schemas.model import Exact
from schemas.records import Timestamp

Scope = Literal[
    "runs:create",
    "runs:read",
    "runs:cancel",
    "approvals:respond",
    "webhooks:manage",
    "keys:manage",
]
SCOPES: Final[frozenset[str]] = frozenset(get_args(Scope))
USUAL_SCOPES: Final = ("runs:create", "runs:read", "runs:cancel", "approvals:respond")
KEY_NAME: Final = r"^[A-Za-z0-9._~-]{1,120}$"
LONGEST_LIFE_SECONDS: Final = 10 * 366 * 86_400

KeyName = Annotated[str, StringConstraints(pattern=KEY_NAME)]


class CreateApiKey(Exact):
    """Body of `POST /host/sayso/api-keys`. Without `expiresInSeconds` the key lives until it is revoked."""

    name: KeyName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=20)]
    expires_in_seconds: (
        Annotated[int, Field(ge=60, le=LONGEST_LIFE_SECONDS, strict=True)] | None
    ) = None


class ApiKeyRecord(Exact):
    """A key as operators see it: everything but the key. `lastUsedOn` is a day in UTC."""

    name: KeyName
    scopes: list[Scope]
    status: Literal["active", "expired", "revoked"]
    created_at: Timestamp
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None
    last_used_on: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None


class ApiKeyList(Exact):
    """A tenant's keys, by name."""

    api_keys: list[ApiKeyRecord]


class NewApiKey(ApiKeyRecord):
    """The answer to the creation: the only one that has the key itself."""

    key: str
