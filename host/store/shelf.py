"""The store port of external events: kept, matched to waits whichever comes first, listed, matched by hand.

An event is filed as `due`. Whoever works on it resolves the open waits of its key, or puts it on the shelf
if there are none. Registering a wait makes the shelved events of its key `due` again, in the same
transaction, so neither side can miss the other.

Nothing is ever thrown away: the id of an event tells its duplicates for as long as the store lives, which is
longer than any provider repeats itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, get_args

State = Literal["due", "shelved", "applied", "failed", "parked", "expired"]
Standing = Literal["due", "unmatched", "late", "expired", "parked", "failed", "applied"]
"""A state as operators see it. Shelved is `unmatched`, or `late` when a wait of its key has ended already, or
`expired` when its time on the shelf is over."""

STANDINGS: Final[tuple[str, ...]] = get_args(Standing)


@dataclass(frozen=True, slots=True)
class ShelvedEvent:
    """A verified external event that is kept. `match_key` is None when its mapping failed.

    From `expires_at` (ms, None: never) on it matches no wait any more. `several` says what happens when more
    than one wait has its key: `all` are resolved, or with `exactlyOne` none is and the event is parked.
    `headers` are those that its mapping may read; `duplicates` counts how often it came again.
    """

    source: str
    event_id: str
    tenant: str
    event_type: str
    match_key: str | None
    payload: Any
    received_at: int
    state: State = "due"
    matched: tuple[str, ...] = ()
    error: str = ""
    correlation: dict[str, Any] = field(default_factory=dict)
    expires_at: int | None = None
    several: Literal["all", "exactlyOne"] = "all"
    headers: dict[str, str] = field(default_factory=dict)
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """An event in a listing."""

    event: ShelvedEvent
    standing: Standing


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to list: of a tenant, and if given of a source, a standing, or with duplicates.

    `before` is the (received at, source, event id) of the last one seen.
    """

    tenant: str
    source: str = ""
    standing: Standing | Literal["duplicate", ""] = ""
    limit: int = 100
    before: tuple[int, str, str] | None = None


class Shelf(Protocol):
    """External events. Every method may raise `StoreUnavailable`."""

    async def file(self, event: ShelvedEvent, raw: bytes) -> bool:
        """Keep it, durably. False, and counted, when this source has sent this event id before."""

    async def due(self, now: int, limit: int) -> list[ShelvedEvent]:
        """Events to work on, oldest first. They are this replica's until its lease of a few seconds is over;
        what happens twice then has its effect once all the same."""

    async def renew(self, events: Sequence[ShelvedEvent], now: int) -> None:
        """Hold on to what is still due of these for another lease from `now`."""

    async def get(self, source: str, event_id: str) -> ShelvedEvent | None: ...

    async def raw(self, source: str, event_id: str) -> bytes | None:
        """The bytes that it was filed with."""

    async def waits(self, match_key: str) -> list[str]:
        """Open interrupts that wait for this key."""

    async def shelve(self, source: str, event_id: str) -> bool:
        """Put it on the shelf, unless a wait for it is open: then False, and it stays due."""

    async def applied(
        self, source: str, event_id: str, matched: list[str], error: str = ""
    ) -> None:
        """It has had its effect on `matched`, or failed with `error`, for an operator to see."""

    async def set_aside(
        self, source: str, event_id: str, state: Literal["parked", "expired"], reason: str
    ) -> None:
        """Take a due event out of the reach of waits, for an operator to see."""

    async def listing(self, wanted: Wanted, now: int) -> list[Listed]:
        """Newest first."""

    async def bind(self, source: str, event_id: str, interrupt_id: str) -> bool:
        """Claim it for one interrupt, out of the reach of all others: it is parked. False when it is at work,
        has had an effect, or is bound to another interrupt."""

    async def unbind(self, source: str, event_id: str, interrupt_id: str, reason: str) -> None:
        """Give up a claim that came to nothing."""

    async def again(self, event: ShelvedEvent) -> bool:
        """Make it due once more, with the mapping of `event`. False when it is at work, has had an effect, or
        is bound to an interrupt."""
