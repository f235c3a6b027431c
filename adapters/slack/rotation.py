"""Tokens that expire: exchanged for new ones well before they do, by one gateway at a time.

A refresh token is good once. Two gateways that use the same one race, and the loser's tokens are void;
so who refreshes holds a lease in the store, looks again once it has it, and writes on top of the version
that it read. A loser all the same (its lease ran out while Slack took its time) takes what the winner
has written.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from adapters.slack.failures import SlackFailed
from adapters.slack.installations import Installation, Installations

_log = logging.getLogger(__name__)

AHEAD_MS: Final = 2 * 3600 * 1000  # a rotated token lives twelve hours
LEASE_KIND: Final = "slack.refresh"
_LEASE_MS: Final = 60_000

Exchange = Callable[[dict[str, str]], Awaitable[dict[str, Any]]]
"""Calls oauth.v2.access with these arguments and the app's own credentials. Raises `SlackFailed`."""


class Rotation:
    """Refreshes installations."""

    def __init__(self, installations: Installations, exchange: Exchange) -> None:
        self._installations = installations
        self._exchange = exchange

    async def fresh(self, known: Installation) -> Installation:
        """The installation with tokens that last; as it is, when it isn't time or somebody else is at it.

        Never raises for Slack: the old token is good for hours, and the next look tries again. Raises
        `StoreUnavailable`.
        """
        if not self._due(known):
            return known
        documents, now = self._installations.documents, self._installations.clock()
        lease = await documents.put(
            LEASE_KIND, known.key, {}, now, expected=0, expires_at=now + _LEASE_MS
        )
        if lease is None:
            return await self._installations.get(known.key) or known
        try:
            current = await self._installations.get(known.key)
            if current is None or not self._due(current):
                return current or known
            return await self._refreshed(current)
        finally:
            await documents.delete(LEASE_KIND, known.key, expected=lease)

    def _due(self, one: Installation) -> bool:
        left = one.expires_at - self._installations.clock()
        return bool(one.expires_at and one.refresh_token) and left < AHEAD_MS

    async def _refreshed(self, current: Installation) -> Installation:
        asked = {"grant_type": "refresh_token", "refresh_token": current.refresh_token}
        try:
            answer = await self._exchange(asked)
        except SlackFailed as failure:
            return await self._not_refreshed(current, failure)
        lifetime = int(answer.get("expires_in") or 0)
        changed = replace(
            current,
            token=str(answer.get("access_token") or current.token),
            refresh_token=str(answer.get("refresh_token") or current.refresh_token),
            expires_at=self._installations.clock() + lifetime * 1000 if lifetime else 0,
        )
        kept = await self._installations.swap(changed)
        if kept is None:  # installed anew meanwhile: that one's tokens are the good ones
            return await self._installations.get(current.key) or changed
        _log.info("slack: the token of %s was refreshed", current.key)
        return kept

    async def _not_refreshed(self, current: Installation, failure: SlackFailed) -> Installation:
        latest = await self._installations.get(current.key)
        if latest is not None and latest.version != current.version:
            return latest  # somebody else used the refresh token first, and wrote what came of it
        log = _log.error if failure.permanent else _log.warning
        log("slack: the token of %s was not refreshed: %s", current.key, failure.reason)
        return current
