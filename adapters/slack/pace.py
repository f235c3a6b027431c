"""When may the next message be posted or updated? Slack's limits, kept instead of run into.

Slack counts per method and workspace, and for posting also per channel ("Rate limits": about one post a
second in a channel and some hundreds a minute in a workspace; 50 updates a minute, which is tier 3). So each
of these is a line: something goes at most every `interval`, with a small burst on top.

A message that can't go now is promised a moment, in the order of asking, and told how long that is; nobody
waits here, and what is promised for one channel holds up no other. A promise reserves nothing that is urgent:
the last updates of the budget are kept for cards that somebody has just decided, so that their buttons go
away at once while ten thousand others change slowly. After a 429 the line rests as long as Slack says.

No I/O. The clock is handed in, in seconds of any origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

Who = tuple[str, str]
"""A message: its interrupt and its address."""

_MANY: Final = 20_000  # promises and lines above which those that are over are dropped
_OVER: Final = 120.0  # seconds after which a promise is over that nobody came back for
_LOOK: Final = (
    15.0  # seconds after which a waiting message is looked at again: it may be urgent by then
)
_PAST: Final = float("-inf")
_LOOK_EACH: Final = 0.005  # and so much more for each that waits: 200 looks a second at the most


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` on the long run, `burst` of them at once."""

    per_second: float
    burst: int = 1

    def times(self, factor: float) -> Rate:
        """The same, so many times as fast."""
        return Rate(self.per_second * factor, self.burst)


@dataclass(frozen=True, slots=True)
class Limits:
    """What is kept. Any minute has at most a burst and sixty seconds of each.

    `kept` updates of the burst are for urgent ones alone. `progress` is the least number of seconds
    between two updates of one open card: votes that come faster are shown together.
    """

    channel_posts: Rate = Rate(1.0, 3)
    posts: Rate = Rate(4.0, 20)
    updates: Rate = Rate(0.75, 5)
    kept: int = 2
    progress: float = 2.0

    def times(self, factor: float) -> Limits:
        """The same, so many times as fast: for an app that Slack has granted more."""
        return Limits(
            self.channel_posts.times(factor),
            self.posts.times(factor),
            self.updates.times(factor),
            self.kept,
            self.progress / factor,
        )


@dataclass(slots=True)
class _Line:
    """One limited thing. `spent`: when all that has gone would have gone at the even rate."""

    rate: Rate
    spent: float = _PAST
    resting: float = _PAST
    taken: float = _PAST  # until when other gateways have used it up
    promised: dict[bool, float] = field(default_factory=lambda: {False: _PAST, True: _PAST})
    again: float = _PAST

    @property
    def interval(self) -> float:
        return 1.0 / self.rate.per_second

    def free_at(self, kept: int) -> float:
        """When the next may go if nobody else does, leaving `kept` of the burst."""
        room = max(self.rate.burst - 1 - kept, 0)
        return max(self.spent - room * self.interval, self.resting, self.taken)

    def spend(self, now: float) -> None:
        self.spent = max(self.spent, now) + self.interval

    def give_back(self, now: float, until: float, *, urgent: bool) -> None:
        """It did not go after all. Others have used this up until then, and it goes first then."""
        self.spent -= self.interval
        if until > now:
            self.taken = max(self.taken, until)
            self.promised[urgent] = max(self.promised[urgent], until + self.interval)


