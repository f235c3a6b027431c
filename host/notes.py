"""Notes on an interrupt: what came in about it and was no answer, for an operator to read.

A reply whose sender nobody could vouch for, a mail that could not be delivered: such things belong on the
record of the interrupt, and are no events of its run. Documents of the store, gone after 90 days.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from host.store.documents import Documents

KEPT_FOR: Final = 90 * 86_400_000
"""Milliseconds."""
MOST: Final = 100
_KIND: Final = "note"


@dataclass(frozen=True, slots=True)
class Note:
    """`via` is the channel, `by` whoever the thing claims to be from, `text` their words, if any."""

    via: str
    reason: str
    by: str = ""
    text: str = ""


async def add(documents: Documents, interrupt_id: str, note: Note, once: str, now: int) -> None:
    """Put it on the record. The same `once` is one note. Raises `StoreUnavailable`."""
    value: dict[str, Any] = {"at": now, "via": note.via, "reason": note.reason[:300]}
    if note.by:
        value["by"] = note.by[:254]
    if note.text:
        value["text"] = note.text[:2000]
    key = f"{interrupt_id}\n{hashlib.sha256(once.encode()).hexdigest()[:24]}"
    await documents.put(_KIND, key, value, now, expected=0, expires_at=now + KEPT_FOR)


async def of(documents: Documents, interrupt_id: str, now: int) -> list[dict[str, Any]]:
    """`{at, via, reason, by?, text?}`, oldest first, at most 100; `at` in ms."""
    found = await documents.list(_KIND, now, prefix=f"{interrupt_id}\n", limit=MOST)
    return sorted((dict(each.value) for each in found), key=lambda each: int(each["at"]))
