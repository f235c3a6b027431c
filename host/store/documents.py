"""The store port of documents: small durable things that belong to no run.

A channel's installations, addresses that mail is no longer sent to, reminders that went out, tokens that
were spent: each a JSON value under a kind and a key, with a version for compare-and-set. Nothing here is
part of an answer's commit; what decides an answer is in the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

MAX_KEY = 512
"""Characters of a key. A kind has at most 64."""


@dataclass(frozen=True, slots=True)
class Document:
    """One value. `version` starts at 1 and rises by one with each write; `expires_at` is ms, None: never."""

    key: str
    value: Any
    version: int
    expires_at: int | None = None


class Documents(Protocol):
    """Documents by kind and key. One that has expired at the `now` (ms) given is as if it weren't there."""

    async def get(self, kind: str, key: str, now: int) -> Document | None: ...

    async def put(
        self,
        kind: str,
        key: str,
        value: Any,
        now: int,
        *,
        expected: int | None = None,
        expires_at: int | None = None,
    ) -> int | None:
        """Write it; returns its new version once that is durable.

        `expected` is the version that it must have (0: none is there); None overwrites whatever there is.
        Returns None, and writes nothing, when it has another one.
        """

    async def delete(self, kind: str, key: str, *, expected: int | None = None) -> bool:
        """False when there was none, or not of the version `expected`."""

    async def list(
        self, kind: str, now: int, *, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[Document]:
        """Those whose key starts with `prefix` and is above `after`, by key (in the order of code points)."""

    async def forget(self, now: int, limit: int) -> int:
        """Drop at most `limit` of those that have expired. Returns how many."""
