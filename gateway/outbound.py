"""The worker of outbound webhooks: hands each due delivery to its endpoint, in the order of its run.

At least once, and durable: an attempt is recorded before the next of its run is taken up. A failing endpoint
slows itself only: every subscription has its own few slots, and after some failures in a row it rests as a
whole and is then tried with one delivery at a time, until one gets through.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass
from typing import Any, Final

import orjson
import structlog

from adapters.webhooks.deliver import Outcome, Sender
from adapters.webhooks.retry import RetryPolicy
from adapters.webhooks.sign_out import STANDARD, Signing, headers
from gateway import wire
from gateway.webhook_wire import RETENTION_MS
from host.host import Host
from host.store.webhooks import Delivery, Subscription
from schemas.versions import ProtocolVersion

log = structlog.get_logger("sayso.outbound")

TOPIC: Final = "outbox"
"""What is woken when a slot is free or something is owed; the outbox is looked at every tick anyway."""
_LEASE_MS: Final = (
    20_000  # an attempt ends in 15 s; one whose gateway was killed is taken up after this
)
_REMEMBERED_MS: Final = 3_600_000
_TICK_SECONDS: Final = 0.1
_TIDY_SECONDS: Final = 600.0
_SLOTS: Final = 256
_SLOTS_EACH: Final = 4


@dataclass(slots=True)
class _Endpoint:
    """What this process knows of a subscription's endpoint. `rests_until` in ms."""

    busy: int = 0
    failures: int = 0
    rests_until: int = 0


