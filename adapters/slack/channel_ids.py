"""The ids of channels by their names. Posting takes a name, reading does not.

Slack lists channels by the page and lets that be done a few times a minute, so those who ask at once share
one listing, and what it said is believed for a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

_PAGES: Final = 10
_PAGE: Final = 200
_BELIEVED: Final = 60.0

Look = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class ChannelIds:
    """Of one workspace. `look` calls a method that reads, and raises `SlackFailed`."""

    def __init__(self, look: Look, clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._ids: dict[str, str] = {}
        self._listed = float("-inf")
        self._listing = asyncio.Lock()

    async def of(self, channel: str) -> str:
        """The id of `#name`; "" for one that isn't listed. Anything else is an id already.

        Raises `SlackFailed`.
        """
        if not channel.startswith("#"):
            return channel
        name, asked = channel[1:], self._clock()
        async with self._listing:
            # One that is missing may have been made since, unless it was listed while we waited.
            oldest = asked - _BELIEVED if name in self._ids else asked
            if self._listed < oldest:
                listed = self._clock()
                self._ids, self._listed = await self._list(), listed
        return self._ids.get(name, "")

    async def _list(self) -> dict[str, str]:
        found: dict[str, str] = {}
        arguments: dict[str, Any] = {
            "types": "public_channel,private_channel",
            "exclude_archived": True,
            "limit": _PAGE,
        }
        for _ in range(_PAGES):
            page = await self._look("conversations.list", arguments)
            for one in page.get("channels") or []:
                found.setdefault(str(one.get("name")), str(one["id"]))
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            arguments = {**arguments, "cursor": cursor}
        return found
