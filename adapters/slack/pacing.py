"""The pace of one workspace, kept by all gateways together.

What this process's own pace lets go is also taken from the allowances that the gateways share; what another
one has used up meanwhile waits, as if it had gone from here. So only what is about to be sent asks, once,
and while the server of the allowances is away each gateway keeps the limits for itself.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from adapters.slack.pace import Limits, Pace, Rate, Who
from host.coordination.port import Allowance, Rates

Scope = Callable[[], Awaitable[str]]

_POSTS: Final = "posts"
_UPDATES: Final = "updates"


class Pacing:
    """When may it be sent? `scope` is what Slack counts by (our bot in a workspace), "" while that is not
    known: then nothing is shared."""

    def __init__(
        self,
        limits: Limits,
        rates: Rates | None = None,
        scope: Scope | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._own = Pace(limits, clock)
        self._rates = rates
        self._scope = scope

    async def post(self, who: Who, channel: str) -> float:
        """0 when it may be posted now (and then it counts), else the seconds to wait before asking."""
        if wait := self._own.post(who, channel):
            return wait
        places = self._places(channel)
        waits = await self._take([*places, _allowance(_POSTS, self._limits.posts)])
        if not any(waits):
            return 0.0
        return self._own.post_taken(who, channel, max(waits[: len(places)]), waits[-1])

    async def update(self, who: Who, *, urgent: bool) -> float:
        """The same for an update. `urgent`: somebody decided and should see that it counted."""
        if wait := self._own.update(who, urgent=urgent):
            return wait
        kept = 0 if urgent else self._limits.kept
        waits = await self._take([_allowance(_UPDATES, self._limits.updates, kept)])
        return self._own.update_taken(who, waits[0], urgent=urgent) if any(waits) else 0.0

    async def same(self, name: str, channel: str) -> None:
        """A channel that was named turned out to have this id: what went there by its name counts."""
        if self._own.id_of(name) == channel:
            return
        self._own.same(name, channel)
        await self._take([_allowance(f"channel:{channel}", self._limits.channel_posts)])

    async def post_limited(self, channel: str, seconds: float) -> None:
        """Slack refused a post there: nobody posts there for so long."""
        self._own.post_limited(channel, seconds)
        for place in self._places(channel):
            await self._rest(place, seconds)

    async def updates_limited(self, seconds: float) -> None:
        """Slack refused an update: its budget is the whole workspace's."""
        self._own.updates_limited(seconds)
        await self._rest(_allowance(_UPDATES, self._limits.updates), seconds)

    def _places(self, channel: str) -> list[Allowance]:
        """A channel under each name that it is known by here. What is posted by a name is always taken
        under that name too: a gateway that has not posted there yet knows no id."""
        names = dict.fromkeys((channel, self._own.id_of(channel)))
        return [_allowance(f"channel:{name}", self._limits.channel_posts) for name in names]

    async def _take(self, wanted: list[Allowance]) -> tuple[float, ...]:
        nothing = (0.0,) * len(wanted)
        if self._rates is None or not (scope := await self._counted_by()):
            return nothing
        return await self._rates.take(scope, wanted) or nothing

    async def _rest(self, allowance: Allowance, seconds: float) -> None:
        if self._rates is not None and (scope := await self._counted_by()):
            await self._rates.rest(scope, allowance, seconds)

    async def _counted_by(self) -> str:
        return await self._scope() if self._scope is not None else ""


def _allowance(name: str, rate: Rate, kept: int = 0) -> Allowance:
    return Allowance(name, 1.0 / rate.per_second, max(rate.burst - kept, 1))
