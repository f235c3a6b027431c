"""What replicas need from each other that is not the truth: claims, locks, wake-ups, dedupe.

Nothing here decides an answer: the store's own condition does. If the server behind this port is
gone, answers are the same and slower, so every operation has a deadline and a documented answer
for 'away'.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """A lock that is held. `fence` rises with every grant of the same name, for ever: what the lock
    protects refuses a write with an older one."""

    name: str
    fence: int
    owner: str


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may go out of one limited thing: one each `interval` seconds on the long run, `burst` at once.

    Who leaves some of the burst to others takes with a smaller one.
    """

    name: str
    interval: float
    burst: int = 1


class Rates(Protocol):
    """Limits that all gateways keep together. `scope` names what is counted apart (a workspace); each
    allowance in it is known by its name."""

    async def take(self, scope: str, allowances: Sequence[Allowance]) -> tuple[float, ...] | None:
        """Take one of each, or of none: the seconds until each has one, all 0 when they were taken.

        None when the server is away: then nobody knows what the others took. Never raises.
        """

    async def rest(self, scope: str, allowance: Allowance, seconds: float) -> None:
        """Nobody takes of this for so many seconds (an hour at most), and then they go evenly. Lost when
        the server is away. Never raises."""


class Coordination(Protocol):
    """Redis or Valkey, reached by URL or as a private child process. One contract suite for all."""

    @property
    def rates(self) -> Rates:
        """The limits that are shared through this server."""

    async def start(self) -> None:
        """Connect (and load the scripts). Raises only on a configuration that can never work."""

    async def stop(self) -> None:
        """Give back what is held and close."""

    async def healthy(self) -> bool:
        """Whether the server answers within its deadline."""

    async def claim(self, key: str, ttl: float) -> Literal["won", "taken", "away"]:
        """Claim the right to process one idempotency key for `ttl` seconds.

        `taken`: somebody is processing it now. `away`: the server did not answer; go on, the store
        decides.
        """

    async def release(self, key: str) -> None:
        """Give up a claim that this process won. Never raises; a claim also ends by itself."""

    def lock(
        self, name: str, ttl: float, wait: float = 0.0
    ) -> AbstractAsyncContextManager[Lease | None]:
        """Hold `name` for the block, renewed every third of `ttl`; None when somebody else holds it
        after `wait` seconds, or the server is away. `ttl` and `wait` in seconds."""

    async def first(self, key: str, ttl: float) -> bool:
        """Whether this key is seen for the first time in `ttl` seconds. True when away."""

    async def announce(self, channel: str, message: str) -> None:
        """Tell the other replicas. Buffered and sent in one pipeline; lost when away. Never raises."""

    def listen(self, channel: str) -> AsyncIterator[str]:
        """Messages that other replicas announce. Reconnects by itself; yields "" after a gap, so the
        reader looks at the store again."""
