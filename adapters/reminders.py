"""Reminding people of a request, as a channel does it that can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from adapters.channel import Ref
from adapters.views import Card


@dataclass(frozen=True, slots=True)
class Reminder:
    """`accounts` are the channel's own ids (`T01/U01`) of those who have not answered yet, and may be
    spoken to by name now. Empty: the request names nobody, or nobody is awake."""

    card: Card
    accounts: tuple[str, ...] = ()


class Reminds(Protocol):
    """A channel that can remind. Found by these two methods."""

    async def quiet_until(self, account: str, now: int) -> int:
        """When this account may be disturbed again (ms since 1970, as `now` is); 0: now."""

    async def remind(self, address: str, ref: Ref, reminder: Reminder) -> None:
        """Remind at a message that was shown. Raises `NotYet`, `DeliveryFailed`."""
