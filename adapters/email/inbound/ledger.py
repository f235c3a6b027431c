"""What is kept of mails that came in: seen ids, notes, counts, addresses that are given up.

All of it are documents of the store: small, durable, most of them with an end. No address and no text of a
mail is a key; keys are digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from host import notes
from host.notes import Note
from host.store.documents import Document, Documents

DAY: Final = 86_400_000
"""Milliseconds."""
SEEN_FOR: Final = 30 * DAY
"""Longer than the age at which a reply stops being one (`authenticate.MAX_AGE`)."""
ACKS_FOR: Final = 90 * DAY
HOUR: Final = 3_600_000
MOST_AN_HOUR: Final = 20
"""Mails that one reply address takes in an hour. A person writes two; a loop writes hundreds."""
MOST_ACKS_A_DAY: Final = 20
"""Acknowledgements that one address gets in a day, of all its requests together."""

_SEEN: Final = "mail.seen"
_RATE: Final = "mail.rate"
_ACK: Final = "mail.ack"
_UNDELIVERED: Final = "mail.undelivered"
_SUPPRESSED: Final = "mail.suppressed"
_TRIES: Final = 5


class Ledger:
    """`clock` gives milliseconds since 1970. Raises `StoreUnavailable` when the store is away."""

    def __init__(self, documents: Documents, clock: Callable[[], int]) -> None:
        self._documents = documents
        self._clock = clock

    async def seen(self, message_id: str) -> str:
        """What became of the mail with this id, "" when it was never here."""
        found = await self._documents.get(_SEEN, _digest(message_id), self._clock())
        return str(found.value["became"]) if found is not None else ""

    async def keep_seen(self, message_id: str, became: str) -> None:
        """The first outcome stays."""
        now = self._clock()
        await self._documents.put(
            _SEEN,
            _digest(message_id),
            {"became": became},
            now,
            expected=0,
            expires_at=now + SEEN_FOR,
        )

    async def note(self, interrupt_id: str, note: Note, once: str) -> None:
        """Put it on the interrupt's record. The same `once` is one note."""
        await notes.add(self._documents, interrupt_id, note, once, self._clock())

    async def takes(self, handle: str) -> bool:
        """Whether this address may take one more mail now. Asking counts nothing: servers ask whether
        there is an address, and send no mail."""
        found = await self._documents.get(_RATE, _digest(handle), self._clock())
        return found is None or int(found.value["count"]) < MOST_AN_HOUR

    async def took(self, handle: str) -> None:
        """This address took one more."""
        await self._count(_RATE, _digest(handle), HOUR)

    async def may_acknowledge(self, interrupt_id: str, address: str) -> bool:
        """Whether nobody acknowledged anything of this address about this interrupt yet. True once."""
        now = self._clock()
        one = _digest(f"{interrupt_id}\0{address}")
        first = await self._documents.put(_ACK, one, {}, now, expected=0, expires_at=now + ACKS_FOR)
        if first is None:
            return False
        day = _digest(f"day\0{now // DAY}\0{address}")
        return await self._count(_ACK, day, DAY) <= MOST_ACKS_A_DAY

    async def undelivered(self, interrupt_id: str, address: str, why: str) -> None:
        """The mail about this interrupt did not arrive at this address."""
        now = self._clock()
        key = _digest(f"{interrupt_id}\0{address}")
        await self._documents.put(
            _UNDELIVERED, key, {"reason": why[:200]}, now, expires_at=now + ACKS_FOR
        )

    async def unreachable(self, interrupt_id: str, address: str) -> str:
        """Why a mail about this interrupt has no use at this address, "" when it may have."""
        key = _digest(f"{interrupt_id}\0{address}")
        found = await self._documents.get(_UNDELIVERED, key, self._clock())
        return str(found.value["reason"]) if found is not None else await self.suppressed(address)

    async def suppress(self, address: str, reason: str, days: int | None) -> None:
        """Send nothing to this address any more; for `days`, or for good."""
        now = self._clock()
        ends = None if days is None else now + days * DAY
        value = {"reason": reason[:200], "at": now, "shown": _shown(address)}
        await self._documents.put(_SUPPRESSED, _digest(address), value, now, expires_at=ends)

    async def suppressed(self, address: str) -> str:
        """Why nothing is sent to this address, "" when it may be sent to."""
        found = await self._documents.get(_SUPPRESSED, _digest(address), self._clock())
        return str(found.value["reason"]) if found is not None else ""

    async def lift(self, address: str) -> bool:
        """Send to it again. False when it was not suppressed."""
        return await self._documents.delete(_SUPPRESSED, _digest(address))

    async def all_suppressed(self, limit: int = 1000) -> list[dict[str, Any]]:
        """For an operator: reason, time (ms) and the address with most of its name left out."""
        found = await self._documents.list(_SUPPRESSED, self._clock(), limit=limit)
        return [dict(each.value) for each in found]

    async def _count(self, kind: str, key: str, window: int) -> int:
        """How often this was called within the window, this time included."""
        now = self._clock()
        for _ in range(_TRIES):
            found: Document | None = await self._documents.get(kind, key, now)
            count = int(found.value["count"]) + 1 if found is not None else 1
            ends = (found.expires_at if found is not None else None) or now + window
            version = found.version if found is not None else 0
            if await self._documents.put(
                kind, key, {"count": count}, now, expected=version, expires_at=ends
            ):
                return count
        return 2**31  # so many at once that none of them gets its turn


def _digest(text: str) -> str:
    return hashlib.sha256(text.lower().encode()).hexdigest()


def _shown(address: str) -> str:
    """`a…@example.com`: enough for an operator who knows whom to look for."""
    local, _, domain = address.partition("@")
    return f"{local[:1]}…@{domain}"
