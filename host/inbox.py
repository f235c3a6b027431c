"""What waits for one person, and what they decided lately: read from the store, bounded.

There is no table of who may decide what: groups and roles are looked up now. So the open requests are
read, the newest first and at most `MOST_LOOKED` of them, and filtered by the rule of the decision.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from host.decisions import inbox
from host.decisions.state import Interrupt, Principal
from host.host import Host
from schemas.errors import Refusal

MOST_LOOKED: Final = 2000
MOST_FOUND: Final = 100
_MOST_ENDED: Final = 300
_PAGE: Final = 200
_PATIENCE: Final = (
    1.5  # seconds: who somebody is may have to be asked of a channel, which may be slow
)

Who = Callable[[Interrupt], Awaitable[Principal]]
"""Who somebody is to one request (whether they were asked by name depends on it)."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for one person, the most urgent first. `more`: there may be others."""

    interrupts: tuple[Interrupt, ...]
    more: bool


class Inbox:
    """Of one tenant."""

    def __init__(self, host: Host, tenant: str) -> None:
        self._host = host
        self._tenant = tenant
        self._read: tuple[float, Sequence[Interrupt], bool] = (float("-inf"), (), False)

    async def waiting(self, who: Who, *, since: float | None = None) -> Waiting:
        """`since`: a list of open requests that was read since then (`time.monotonic`) will do. Raises
        `StoreUnavailable`."""
        opened, more = await self._open(since)
        found: list[Interrupt] = []
        now, policy, end = self._host.clock(), self._host.policy, time.monotonic() + _PATIENCE
        for number, interrupt in enumerate(opened):
            if number % _PAGE == 0:
                await asyncio.sleep(0)
            if interrupt.kind not in inbox.ASKS_PEOPLE:
                continue
            if time.monotonic() > end or len(found) > MOST_FOUND:
                more = True
                break
            person = await _known(who, interrupt)
            if person is not None and inbox.waits_for(interrupt, person, policy, now):
                found.append(interrupt)
        return Waiting(tuple(inbox.by_urgency(found)[:MOST_FOUND]), more)

    async def decided(self, who: Who, most: int) -> tuple[Interrupt, ...]:
        """The requests that ended lately and in which this person took part, the newest first."""
        found: list[Interrupt] = []
        end = time.monotonic() + _PATIENCE
        for interrupt in (await self._list(None, _MOST_ENDED))[0]:
            if time.monotonic() > end:
                break
            if interrupt.status == "open" or interrupt.kind not in inbox.ASKS_PEOPLE:
                continue
            person = await _known(who, interrupt)
            if person is not None and inbox.took_part(interrupt, person):
                found.append(interrupt)
                if len(found) == most:
                    break
        return tuple(found)

    async def find(self, text: str, who: Who) -> Interrupt | None:
        """The request of this id, or whose id ends in `text` (as cards write it), among those that
        this person may decide or took part in. None for any other: nothing is told of what exists.
        """
        text = text.strip()
        if "/" in text:
            if not text.startswith(f"{self._tenant}/"):
                return None
            known = await self._host.store.log.interrupt(text)
            opened: Sequence[Interrupt] = (known,) if known is not None else ()
        elif len(text) < 6:
            return None
        else:
            every = (await self._list(None, MOST_LOOKED))[0]
            opened = [i for i in every if i.interrupt_id.lower().endswith(text.lower())]
        for interrupt in opened[:10]:
            person = await _known(who, interrupt)
            if person is None:
                continue
            if inbox.may_decide(interrupt, person, self._host.policy):
                return interrupt
            if inbox.took_part(interrupt, person) or interrupt.requested_by == person.id:
                return interrupt
        return None

    async def _open(self, since: float | None) -> tuple[Sequence[Interrupt], bool]:
        at, known, more = self._read
        if since is not None and at >= since:
            return known, more
        began = time.monotonic()
        known, more = await self._list("open", MOST_LOOKED)
        self._read = (began, known, more)
        return known, more

    async def _list(self, status: str | None, most: int) -> tuple[Sequence[Interrupt], bool]:
        found: list[Interrupt] = []
        cursor: str | None = None
        while len(found) < most:
            page = await self._host.store.log.interrupts(self._tenant, status, _PAGE, cursor)
            found += page.interrupts
            cursor = page.cursor
            if cursor is None:
                return found, False
            await asyncio.sleep(0)
        return found[:most], True


async def _known(who: Who, interrupt: Interrupt) -> Principal | None:
    """Who they are, or None when that can't be said now: then nothing is theirs."""
    try:
        return await who(interrupt)
    except Refusal:
        return None
