"""Keeps the inboxes current that people have open: a channel's Home tab, after requests changed.

Changes wake it; it looks once a minute anyway. However much changes, it rests twenty times as long as a
round took, and three seconds at the least.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from adapters.channel import Channel
from gateway.workers import forever
from host.host import Host

_REST: Final = 3.0
_SHARE: Final = 20
_SECONDS: Final = 60.0


class Inboxes:
    """One per process."""

    def __init__(self, host: Host, channels: Mapping[str, Channel]) -> None:
        self._host = host
        refreshers = (getattr(one, "refresh_inboxes", None) for one in channels.values())
        self._refresh: list[Any] = [refresh for refresh in refreshers if callable(refresh)]

    async def run(self) -> None:
        """For ever."""
        if self._refresh:
            await forever("inboxes", self._host, "messages", _SECONDS, self._round)

    async def once(self) -> None:
        """Refresh all of them now."""
        for refresh in self._refresh:
            await refresh()

    async def _round(self) -> bool:
        began = time.monotonic()
        try:
            await self.once()
        finally:
            await asyncio.sleep(max(_REST, _SHARE * (time.monotonic() - began)))
        return False
