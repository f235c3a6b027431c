"""Reminds people of what waits for them, once at half of the time and once at nine tenths.

Each replica looks at the open requests whose deadlines come first, and knows when each is due. Who sends a
reminder is decided by a document that is put before it is sent: so it goes out once over any number of
replicas, and a crash right there loses one rather than sending two. In somebody's quiet hours they are not
named; when all who are missing sleep, the reminder waits until the first of them is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from adapters.cards import card_of
from adapters.channel import Channel, DeliveryFailed, NotYet
from adapters.reminders import Reminder, Reminds
from adapters.views import Person
from gateway.people import People
from gateway.workers import forever
from host.decisions import reminding
from host.decisions.eligibility import listed
from host.decisions.state import Interrupt, Principal
from host.host import Host
from host.store.port import MessageStatus

log = structlog.get_logger("sayso.reminders")

KIND: Final = "reminder"
_HORIZON_MS: Final = 400 * 86_400_000
_LOOKED_AT: Final = 5000  # requests that are watched: those whose deadlines come first
_LOADED: Final = 500  # of them that are read in one round
_NAMED: Final = 20
_SECONDS: Final = 10.0
_DAY_MS: Final = 86_400_000
_TRIES: Final = 5


class Reminders:
    """One per process. `channels` are all; those that can't remind are left out."""

    def __init__(self, host: Host, channels: Mapping[str, Channel], people: People) -> None:
        self._host = host
        self._people = people
        self._channels: dict[str, Reminds] = {}
        for name, channel in channels.items():
            if callable(getattr(channel, "remind", None)):
                self._channels[name] = channel  # type: ignore[assignment]  # has both methods
        self._next: dict[str, int | None] = {}

    async def run(self) -> None:
        """For ever."""
        await forever("reminders", self._host, "reminders", _SECONDS, self.once)

    async def once(self) -> bool:
        """One round. True when more is to be read at once."""
        if not self._channels:
            return False
        now = self._host.clock()
        ids = await self._host.store.log.due(now + _HORIZON_MS, _LOOKED_AT)
        self._next = {name: self._next[name] for name in ids if name in self._next}
        new = [name for name in ids if name not in self._next][:_LOADED]
        for name in new:
            interrupt = await self._host.store.log.interrupt(name)
            self._next[name] = self._first(interrupt, now) if interrupt is not None else None
        for name in [name for name, at in self._next.items() if at is not None and at <= now]:
            try:
                self._next[name] = await self._remind(name, now)
            except Exception as error:  # one that fails holds up no other
                log.error("a reminder failed", interrupt=name, error=repr(error))
                self._next[name] = now + 60_000
        return len(new) == _LOADED

    def _first(self, interrupt: Interrupt, now: int) -> int | None:
        return now if reminding.due(interrupt, now) else reminding.following(interrupt, now)

    async def _remind(self, interrupt_id: str, now: int) -> int | None:
        """Send what is due. When to look at this request again (ms), or None."""
        interrupt = await self._host.store.log.interrupt(interrupt_id)
        share = reminding.due(interrupt, now) if interrupt is not None else 0
        if interrupt is None or not share:
            return reminding.following(interrupt, now) if interrupt is not None else None
        key = f"{interrupt_id}:{share}"
        documents = self._host.store.documents
        if await documents.get(KIND, key, now) is not None:
            return reminding.following(interrupt, now)
        messages = [m for m in await self._host.store.deliveries.of(interrupt_id) if self._can(m)]
        if not messages:
            return reminding.following(interrupt, now)
        people = reminding.missing(interrupt, self._may_decide(interrupt))
        awake, soonest = await self._awake(people, now)
        assert interrupt.deadline is not None
        if people and not any(awake.values()) and now < soonest < interrupt.deadline:
            return soonest
        expires = interrupt.deadline + _DAY_MS
        if await documents.put(KIND, key, {}, now, expected=0, expires_at=expires) is not None:
            log.info("reminding", interrupt=interrupt_id, share=share, people=len(people))
            for message in messages:
                await self._send(interrupt, message, awake.get(message.channel, ()))
        return reminding.following(interrupt, now)

    def _can(self, message: MessageStatus) -> bool:
        there = isinstance(message.ref, dict) and "ts" in message.ref
        return message.channel in self._channels and message.state != "dead" and there

    def _may_decide(self, interrupt: Interrupt) -> list[Principal]:
        """Those whom the request names, as far as the directory knows them."""
        people, groups, roles = listed(interrupt.data, self._host.policy)
        named = [self._people.principal(name, interrupt.tenant) for name in people]
        return [*named, *self._people.members(groups, roles, interrupt.tenant)]

    async def _awake(
        self, people: Sequence[Principal], now: int
    ) -> tuple[dict[str, tuple[str, ...]], int]:
        """The accounts in each channel that may be disturbed, and when the first of the others may."""
        awake: dict[str, tuple[str, ...]] = {}
        later: list[int] = []
        for name, channel in self._channels.items():
            prefix, up = f"{name}:", []
            for person in people:
                accounts = sorted(n for n in person.names if n.startswith(prefix) and "/" in n)
                for account in accounts[:1]:
                    until = await channel.quiet_until(account.removeprefix(prefix), now)
                    if until > now:
                        later.append(until)
                    else:
                        up.append(account.removeprefix(prefix))
            awake[name] = tuple(up[:_NAMED])
        return awake, min(later, default=0)

    async def _send(
        self, interrupt: Interrupt, message: MessageStatus, accounts: tuple[str, ...]
    ) -> None:
        reader = self._people.reader(Person(message.channel, message.address))
        card = card_of(interrupt, self._people.names(), reader=reader)
        ref: dict[str, Any] = message.ref or {}
        for _ in range(_TRIES):
            try:
                await self._channels[message.channel].remind(
                    message.address, ref, Reminder(card, accounts)
                )
                return
            except NotYet as wait:
                await asyncio.sleep(min(wait.seconds, 30.0))
            except DeliveryFailed as failure:
                log.warning("not reminded", interrupt=interrupt.interrupt_id, reason=failure.reason)
                return
