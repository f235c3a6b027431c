"""The store port of the audit trail, and of the log read as one sequence that the trail follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from host.audit import Entry
from host.store.records import StoredEvent


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """One commit of the log: `position` rises with each, over all runs of all tenants."""

    position: int
    events: tuple[StoredEvent, ...]


class Feed(Protocol):
    """The log as one sequence. A commit never appears behind a position that was read already."""

    async def read(self, after: int, limit: int) -> list[LoggedCommit]:
        """Commits above `after` (0: all), in order."""


class AuditTrail(Protocol):
    """A chain of entries per tenant, and how far the log has been taken up into it."""

    async def position(self) -> int:
        """The position of the last commit that was taken up; 0 at the start."""

    async def last(self, tenant: str) -> Entry | None:
        """The end of a tenant's chain."""

    async def extend(self, entries: tuple[Entry, ...], after: int, position: int) -> None:
        """Append entries, and move from position `after` to `position`, in one transaction.

        Raises `Conflict` when another process has moved it meanwhile.
        """

    async def entries(self, tenant: str, after: int, limit: int) -> list[Entry]:
        """A tenant's entries numbered above `after` (0: all), in order."""

    async def tenants(self) -> list[str]:
        """Who has a chain, sorted."""
