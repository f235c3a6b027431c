"""What waits for one person, as a channel with an inbox shows it. Implemented once, in the gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from adapters.views import Card, Person


@dataclass(frozen=True, slots=True)
class Listing:
    """Cards, the most urgent first. `more`: the list is bounded, and there may be others."""

    cards: tuple[Card, ...] = ()
    more: bool = False


class Inbox(Protocol):
    """Reads what the host knows. Each raises `schemas.errors.Refusal` (`sayso.unavailable`) when the
    store is away."""

    async def waiting(self, person: Person, *, since: float | None = None) -> Listing:
        """The open requests that this person may decide and hasn't voted on. `since`: a list of open
        requests that was read since then (`time.monotonic`) will do."""

    async def decided(self, person: Person, most: int = 5) -> tuple[Card, ...]:
        """What ended lately and this person took part in, the newest first."""

    async def find(self, text: str, person: Person) -> Card | None:
        """The request with this id or reference, when this person may decide it, took part in it or
        asked for it. None for any other: nothing is told of what exists."""
