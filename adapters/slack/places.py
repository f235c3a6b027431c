"""Which request a message of ours shows, by where it is: for replies and shortcuts. Kept as documents.

Written when a card is posted, before the delivery counts as done, so that a reply finds its request at any
replica. Dropped a month after the request can have ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from adapters.views import Card
from host.store.documents import Documents

KIND: Final = "slack.card"
SAID: Final = "slack.said"
_DAY_MS: Final = 24 * 3600 * 1000
_LIFE_MS: Final = 120 * _DAY_MS
_GRACE_MS: Final = 30 * _DAY_MS
_WEEK_MS: Final = 7 * _DAY_MS


class Places:
    """`clock` gives milliseconds. Each raises `StoreUnavailable`."""

    def __init__(self, documents: Documents, clock: Callable[[], int]) -> None:
        self._documents = documents
        self._clock = clock

    async def posted(self, ref: dict[str, Any], card: Card) -> None:
        """A card was posted there."""
        now = self._clock()
        end = round(card.deadline.timestamp() * 1000) if card.deadline else 0
        expires = max(now + _LIFE_MS, end + _GRACE_MS)
        key = _key(str(ref.get("channel", "")), str(ref.get("ts", "")))
        value = {"interrupt": card.interrupt_id}
        await self._documents.put(KIND, key, value, now, expires_at=expires)

    async def at(self, channel: str, ts: str) -> str:
        """The request of the message there, or ""."""
        if not channel or not ts:
            return ""
        found = await self._documents.get(KIND, _key(channel, ts), self._clock())
        return str(found.value.get("interrupt", "")) if found is not None else ""

    async def said(self, channel: str, thread: str, text: str) -> None:
        """This was said in that thread: it need not be repeated there."""
        now = self._clock()
        key = _said(channel, thread, text)
        await self._documents.put(SAID, key, {}, now, expires_at=now + _WEEK_MS)

    async def was_said(self, channel: str, thread: str, text: str) -> bool:
        """Whether it stands in that thread already."""
        key = _said(channel, thread, text)
        return await self._documents.get(SAID, key, self._clock()) is not None


def _key(channel: str, ts: str) -> str:
    return f"{channel}/{ts}"


def _said(channel: str, thread: str, text: str) -> str:
    digest = hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:24]
    return f"{channel}/{thread}/{digest}"
