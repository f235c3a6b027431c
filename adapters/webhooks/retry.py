"""When a delivery is tried again, and when a subscription is switched off. Pure.

The steps are 5 s, 20 s, 80 s, 5 min, 21 min, 1.4 h, 5.7 h and then 8 h: sixteen attempts in about three
days. The spread keeps the deliveries that failed together from coming back together.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Times in ms. `attempts` includes the first; `failing` is how long nothing but failures is borne;
    `trip` failures in a row make an endpoint wait as a whole, at most `pause` at a time."""

    attempts: int = 16
    first: int = 5_000
    factor: float = 4.0
    longest: int = 8 * 3_600_000
    failing: int = 3 * DAY_MS
    trip: int = 3
    pause: int = 300_000

    def delay(self, made: int, spread: float, asked: float | None = None) -> int | None:
        """How long to wait after attempt number `made` failed, or None: that was the last one.

        `spread` is from 0 to 1, chosen at random: 0.8 to 1.2 times the step. `asked` is the receiver's
        `Retry-After` in seconds: never sooner than that, and never later for it than the longest step.
        """
        if made >= self.attempts:
            return None
        # The exponent is bounded before the power is taken: a float overflows at a large one.
        step = min(self.first * self.factor ** min(made - 1, 32), self.longest)
        wait = step * (0.8 + 0.4 * spread)
        if asked is not None:
            wait = max(wait, min(asked * 1000, self.longest))
        return round(wait)

    def rest(self, failures: int, asked: float | None = None) -> int:
        """How long a whole endpoint rests after `failures` in a row; 0 while it seems well."""
        rest = (
            0
            if failures < self.trip
            else min(1000 * 2 ** min(failures - self.trip, 30), self.pause)
        )
        if asked is not None:
            rest = max(rest, min(round(asked * 1000), self.pause))
        return rest

    def hopeless(self, failing_since: int | None, now: int) -> bool:
        """Whether it has failed for so long that nothing more is sent."""
        return failing_since is not None and now - failing_since >= self.failing
