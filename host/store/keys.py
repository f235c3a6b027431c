"""The store port of API keys: who may call, kept by the digest of the key and never as the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One API key of one tenant. `sha256` is the hex digest of its text; `key_id` is what people call it.

    `expires_at` and `revoked_at` are ms; `used_day` is the last day of use, in days since 1970 (UTC).
    """

    key_id: str
    sha256: str
    tenant: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    used_day: int | None = None

    def is_good(self, now: int) -> bool:
        """Whether it opens anything at `now` (ms)."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class ApiKeys(Protocol):
    """The keys of all tenants. A read sees every change that was committed before, by any process."""

    async def add(self, key: StoredKey) -> None:
        """Raises `Conflict` when the tenant has, or had, a key of this id."""

    async def find(self, sha256: str) -> StoredKey | None:
        """The key of this digest, whatever its state."""

    async def of(self, tenant: str) -> list[StoredKey]:
        """A tenant's keys by id, those that were revoked too."""

    async def revoke(self, tenant: str, key_id: str, now: int) -> bool:
        """False when there is no such key. One that was revoked before keeps its first time."""

    async def used(self, sha256: str, day: int) -> None:
        """Note the day of use. An earlier day than the noted one changes nothing."""
