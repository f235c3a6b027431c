"""Replicas whose clocks disagree: nobody waits for a time that only one of them believes in."""

from __future__ import annotations

import time

from host.store.postgres.store import PostgresStore
from tests.contract.test_store import ask, begin

AHEAD = 10 * 60_000
LEASE = 8_000

Two = tuple[PostgresStore, PostgresStore]


def real() -> int:
    """Milliseconds since 1970, by this machine, which is the database's too."""
    return time.time_ns() // 1_000_000


async def test_what_a_replica_ahead_appended_is_sent_now(two: Two) -> None:
    ahead, right = two
    await ask(ahead, await begin(ahead), notify=("web:",), at=real() + AHEAD)
    [message] = await right.deliveries.claim(real() + 1, "right", LEASE, 10)
    assert await right.deliveries.shown(message, {}, real())


async def test_the_lease_of_a_replica_ahead_lasts_no_longer_than_others(two: Two) -> None:
    ahead, right = two
    await ask(right, await begin(right), notify=("web:",))
    claimed = await ahead.deliveries.claim(real() + AHEAD, "ahead", LEASE, 10)
    assert await right.deliveries.claim(real(), "right", LEASE, 10) == []
    assert await ahead.deliveries.renew(claimed, real() + AHEAD, LEASE) == claimed
    [message] = await right.deliveries.claim(real() + LEASE + 10, "right", LEASE, 10)
    assert message.fence == claimed[0].fence + 1


async def test_a_failure_of_a_replica_ahead_is_retried_after_its_delay(two: Two) -> None:
    ahead, right = two
    await ask(right, await begin(right), notify=("web:",))
    now = real() + AHEAD
    [message] = await ahead.deliveries.claim(now, "ahead", LEASE, 10)
    await ahead.deliveries.failed(message, "slow", now + 5_000, now)
    assert await right.deliveries.claim(real(), "right", LEASE, 10) == []
    [again] = await right.deliveries.claim(real() + 5_010, "right", LEASE, 10)
    assert again.attempts == 1
