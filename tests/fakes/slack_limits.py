"""The rate limits of the fake Slack: by method and workspace, and for posting by channel too.

A window of a minute that slides, as Slack's page words the tiers ("50+ per minute"), and for posts a second
that does, with a small burst. `scale` runs the limits' clock faster than the wall's: with 60 a minute's
budget is one of each second.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field

TIERS = {
    "chat.update": 50,
    "conversations.history": 50,
    "conversations.list": 20,
    "conversations.open": 50,
    "conversations.replies": 50,
    "chat.postEphemeral": 100,
    "users.lookupByEmail": 50,
    "usergroups.users.list": 20,
    "views.open": 100,
    "views.push": 100,
    "views.update": 100,
}
POSTS = 300  # a minute in a workspace
CHANNEL_BURST = 4.0  # posts in a channel at once; one more for each second
MINUTE = 60.0


@dataclass(slots=True)
class RateLimits:
    """Counts calls. `refused` holds what was over the limit: a program that keeps them causes none."""

    scale: float = 1.0
    tiers: dict[str, int] = field(default_factory=lambda: dict(TIERS))
    posts: int = POSTS
    refused: list[tuple[str, str]] = field(default_factory=list)
    _calls: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _channels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def check(self, method: str, channel: str) -> int:
        """0, or the whole seconds (of the wall's clock) after which to try again."""
        now = time.monotonic() * self.scale
        most = self.posts if method == "chat.postMessage" else self.tiers.get(method)
        if most is None:
            return 0
        calls = self._calls[method]
        while calls and calls[0] <= now - MINUTE:
            calls.popleft()
        wait = MINUTE - (now - calls[0]) if len(calls) >= most else 0.0
        if method == "chat.postMessage":
            wait = max(wait, self._channel(channel, now))
        if wait > 0:
            self.refused.append((method, channel))
            return max(1, math.ceil(wait / self.scale))
        calls.append(now)
        return 0

    def _channel(self, channel: str, now: float) -> float:
        """Seconds until this channel takes one more; takes it when that is 0."""
        left, at = self._channels.get(channel, (CHANNEL_BURST, now))
        left = min(CHANNEL_BURST, left + now - at)
        if left < 1.0:
            self._channels[channel] = left, now
            return 1.0 - left
        self._channels[channel] = left - 1.0, now
        return 0.0
