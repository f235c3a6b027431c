"""How sure a process may be of what it has claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gateway import holding
from gateway.holding import LEASE_MS, Holding
from host.store.port import Message
from host.store.records import StoreUnavailable

ONE = Message("acme/1", "web", "", "", 1, 0, None, 0, fence=1)
OTHER = replace(ONE, interrupt_id="acme/2")


@dataclass
class Deliveries:
    """As much of the port as is used: what is claimed next, and what is still held."""

    next: list[Message] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    away: bool = False
    renewed: list[tuple[list[Message], int, int]] = field(default_factory=list)

    async def claim(self, now: int, owner: str, lease_ms: int, limit: int) -> list[Message]:
        return self.next[:limit]

    async def renew(self, messages: Sequence[Message], now: int, lease_ms: int) -> list[Message]:
        if self.away:
            raise StoreUnavailable("away")
        self.renewed.append((list(messages), now, lease_ms))
        return [m for m in messages if m.interrupt_id not in self.lost]


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(holding.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def made(deliveries: Any) -> Holding:
    return Holding(deliveries, "me", lambda: 5_000)


async def test_a_claim_is_sure_for_less_than_its_lease(clock: Clock) -> None:
    held = made(Deliveries([ONE]))
    assert not held.sure(ONE)
    assert await held.claim(10) == [ONE]
    assert held.sure(ONE)
    clock.now += LEASE_MS / 1000 - 1.5
    assert held.sure(ONE)
    clock.now += 0.6
    assert not held.sure(ONE)


async def test_a_renewal_makes_sure_again_of_what_is_still_held(clock: Clock) -> None:
    deliveries = Deliveries([ONE, OTHER], lost={OTHER.interrupt_id})
    held = made(deliveries)
    await held.claim(10)
    clock.now += 4.0
    await held.renew()
    assert deliveries.renewed == [([ONE, OTHER], 5_000, LEASE_MS)]
    clock.now += 4.0
    assert held.sure(ONE)
    assert not held.sure(OTHER)


async def test_while_the_store_is_away_sureness_ends(clock: Clock) -> None:
    deliveries = Deliveries([ONE])
    held = made(deliveries)
    await held.claim(10)
    deliveries.away = True
    clock.now += 7.5
    with pytest.raises(StoreUnavailable):
        await held.renew()
    assert not held.sure(ONE)


async def test_what_is_dropped_is_not_renewed_and_an_old_claim_drops_no_new_one(
    clock: Clock,
) -> None:
    deliveries = Deliveries([ONE])
    held = made(deliveries)
    await held.claim(10)
    newer = replace(ONE, fence=2)
    deliveries.next = [newer]
    await held.claim(10)
    assert (len(held), held.sure(ONE), held.sure(newer)) == (1, False, True)
    held.drop(ONE)
    assert held.sure(newer)
    held.drop(newer)
    assert len(held) == 0
    await held.renew()
    assert deliveries.renewed == []
