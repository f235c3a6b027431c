"""Asking a provider that signs nothing for the object that a notice names.

The notice is anybody's, so everything about the fetch is ours: the host is the provider's own and pinned,
the path is made of a checked id, the key goes in a header, no redirect is followed, and time, bytes and the
calls of a source are bounded. It goes through the guard on what goes out, like everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import aiohttp

from adapters.egress import Egress, UrlRejected
from adapters.webhooks.providers.provider import Asked
from adapters.webhooks.settings import HookSource
from adapters.webhooks.strict_json import parse

SECONDS: Final = 5.0
"""For all of a fetch. Mollie gives the notice 15 seconds."""
BURST: Final = 60
PER_SECOND: Final = 5.0
"""Notices of one source: so many at once, and then so many a second. Each may cost a fetch."""

Reason = Literal[
    "blocked", "timeout", "unreachable", "unauthorized", "status", "too_large", "unreadable"
]


class FetchFailed(Exception):
    """The provider could not be asked. `reason` is one of a few fixed words, fit for a counter."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class FetchBack:
    """Fetches objects. `origins` replaces the pinned origin of a provider, by its name: for tests alone."""

    def __init__(
        self,
        egress: Egress,
        origins: Mapping[str, str] | None = None,
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._egress = egress
        self._origins = dict(origins or {})
        self._seconds = seconds
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, source: str, now: float) -> float:
        """Take one call of this source: 0 if it may be made, else the seconds until one may.

        `now` in Unix seconds. Counted by this process alone: replicas have a rate each.
        """
        bucket = self._buckets.setdefault(source, _Bucket(BURST, now))
        bucket.left = min(BURST, bucket.left + max(0.0, now - bucket.at) * PER_SECOND)
        bucket.at = now
        if bucket.left < 1:
            return (1 - bucket.left) / PER_SECOND
        bucket.left -= 1
        return 0.0

    async def fetch(self, source: HookSource, asked: Asked) -> bytes | None:
        """The object as it is now, checked to be the one that was asked for; None if there is none.

        Raises `FetchFailed`.
        """
        assert source.lookup is not None
        url = self._origins.get(source.provider, source.lookup.origin) + asked.path
        try:
            async with asyncio.timeout(self._seconds):
                raw = await self._ask(url, source)
        except UrlRejected:
            raise FetchFailed("blocked") from None
        except TimeoutError:
            raise FetchFailed("timeout") from None
        except (aiohttp.ClientError, OSError):
            # The cause is left out: its text may quote what was sent.
            raise FetchFailed("unreachable") from None
        if raw is not None and not _is(raw, asked):
            raise FetchFailed("unreadable")
        return raw

    async def _ask(self, url: str, source: HookSource) -> bytes | None:
        """The secrets are tried in their order: in a rotation one of them is not known any more."""
        for secret in source.secrets:
            status, raw = await self._get(url, secret, source.max_body)
            if status == 200:
                return raw
            if status in (404, 410):
                return None
            if status not in (401, 403):
                raise FetchFailed("status")
        raise FetchFailed("unauthorized")

    async def _get(self, url: str, secret: str, limit: int) -> tuple[int, bytes]:
        headers = {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        session = self._egress.session(url)
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            if response.status != 200:
                return response.status, b""
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > limit:
                    raise FetchFailed("too_large")
            return 200, bytes(body)


def _is(raw: bytes, asked: Asked) -> bool:
    try:
        found = parse(raw)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("id") == asked.id