class Pace:
    """The lines of one workspace."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._posts = _Line(limits.posts)
        self._updates = _Line(limits.updates)
        self._channels: dict[str, _Line] = {}
        self._ids: dict[str, str] = {}
        self._promises: dict[tuple[str, str, str], tuple[float, bool]] = {}
        self._edited: dict[Who, float] = {}

    @property
    def waiting(self) -> int:
        """How many have been promised a moment and have not gone."""
        return len(self._promises)

    def post(self, who: Who, channel: str) -> float:
        """0 when it may be posted now (and then it counts), else the seconds to wait before asking."""
        return self._ask(("post", *who), [self._channel(channel), self._posts], urgent=False)

    def update(self, who: Who, *, urgent: bool) -> float:
        """The same for an update. `urgent`: somebody decided and should see that it counted."""
        if not urgent:
            rest = self._edited.get(who, _PAST) + self._limits.progress - self._clock()
            if rest > 0:
                return rest
        wait = self._ask(("update", *who), [self._updates], urgent=urgent)
        if wait == 0.0:
            now = self._edited[who] = self._clock()
            if len(self._edited) > _MANY:
                over = now - self._limits.progress
                self._edited = {w: at for w, at in self._edited.items() if at > over}
        return wait

    def post_taken(self, who: Who, channel: str, there: float, anywhere: float) -> float:
        """A post that was let go does not go: other gateways have used up what its channel takes, or the
        workspace, for so many seconds. It keeps its place; the seconds to wait."""
        now = self._clock()
        self._channel(channel).give_back(now, now + there, urgent=False)
        self._posts.give_back(now, now + anywhere, urgent=False)
        return self._put_back(("post", *who), max(there, anywhere), urgent=False)

    def update_taken(self, who: Who, seconds: float, *, urgent: bool) -> float:
        """The same for an update."""
        now = self._clock()
        self._updates.give_back(now, now + seconds, urgent=urgent)
        self._edited.pop(who, None)
        return self._put_back(("update", *who), seconds, urgent=urgent)

    def id_of(self, channel: str) -> str:
        """The id of a channel that was named, as far as it is known; else what was given."""
        return self._ids.get(channel, channel)

    def same(self, name: str, channel: str) -> None:
        """A channel that was named turned out to have this id: one line for both from now on."""
        if name == channel or name in self._ids:
            return
        self._ids[name] = channel
        if (line := self._channels.pop(name, None)) is not None:
            one = self._channel(channel)
            one.spent = max(one.spent, line.spent)
            one.resting = max(one.resting, line.resting)
            one.taken = max(one.taken, line.taken)
            one.promised[False] = max(one.promised[False], line.promised[False])

    def post_limited(self, channel: str, seconds: float) -> None:
        """Slack refused a post there. The channel rests; when a second one is refused meanwhile, it is
        the workspace that has had too many, and all of it rests."""
        now = self._clock()
        own = self.id_of(channel)
        others = (line for name, line in self._channels.items() if name != own)
        if any(line.resting > now for line in others):
            self._posts.resting = max(self._posts.resting, now + seconds)
        line = self._channel(channel)
        line.resting = max(line.resting, now + seconds)

    def updates_limited(self, seconds: float) -> None:
        """Slack refused an update: its budget is the whole workspace's."""
        self._updates.resting = max(self._updates.resting, self._clock() + seconds)

    def _ask(self, who: tuple[str, str, str], lines: list[_Line], *, urgent: bool) -> float:
        now = self._clock()
        kept = self._limits.kept if lines[0] is self._updates and not urgent else 0
        promised, was_urgent = self._promises.get(who, (None, urgent))
        promise = promised if was_urgent == urgent else None  # one that became urgent asks anew
        if promise is not None and promise > now:
            return self._soon(promise - now)
        ready = max(line.free_at(kept) for line in lines)
        if promise is None:  # who comes new does not overtake those who wait
            ready = max(ready, *(line.promised[urgent] for line in lines))
        if ready <= now:
            for line in lines:
                line.spend(now)
            self._promises.pop(who, None)
            return 0.0
        if promise is None:
            at = self._promise(lines, kept, urgent=urgent)
        else:
            at = self._again(lines, kept)
        self._promises[who] = at, urgent
        if len(self._promises) > _MANY:
            self._promises = {w: p for w, p in self._promises.items() if p[0] > now - _OVER}
        return self._soon(at - now)

    def _promise(self, lines: list[_Line], kept: int, *, urgent: bool) -> float:
        """The next moment that nobody has been promised. The narrowest line (the first) always moves on;
        a wide one only where it is what is waited for, so that one channel's queue fills no other's time.
        """
        now = self._clock()
        slots = [max(line.free_at(kept), line.promised[urgent], now) for line in lines]
        at = max(slots)
        for line, slot in zip(lines, slots, strict=True):
            if line is lines[0] or slot >= at:
                line.promised[urgent] = at + line.interval
        return at

    def _again(self, lines: list[_Line], kept: int) -> float:
        """For those who came back in time and found it taken, by urgent ones or after a rest: before
        those who are promised later, and one after the other."""
        slots = [max(line.free_at(kept), line.again, self._clock()) for line in lines]
        at = max(slots)
        for line, slot in zip(lines, slots, strict=True):
            if line is lines[0] or slot >= at:
                line.again = at + line.interval
        return at

    def _put_back(self, who: tuple[str, str, str], seconds: float, *, urgent: bool) -> float:
        self._promises[who] = self._clock() + seconds, urgent
        return self._soon(seconds)

    def _soon(self, seconds: float) -> float:
        return max(min(seconds, _LOOK + _LOOK_EACH * len(self._promises)), 0.001)

    def _channel(self, name: str) -> _Line:
        name = self.id_of(name)
        line = self._channels.get(name)
        if line is None:
            if len(self._channels) > _MANY:
                now = self._clock()
                self._channels = {
                    known: line
                    for known, line in self._channels.items()
                    if max(line.free_at(0), line.spent, line.promised[False], line.again) > now
                }
            line = self._channels[name] = _Line(self._limits.channel_posts)
        return line