class Outbound:
    """One per process. Replicas share the work: a delivery is leased by the one that sends it."""

    def __init__(
        self,
        host: Host,
        sender: Sender,
        protocol: ProtocolVersion,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.policy = policy or RetryPolicy()
        self._host = host
        self._sender = sender
        self._protocol = protocol
        self._endpoints: dict[str, _Endpoint] = {}
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """For ever. A failing store delays it; nothing ends it but cancellation."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._send_on())
                group.create_task(self._tidy())
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def once(self) -> int:
        """Start what may be sent now. Returns how many were started."""
        now, outbox = self._host.clock(), self._host.store.outbox
        started = 0
        ready = await outbox.ready(now)
        random.shuffle(ready)  # so that nobody is always last when slots are short
        for webhook_id in ready:
            endpoint = self._endpoints.setdefault(webhook_id, _Endpoint())
            room = self._room(endpoint, now)
            if room > 0:
                for delivery in await outbox.claim(webhook_id, now, _LEASE_MS, room):
                    self._start(endpoint, delivery)
                    started += 1
        self._forget_idle(now)
        return started

    async def idle(self) -> None:
        """Returns when nothing is being sent."""
        while self._sending:
            await asyncio.wait(list(self._sending))

    async def tidy(self) -> None:
        """Drop what is past its retention."""
        now = self._host.clock()
        await self._host.store.outbox.forget(now - RETENTION_MS, now)

    async def _send_on(self) -> None:
        with self._host.waiters.on(TOPIC) as due:
            while True:
                due.clear()
                try:
                    await self.once()
                except Exception as error:
                    log.error("the outbox could not be worked on", error=repr(error))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_SECONDS):
                        await due.wait()

    async def _tidy(self) -> None:
        while True:
            try:
                await self.tidy()
            except Exception as error:
                log.error("dead letters were not tidied", error=repr(error))
            await asyncio.sleep(_TIDY_SECONDS)

    def _room(self, endpoint: _Endpoint, now: int) -> int:
        """How many more deliveries this endpoint may be given."""
        if now < endpoint.rests_until:
            return 0
        most = 1 if endpoint.failures >= self.policy.trip else _SLOTS_EACH
        return min(most - endpoint.busy, _SLOTS - len(self._sending))

    def _start(self, endpoint: _Endpoint, delivery: Delivery) -> None:
        endpoint.busy += 1
        task = asyncio.create_task(self._attempt(endpoint, delivery))
        self._sending.add(task)

        def done(task: asyncio.Task[None]) -> None:
            endpoint.busy -= 1
            self._sending.discard(task)
            self._host.waiters.wake(TOPIC)

        task.add_done_callback(done)

    def _forget_idle(self, now: int) -> None:
        """A failing one is remembered for a while after its rest, else it would never be probed."""
        for webhook_id, endpoint in list(self._endpoints.items()):
            keep = _REMEMBERED_MS if endpoint.failures else 0
            if not endpoint.busy and now >= endpoint.rests_until + keep:
                del self._endpoints[webhook_id]

    async def _attempt(self, endpoint: _Endpoint, delivery: Delivery) -> None:
        try:
            subscription = await self._host.store.subscriptions.get(delivery.webhook_id)
            if subscription is None:
                return
            body = await self._body(delivery)
            if body is None:
                await self._unprojectable(delivery)
                return
            now = self._host.clock()
            signed = headers(
                signing(subscription, now),
                delivery.event_type,
                delivery.delivery_id.partition("/")[2],
                now // 1000,
                body,
            )
            outcome = await self._sender.deliver(subscription.url, body, signed)
            await self._settle(endpoint, subscription, delivery, outcome)
        except Exception as error:
            # The lease runs out and it is tried again: the type alone, a text may hold an address.
            log.error("delivery broke off", webhook=delivery.webhook_id, error=type(error).__name__)

    async def _body(self, delivery: Delivery) -> bytes | None:
        """`{runId, workspaceId?, event}`, the event as stream and poll show it."""
        run = await self._host.store.log.run(delivery.run_id)
        events = await self._host.store.log.events(delivery.run_id, delivery.sequence - 1, 1)
        event = next((e for e in events if e.sequence == delivery.sequence), None)
        if run is None or event is None:
            return None
        body: dict[str, Any] = {"runId": run.run_id}
        if "workspace" in run.owner:
            body["workspaceId"] = run.owner["workspace"]
        body["event"] = wire.event_doc(event, self._protocol)
        return orjson.dumps(body)

    async def _settle(
        self,
        endpoint: _Endpoint,
        subscription: Subscription,
        delivery: Delivery,
        outcome: Outcome,
    ) -> None:
        now = self._host.clock()
        if outcome.delivered:
            endpoint.failures = endpoint.rests_until = 0
            await self._host.store.outbox.delivered(delivery)
            log.debug("webhook delivered", webhook=delivery.webhook_id, run=delivery.run_id)
            return
        endpoint.failures += 1
        rest = self.policy.rest(endpoint.failures, outcome.retry_after)
        endpoint.rests_until = max(endpoint.rests_until, now + rest)
        wait = self.policy.delay(delivery.attempts + 1, random.random(), outcome.retry_after)  # noqa: S311
        outbox = self._host.store.outbox
        if wait is None:
            since = await outbox.give_up(delivery, "retries_exhausted", outcome.status, now)
        else:
            since = await outbox.retry(delivery, outcome.status, now + wait, now)
        log.log(
            40 if wait is None else 30,
            "webhook delivery is dead" if wait is None else "webhook not delivered",
            webhook=delivery.webhook_id,
            run=delivery.run_id,
            type=delivery.event_type,
            reason=outcome.reason,
            attempts=delivery.attempts + 1,
        )
        if since is not None and (outcome.gone or self.policy.hopeless(since, now)):
            await self._disable(subscription, outcome.gone, now)

    async def _disable(self, subscription: Subscription, gone: bool, now: int) -> None:
        why = "it answered 410 Gone" if gone else "it only failed for three days"
        dead = await self._host.store.subscriptions.disable(subscription.webhook_id, why, now)
        log.error(
            "webhook disabled: nothing more is sent to it until a dead letter is redriven",
            webhook=subscription.webhook_id,
            reason=why,
            dead_letters=dead,
        )

    async def _unprojectable(self, delivery: Delivery) -> None:
        now = self._host.clock()
        await self._host.store.outbox.give_up(delivery, "payload_unprojectable", None, now)
        log.error("the event of a delivery is missing", webhook=delivery.webhook_id)


def signing(subscription: Subscription, now: int) -> Signing:
    """What signs a delivery at `now` (ms): both secrets during the overlap of a rotation."""
    overlap = subscription.previous_secret and now < subscription.previous_until
    return Signing(
        subscription.webhook_id,
        subscription.secret,
        subscription.previous_secret if overlap else "",
        STANDARD in subscription.algorithms,
    )
