"""The store port of outbound webhooks: who subscribed to what, and the deliveries that are owed.

A delivery is a row of the outbox, written in the transaction that appends its event (`owed` says which),
so an event is neither lost nor sent before it is committed. It names the event and holds no copy of it:
the body is made from the log at each attempt. Deliveries of one run to one subscription go in the order
of the log; the next is not handed out before the one in front was delivered or given up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from host.store.records import Commit, Reply
from schemas.ids import tenant_of

Dead = Literal["retries_exhausted", "payload_unprojectable"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """An endpoint of one tenant, and the events that it wants. Times in ms.

    `tags` is empty, or narrows to runs that carry one of them. `previous_secret` signs until
    `previous_until` after a rotation. `secret_made` tells a secret of ours from the caller's.
    `failing_since` is when its uninterrupted failures began; `disabled` says why nothing is sent any
    more, "" while it is active.
    """

    webhook_id: str
    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)
    created_at: int
    tags: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("v1",)
    secret_made: bool = False
    previous_secret: str = field(default="", repr=False)
    previous_until: int = 0
    failing_since: int | None = None
    disabled: str = ""

    @property
    def tenant(self) -> str:
        return tenant_of(self.webhook_id)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that was claimed. `attempts` is how many were made before; `fence` names the claim."""

    delivery_id: str
    webhook_id: str
    run_id: str
    sequence: int
    event_type: str
    attempts: int
    fence: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A delivery that was given up. It names the event and never carries it (OpenWOP: webhooks)."""

    delivery_id: str
    webhook_id: str
    run_id: str
    sequence: int
    event_type: str
    attempts: int
    died_at: int
    reason: Dead
    last_status: int | None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """A page, newest first, and where the next one starts; None at the end."""

    deliveries: tuple[DeadLetter, ...]
    cursor: str | None = None


class Subscriptions(Protocol):
    """The endpoints of all tenants. A `reply` is kept in the same transaction as the change."""

    async def add(self, subscription: Subscription, reply: Reply | None = None) -> None:
        """Raises `Conflict` when the reply's key was used first by another request."""

    async def get(self, webhook_id: str) -> Subscription | None: ...

    async def of(self, tenant: str) -> list[Subscription]:
        """Oldest first."""

    async def rotate(
        self, webhook_id: str, secret: str, until: int, now: int, reply: Reply | None = None
    ) -> bool:
        """A new secret; the one before signs beside it until `until` (ms). False when unknown."""

    async def disable(self, webhook_id: str, why: str, now: int) -> int:
        """Send nothing more; what is owed becomes dead letters. Returns how many those are."""

    async def remove(self, webhook_id: str, now: int, reply: Reply | None = None) -> bool:
        """With all its deliveries. False when unknown."""


class Outbox(Protocol):
    """Deliveries that are owed, in order per run and subscription."""

    async def ready(self, now: int) -> list[str]:
        """Active subscriptions that have a delivery whose time has come, or has to wait its turn."""

    async def claim(self, webhook_id: str, now: int, lease_ms: int, limit: int) -> list[Delivery]:
        """Take deliveries that are first in their run's line, due, and held by nobody else."""

    async def delivered(self, delivery: Delivery) -> bool:
        """Done; the subscription is well. False when a newer claim exists: nothing was changed."""

    async def retry(self, delivery: Delivery, status: int | None, at: int, now: int) -> int | None:
        """Again at `at` (ms). Since when the subscription has only failed; None as for `delivered`."""

    async def give_up(
        self, delivery: Delivery, reason: Dead, status: int | None, now: int
    ) -> int | None:
        """A dead letter; the next of its run may go. Answers as `retry` does.

        What can't be projected is no failure of the subscription, and answers `now`.
        """

    async def dead(self, webhook_id: str, limit: int, cursor: str | None) -> DeadLetters: ...

    async def redrive(self, webhook_id: str, delivery_id: str, now: int) -> bool:
        """Owe a dead letter again, and make a disabled subscription active. False when unknown."""

    async def forget(self, before: int, now: int) -> int:
        """Drop dead letters from before `before`, and secrets whose overlap is over. How many letters."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an active subscription wants, as far as an append has to know."""

    webhook_id: str
    events: frozenset[str]
    tags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Owed:
    """A row that an append adds to the outbox."""

    delivery_id: str
    webhook_id: str
    sequence: int
    event_type: str


def owed(commit: Commit, wishes: Iterable[Wish]) -> list[Owed]:
    """The deliveries that a commit causes: what each subscription of its tenant wants.

    A replay fork causes none: its events are history that was delivered when it was new. A branch's
    events are new facts.
    """
    run = commit.run
    if run.replay_of is not None:
        return []
    tags = {*run.tags, run.callback}
    return [
        Owed(
            delivery_id(wish.webhook_id, run.run_id, commit.expected + place),
            wish.webhook_id,
            commit.expected + place,
            event.type,
        )
        for wish in wishes
        if not wish.tags or not wish.tags.isdisjoint(tags)
        for place, event in enumerate(commit.events)
        if event.type in wish.events
    ]


def delivery_id(webhook_id: str, run_id: str, sequence: int) -> str:
    """One for each subscription and event, the same on every attempt: consumers tell repeats by it."""
    text = f"{webhook_id}\0{run_id}\0{sequence}".encode()
    return f"{tenant_of(webhook_id)}/{hashlib.sha256(text).hexdigest()[:32]}"
