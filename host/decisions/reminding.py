"""When is somebody reminded of an open request, and who? Pure.

Once at half of the time that there is to answer, and once at nine tenths. After a downtime in which both
passed, the later one alone. A window that is shorter than `SHORTEST_MS` has no reminders: it is over before
anybody could have forgotten it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from host.decisions.inbox import ASKS_PEOPLE
from host.decisions.state import Interrupt, Principal

SHARES: Final = (50, 90)
"""Percent of the window."""

SHORTEST_MS: Final = 10 * 60_000


def moments(interrupt: Interrupt) -> tuple[tuple[int, int], ...]:
    """(share, when in ms) of each reminder of a request, the first one first."""
    if interrupt.deadline is None or interrupt.kind not in ASKS_PEOPLE:
        return ()
    window = interrupt.deadline - interrupt.requested_at
    if window < SHORTEST_MS:
        return ()
    return tuple((share, interrupt.requested_at + window * share // 100) for share in SHARES)


def due(interrupt: Interrupt, now: int) -> int:
    """The share whose reminder is to be sent now; 0 for none."""
    if interrupt.status != "open" or interrupt.deadline is None or now >= interrupt.deadline:
        return 0
    return max((share for share, at in moments(interrupt) if at <= now), default=0)


def following(interrupt: Interrupt, now: int) -> int | None:
    """When the next reminder is due (ms), or None: there is none any more."""
    if interrupt.status != "open":
        return None
    return min((at for _, at in moments(interrupt) if at > now), default=None)


def missing(interrupt: Interrupt, people: Iterable[Principal]) -> list[Principal]:
    """Those of `people` who have not voted, each once, in their order."""
    voted = {vote.principal for vote in interrupt.votes}
    found: dict[str, Principal] = {}
    for person in people:
        if person.id not in voted:
            found.setdefault(person.id, person)
    return list(found.values())
