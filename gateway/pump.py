"""The delivery pump: makes each stale message equal to its interrupt's current state.

Level-triggered: it claims messages whose shown version is behind the wanted one, loads the interrupt as it
is now, draws it, and has the channel post or update. Ten quick votes cost one update, a crash repeats
harmlessly, a rate limit only delays. Turns of one conversation at one address go one after the other.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import structlog

from adapters.cards import card_of, thread_of
from adapters.channel import Channel, Delivery, DeliveryFailed
from adapters.views import Person
from gateway.links import AnswerLinks
from gateway.people import People
from host.coordination.port import Coordination
from host.decisions.state import Interrupt
from host.host import Host
from host.store.port import Message

log = structlog.get_logger("sayso.pump")

_BATCH = 64
_LEASE_MS = 60_000
_SEND_SECONDS = 45.0
_MOST_ATTEMPTS = 25


class Pump:
    """One per process. `start` runs it until `stop`."""

    def __init__(
        self,
        host: Host,
        channels: Mapping[str, Channel],
        people: People,
        links: AnswerLinks,
        coordination: Coordination,
    ) -> None:
        self._host = host
        self._channels = channels
        self._people = people
        self._links = links
        self._coordination = coordination
        self._owner = secrets.token_hex(8)
        self._slots = asyncio.Semaphore(16)

    async def run(self) -> None:
        """For ever. A failing store delays it; nothing ends it but cancellation."""
        with self._host.waiters.on("messages") as stale:
            while True:
                stale.clear()
                try:
                    more = await self.once()
                except Exception as error:
                    log.error("the pump could not work", error=repr(error))
                    more = False
                if not more:
                    try:
                        async with asyncio.timeout(1.0):
                            await stale.wait()
                    except TimeoutError:
                        continue

    async def once(self) -> bool:
        """Claim and send one batch. True when there was anything."""
        deliveries = self._host.store.deliveries
        claimed = await deliveries.claim(self._host.clock(), self._owner, _LEASE_MS, _BATCH)
        lanes: dict[tuple[str, ...], list[Message]] = defaultdict(list)
        for message in claimed:
            lane = (message.thread or message.interrupt_id, message.channel, message.address)
            lanes[lane].append(message)
        await asyncio.gather(*(self._lane(messages) for messages in lanes.values()))
        return bool(claimed)

    async def _lane(self, messages: list[Message]) -> None:
        for message in messages:
            async with self._slots:
                await self._send(message)

    async def _send(self, message: Message) -> None:
        now = self._host.clock()
        interrupt = await self._host.store.log.interrupt(message.interrupt_id)
        channel = self._channels.get(message.channel)
        if interrupt is None or channel is None:
            reason = f"no channel {message.channel!r} is set up here"
            await self._host.store.deliveries.failed(message, reason, None, now)
            log.error("message is dead", interrupt=message.interrupt_id, reason=reason)
            return
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self._show(channel, message, interrupt)
        except DeliveryFailed as failure:
            await self._failed(message, failure)
        except TimeoutError:
            await self._failed(message, DeliveryFailed("the channel did not answer in time"))
        except Exception as error:
            log.exception("channel failed", channel=message.channel)
            await self._failed(message, DeliveryFailed(f"unexpected: {type(error).__name__}"))

    async def _show(self, channel: Channel, message: Message, interrupt: Interrupt) -> None:
        store = self._host.store.deliveries
        tenant = interrupt.tenant
        thread = None
        if message.thread:
            conversation = await self._host.store.log.conversation(tenant, message.thread)
            thread = thread_of(interrupt, conversation.title if conversation else "")
        delivery = Delivery(
            address=message.address,
            card=card_of(interrupt, self._people.names()),
            ref=message.ref,
            thread=thread,
            link=await self._link(message),
        )
        delivery = replace(delivery, card=replace(delivery.card, link=delivery.link))
        if thread is None:
            shown = await channel.show(delivery)
        else:
            place = (tenant, message.thread, message.channel, message.address)
            async with self._coordination.lock("thread:" + "\0".join(place), ttl=30.0, wait=20.0):
                root = await store.thread(*place)
                shown = await channel.show(replace(delivery, thread_ref=root))
                if shown.thread_ref is not None and root is None:
                    await store.put_thread(*place, shown.thread_ref)
        now = self._host.clock()
        kept = await store.shown(replace(message, wanted=interrupt.version), shown.ref, now)
        if not kept:
            log.warning("a newer claim exists", interrupt=message.interrupt_id)
        self._host.waiters.wake("messages")

    async def _link(self, message: Message) -> str:
        """A link is a person's own: an address that is one person gets one, a room gets none."""
        if message.channel == "email":
            person = Person("email", message.address)
        elif message.channel == "web":
            person = Person("web", message.address or "anyone", "somebody with the link")
        else:
            return ""
        return await self._links.make(message.interrupt_id, person)

    async def _failed(self, message: Message, failure: DeliveryFailed) -> None:
        now = self._host.clock()
        retry_at: int | None = None
        if not failure.permanent and message.attempts + 1 < _MOST_ATTEMPTS:
            backoff = min(2.0**message.attempts, 300.0) * (0.75 + random.random() / 2)  # noqa: S311
            retry_at = now + round(1000 * (failure.retry_after or backoff))
        await self._host.store.deliveries.failed(message, failure.reason, retry_at, now)
        log.log(
            30 if retry_at else 40,
            "message not delivered" if retry_at else "message is dead",
            interrupt=message.interrupt_id,
            channel=message.channel,
            reason=failure.reason,
            attempts=message.attempts + 1,
        )
