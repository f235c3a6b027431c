"""The delivery pump: makes each stale message equal to its interrupt's current state.

Level-triggered: it claims messages whose shown version is behind the wanted one, loads the interrupt as it
is now, draws it, and has the channel post or update. Ten quick votes cost one update, a crash repeats
harmlessly, a rate limit only delays. Turns of one conversation at one address go one after the other (a
lane), and a channel that answers slowly holds up nobody but itself.

A channel that may not send yet says until when, and the message goes back to the store until then: nothing
waits here, and no slot or lease is held meanwhile. A message that can never be shown is dead; if that leaves
an open question with nobody to see it, it goes to the next of the fallback addresses.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from adapters.channel import Channel, Delivery, DeliveryFailed, NotYet, Ref
from adapters.views import Person
from gateway.holding import Holding
from gateway.links import AnswerLinks
from gateway.people import People
from gateway.subjects import Subject, Subjects
from gateway.watch import Watch
from host.coordination.port import Coordination
from host.decisions.session_thread import session_run
from host.decisions.state import SOMEBODY, Interrupt
from host.host import Host
from host.store.port import Message
from host.store.records import StoreUnavailable

log = structlog.get_logger("sayso.pump")

_TICK_SECONDS = 1.0
_BATCH = 64
_MOST_CLAIMED = 512  # messages that this process holds at a time, of all channels
_SLOTS = 16  # messages on their way at a time, of one channel
_SEND_SECONDS = 45.0
_RECORD_SECONDS = 20.0
_MOST_ATTEMPTS = 25


Lane = tuple[str, ...]
"""What goes in order: the messages of one conversation, or of one interrupt, at one address."""


class Pump:
    """One per process. Runs until it is cancelled."""

    def __init__(
        self,
        host: Host,
        channels: Mapping[str, Channel],
        people: People,
        links: AnswerLinks,
        coordination: Coordination,
        watch: Watch,
        fallback: Sequence[str] = (),
    ) -> None:
        self._host = host
        self._channels = channels
        self._links = links
        self._coordination = coordination
        self._watch = watch
        self._subjects = Subjects(host, people)
        self._holding = Holding(host.store.deliveries, secrets.token_hex(8), host.clock)
        self._slots: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_SLOTS))
        self._lanes: dict[Lane, deque[Message]] = {}
        self._fallback = tuple(fallback)
        self._soonest = float(
            "inf"
        )  # when the first of those that were put off is due, by the loop

    async def run(self) -> None:
        """For ever. A failing store delays it; nothing ends it but cancellation."""
        with self._host.waiters.on("messages") as stale:
            async with asyncio.TaskGroup() as sending:
                sending.create_task(self._holding.keep())
                await self._revive()
                while True:
                    stale.clear()
                    try:
                        more = await self._claim(sending)
                    except Exception as error:
                        log.error("the pump could not work", error=repr(error))
                        more = False
                    if not more:
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(self._rest()):
                                await stale.wait()

    def _rest(self) -> float:
        """Seconds to wait when nothing is due: a tick, or until the first that was put off is."""
        now = asyncio.get_running_loop().time()
        left = self._soonest - now
        if left <= 0:
            self._soonest = float("inf")
        return min(max(left, 0.01), _TICK_SECONDS)

    async def _revive(self) -> None:
        """An operator mends (invites the bot, renews a token) and starts again: dead letters of open
        questions get another chance."""
        try:
            if revived := await self._host.store.deliveries.revive(self._host.clock()):
                log.info("dead messages of open requests are tried again", messages=revived)
        except Exception as error:
            log.error("dead messages were not revived", error=repr(error))

    async def _claim(self, sending: asyncio.TaskGroup) -> bool:
        """Claim one batch and put each message into its lane. True when there was anything."""
        room = min(_BATCH, _MOST_CLAIMED - len(self._holding))
        if room <= 0:
            return False
        claimed = await self._holding.claim(room)
        for message in claimed:
            name = (message.thread or message.interrupt_id, message.channel, message.address)
            lane = self._lanes.setdefault(name, deque())
            lane.append(message)
            if len(lane) == 1:
                sending.create_task(self._drain(name, lane))
        return bool(claimed)

    async def _drain(self, name: Lane, lane: deque[Message]) -> None:
        """Send what is in a lane, one after the other, and what is put into it meanwhile."""
        while lane:
            message = lane[0]
            try:
                async with self._slots[message.channel]:
                    # One that somebody else may hold by now is left: it is claimed anew, here or there.
                    if self._holding.sure(message):
                        await self._send(message)
            except Exception as error:
                log.error("a delivery could not be recorded", error=repr(error))
            self._holding.drop(message)
            lane.popleft()
        del self._lanes[name]
        self._host.waiters.wake("messages")

    async def _send(self, message: Message) -> None:
        interrupt = await self._host.store.log.interrupt(message.interrupt_id)
        channel = self._channels.get(message.channel)
        if channel is None:
            reason = f"no channel {message.channel!r} is set up here"
            await self._failed(message, DeliveryFailed(reason, permanent=True), interrupt)
            return
        try:
            with self._watch.delivering(message.channel, interrupt):
                async with asyncio.timeout(_SEND_SECONDS):
                    await self._show(channel, message, await self._subject(message, interrupt))
        except NotYet as wait:
            await self._put_off(message, wait.seconds)
        except DeliveryFailed as failure:
            await self._failed(message, failure, interrupt)
        except TimeoutError:
            late = DeliveryFailed("the channel did not answer in time")
            await self._failed(message, late, interrupt)
        except StoreUnavailable:
            raise
        except Exception as error:
            log.exception("channel failed", channel=message.channel)
            broken = DeliveryFailed(f"unexpected: {type(error).__name__}")
            await self._failed(message, broken, interrupt)

    async def _put_off(self, message: Message, seconds: float) -> None:
        """Hand it back until its turn comes."""
        now, loop = self._host.clock(), asyncio.get_running_loop()
        await self._host.store.deliveries.postpone(message, now + round(1000 * seconds), now)
        self._soonest = min(self._soonest, loop.time() + seconds)

    async def _subject(self, message: Message, interrupt: Interrupt | None) -> Subject:
        found = await self._subjects.of(message, interrupt)
        if found is None:  # a post may be claimed before its commit is seen here
            gone = session_run(message.thread) is None
            raise DeliveryFailed("what it shows is not there", permanent=gone)
        return found

    async def _show(self, channel: Channel, message: Message, subject: Subject) -> None:
        store, thread = self._host.store.deliveries, subject.thread
        delivery = Delivery(
            address=message.address,
            card=subject.card,
            ref=message.ref,
            thread=thread,
            link=await self._link(message),
            note=lambda ref: store.note(message, ref),
        )
        delivery = replace(delivery, card=replace(delivery.card, link=delivery.link))
        if thread is None:
            shown = await channel.show(delivery)
        else:
            tenant = message.interrupt_id.partition("/")[0]
            place = (tenant, message.thread, message.channel, message.address)
            async with self._coordination.lock("thread:" + "\0".join(place), ttl=30.0, wait=20.0):
                root = await store.thread(*place)
                opened: Ref | None = None
                try:
                    shown = await channel.show(replace(delivery, thread_ref=root))
                    opened = shown.thread_ref
                except DeliveryFailed as failure:
                    opened = failure.thread_ref
                    raise
                finally:
                    if opened is not None and root is None:
                        await store.put_thread(*place, opened)
        now = self._host.clock()
        kept = await self._record(replace(message, wanted=subject.version), shown.ref, now)
        if kept:
            self._watch.shown(message.channel, subject.interrupt, now)
        else:
            log.warning("a newer claim exists", interrupt=message.interrupt_id)
        self._host.waiters.wake("messages")

    async def _record(self, message: Message, ref: dict[str, Any], now: int) -> bool:
        """Keep what the channel shows, trying while the store is away: a message that is not on record
        is posted once more."""
        end = asyncio.get_running_loop().time() + _RECORD_SECONDS
        while True:
            try:
                return await self._host.store.deliveries.shown(message, ref, now)
            except StoreUnavailable:
                if asyncio.get_running_loop().time() > end:
                    raise
                await asyncio.sleep(0.1 + random.random() / 5)  # noqa: S311 - jitter

    async def _link(self, message: Message) -> str:
        """A link is a person's own: an address that is one person gets one, a room gets none."""
        if message.channel == "email":
            person = Person("email", message.address)
        elif message.channel == "web":
            person = Person("web", message.address or "anyone", SOMEBODY)
        else:
            return ""
        return await self._links.make(message.interrupt_id, person)

    async def _failed(
        self, message: Message, failure: DeliveryFailed, interrupt: Interrupt | None
    ) -> None:
        now = self._host.clock()
        retry_at: int | None = None
        if not failure.permanent and message.attempts + 1 < _MOST_ATTEMPTS:
            backoff = min(2.0**message.attempts, 300.0) * (0.75 + random.random() / 2)  # noqa: S311
            retry_at = now + round(1000 * (failure.retry_after or backoff))
        elif interrupt is not None and interrupt.status == "open":
            await self._fall_back(
                message, interrupt, now
            )  # before it is dead: a crash here repeats this
        await self._host.store.deliveries.failed(message, failure.reason, retry_at, now)
        if retry_at is None:
            self._watch.metrics.delivered(message.channel, "dead")
            self._watch.metrics.died(message.channel, failure.code)
        log.log(
            30 if retry_at else 40,
            "message not delivered" if retry_at else "message is dead",
            interrupt=message.interrupt_id,
            channel=message.channel,
            address=message.address if message.channel == "slack" else "",
            reason=failure.reason,
            attempts=message.attempts + 1,
        )

    async def _fall_back(self, message: Message, interrupt: Interrupt, now: int) -> None:
        """Send the question to the next fallback address, if this was the last one that it had: those of
        the request first, and then those of everybody."""
        store = self._host.store.deliveries
        lost = (message.channel, message.address)
        statuses = await store.of(message.interrupt_id)
        if any(s.state != "dead" and (s.channel, s.address) != lost for s in statuses):
            return
        for place in (*interrupt.fallback, *self._fallback):
            channel, _, address = place.partition(":")
            if channel in self._channels and await store.add(message, channel, address, now):
                log.warning("the question moves on", interrupt=message.interrupt_id, to=place)
                self._host.waiters.wake("messages")
                return
