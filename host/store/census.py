"""The store port of what operators count: how much is pending, due, late and dead.

Every number comes from an index and stops at `most`: a count never costs more than that many entries, however
full the store is, so a number equal to `most` reads "that many or more".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Census:
    """Counts of one moment, over all tenants.

    `pending`: open interrupts by kind. `late`: open ones whose deadline has passed. `shelf`, `messages` and
    `outbox`: entries by state, where "due" are those whose time has come. `unaudited`: commits that the
    audit trail has not taken up yet.
    """

    pending: dict[str, int] = field(default_factory=dict)
    late: int = 0
    shelf: dict[str, int] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    outbox: dict[str, int] = field(default_factory=dict)
    unaudited: int = 0


class Statistics(Protocol):
    """Counts, for operators alone: no rule looks at them."""

    async def census(self, now: int, most: int) -> Census:
        """Count. Raises `StoreUnavailable`."""
