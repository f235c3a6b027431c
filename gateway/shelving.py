"""External events at work: how they are kept, and how they find the waits that they end.

An event has its effect once, whatever crashes. The answer to the first wait that it ends leaves a mark, in
the transaction of that answer; who then finds the event still due sees by the mark that it has been at work,
and doesn't offer it to a wait that came later.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import orjson
import structlog

from adapters.channel import InboundEvent
from gateway.workers import forever
from host.decisions.request import match_key
from host.decisions.resolve import Answer
from host.decisions.state import Principal, State
from host.host import Host
from host.journal import AlreadyReplied
from host.store.records import Reply, StoreUnavailable
from host.store.shelf import ShelvedEvent
from schemas.errors import Refusal

log = structlog.get_logger("sayso.shelf")

_UNMAPPED = "sayso.unmapped"
_AT_ONCE = 16
_RENEW_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Filing:
    """How the events of one source are kept. `keep_ms`: how long one may match."""

    tenant: str
    keep_ms: int
    several: Literal["all", "exactlyOne"]


def shelved_event(source: str, filing: Filing, event: InboundEvent, now: int) -> ShelvedEvent:
    """An inbound event as it is kept. `now` in ms."""
    mapped = event.event_type != _UNMAPPED
    tenant, kind = filing.tenant, event.event_type
    return ShelvedEvent(
        source=source,
        event_id=event.event_id,
        tenant=tenant,
        event_type=kind,
        match_key=match_key(tenant, kind, event.correlation) if mapped else None,
        payload=event.payload,
        received_at=now,
        correlation=event.correlation,
        expires_at=now + filing.keep_ms,
        several=filing.several,
        headers=dict(event.headers),
    )


class ShelfWorker:
    """Brings verified external events to the waits that they match."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def run(self) -> None:
        await forever("shelf", self._host, "shelf", 1.0, self.once)

    async def once(self) -> bool:
        """Work on what is due: one after the other where events have a key in common, since the next wait of
        a loop gets the next event, and otherwise several at once. True when something changed."""
        due = await self._host.store.shelf.due(self._host.clock(), 100)
        lines: dict[str, list[ShelvedEvent]] = defaultdict(list)
        for event in due:
            lines[event.match_key or event.event_id].append(event)
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def follow(line: list[ShelvedEvent]) -> bool:
            async with at_once:
                return any([await self.apply(event) for event in line])

        holding = asyncio.create_task(self._hold(due))
        try:
            done = await asyncio.gather(*map(follow, lines.values()), return_exceptions=True)
        finally:
            holding.cancel()
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
        return any(done)

    async def _hold(self, due: list[ShelvedEvent]) -> None:
        """For as long as it takes: renew the leases of what is worked on."""
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            with contextlib.suppress(StoreUnavailable):
                await self._host.store.shelf.renew(due, self._host.clock())

    async def apply(self, event: ShelvedEvent) -> bool:
        """Resolve the waits of this event, or put it on the shelf. True when its state changed."""
        shelf = self._host.store.shelf
        if event.match_key is None:
            reason = _why_unmapped(event)
            await shelf.applied(event.source, event.event_id, [], reason)
            log.warning("event not mapped", source=event.source, event_id=event.event_id)
            return True
        done = await self._marked(event)
        waits = await shelf.waits(event.match_key)
        if not waits and done is not None:
            await self._done(event, done, [])
            return True
        if event.expires_at is not None and event.expires_at <= self._host.clock():
            # Checked here, where it matters, and not when somebody comes to sweep.
            reason = "its time on the shelf was over"
            await shelf.set_aside(event.source, event.event_id, "expired", reason)
            return True
        if not waits:
            return await shelf.shelve(event.source, event.event_id)
        if len(waits) > 1 and event.several == "exactlyOne":
            await self._park(event, waits)
            return True
        return await self._resolve_all(event, waits, done or [])

    async def _resolve_all(self, event: ShelvedEvent, waits: list[str], done: list[str]) -> bool:
        matched, problems = list(done), []
        for interrupt_id in waits:
            if interrupt_id in matched:
                continue
            try:
                await end_wait(self._host, event, interrupt_id, mark=not matched)
                matched.append(interrupt_id)
            except Refusal as refusal:
                if refusal.code == "interrupt_already_resolved":
                    continue
                problems.append(f"{interrupt_id}: {refusal.message}")
            except StoreUnavailable:
                return False
        if not matched and not problems:
            return False
        await self._done(event, matched, problems)
        return True

    async def _done(self, event: ShelvedEvent, matched: list[str], problems: list[str]) -> None:
        every = list(dict.fromkeys([*event.matched, *matched]))
        error = "; ".join(problems)
        await self._host.store.shelf.applied(event.source, event.event_id, every, error)
        facts = {"source": event.source, "event_id": event.event_id, "waits": len(matched)}
        if problems:
            log.warning("event refused by a wait", **facts)
        else:
            log.info("event applied", **facts)

    async def _park(self, event: ShelvedEvent, waits: list[str]) -> None:
        names = ", ".join(waits[:5]) + (", …" if len(waits) > 5 else "")
        reason = f"{len(waits)} waits match, and exactly one may: {names}"
        await self._host.store.shelf.set_aside(event.source, event.event_id, "parked", reason)
        log.error("event parked", source=event.source, event_id=event.event_id, waits=len(waits))

    async def _marked(self, event: ShelvedEvent) -> list[str] | None:
        """Whom it answered first, if it was at work before."""
        mark = await self._host.store.replies.find(_mark_scope(event))
        return list(orjson.loads(mark.body)) if mark is not None else None


async def end_wait(
    host: Host,
    event: ShelvedEvent,
    interrupt_id: str,
    *,
    mark: bool,
    by: Principal | None = None,
) -> None:
    """Resolve one interrupt with an event; `mark` leaves the trace of a first effect. `by` is the operator
    who matched it by hand.

    Raises `Refusal`, `StoreUnavailable`.
    """
    via = f"hook:{event.source}"
    source = Principal(id=via, tenant=event.tenant, name=event.source, kind="workload")
    answer = Answer(by or source, event.payload, "api" if by else via, matched=True)
    try:
        await host.resolve(interrupt_id, answer, _keep(event, interrupt_id) if mark else None)
    except AlreadyReplied:
        # Another replica was first with this very event: it goes on with the other waits.
        raise Refusal("interrupt_already_resolved", "This event has had its effect.") from None


def _keep(event: ShelvedEvent, interrupt_id: str) -> Callable[[State], Reply]:
    reply = Reply(_mark_scope(event), "", 200, orjson.dumps([interrupt_id]))
    return lambda _: reply


def _mark_scope(event: ShelvedEvent) -> str:
    text = f"{event.source}\0{event.event_id}"
    return "hook:" + hashlib.sha256(text.encode()).hexdigest()


def _why_unmapped(event: ShelvedEvent) -> str:
    payload = event.payload if isinstance(event.payload, dict) else {}
    return f"its mapping failed: {payload.get('key')}: {payload.get('reason')}"
