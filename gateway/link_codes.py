"""Codes that prove a mailed link: made, mailed and checked. Implements `adapters.web.login.Codes`."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

from adapters.channel import DeliveryFailed, Visitor
from adapters.views import Reader
from host.store.documents import Documents
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

GOOD_FOR: Final = 600_000
"""Milliseconds that a code is good for."""
HOUR: Final = 3_600_000
MOST_SENT: Final = 5
"""Codes of one link in an hour."""
MOST_TRIES: Final = 5
"""Wrong codes after which a new one has to be sent: 5 of a million."""

_CODE: Final = "web.code"
_SENT: Final = "web.code.sent"

Send = Callable[[str, str, Reader], Awaitable[None]]
"""(address, code, reader): mail it. Raises `DeliveryFailed`."""


class LinkCodes:
    """`clock` gives milliseconds since 1970. The store has digests of codes alone."""

    def __init__(self, documents: Documents, send: Send, clock: Callable[[], int]) -> None:
        self._documents = documents
        self._send = send
        self._clock = clock

    async def send(self, visitor: Visitor, reader: Reader) -> bool:
        key, now = _key(visitor), self._clock()
        code = f"{secrets.randbelow(10**6):06}"
        try:
            if not await self._may_send(key, now):
                return False
            value = {"digest": _digest(visitor, code), "tries": 0}
            await self._documents.put(_CODE, key, value, now, expires_at=now + GOOD_FOR)
            await self._send(visitor.person.id, code, reader)
        except (StoreUnavailable, DeliveryFailed) as away:
            raise Refusal("sayso.unavailable", "The code could not be sent.") from away
        return True

    async def check(self, visitor: Visitor, code: str) -> bool:
        key, now = _key(visitor), self._clock()
        try:
            found = await self._documents.get(_CODE, key, now)
            if found is None or found.value["tries"] >= MOST_TRIES:
                return False
            # Counted before it is compared, so that no two tries share one count.
            tried = {**found.value, "tries": found.value["tries"] + 1}
            version = await self._put(_CODE, key, tried, now, found.version, found.expires_at)
            if version is None or not hmac.compare_digest(
                str(found.value["digest"]), _digest(visitor, code)
            ):
                return False
            return await self._documents.delete(_CODE, key, expected=version)
        except StoreUnavailable as away:
            raise Refusal("sayso.unavailable", "The code could not be checked.") from away

    async def _may_send(self, key: str, now: int) -> bool:
        found = await self._documents.get(_SENT, key, now)
        count = found.value["count"] if found is not None else 0
        if count >= MOST_SENT:
            return False
        version = found.version if found is not None else 0
        ends = (found.expires_at if found is not None else None) or now + HOUR
        return await self._put(_SENT, key, {"count": count + 1}, now, version, ends) is not None

    async def _put(
        self, kind: str, key: str, value: Any, now: int, version: int, ends: int | None
    ) -> int | None:
        return await self._documents.put(kind, key, value, now, expected=version, expires_at=ends)


def _key(visitor: Visitor) -> str:
    return hashlib.sha256(visitor.handle.encode()).hexdigest()


def _digest(visitor: Visitor, code: str) -> str:
    return hashlib.sha256(f"{visitor.handle}\0{code}".encode()).hexdigest()
