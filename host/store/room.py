"""Whether a database takes changes again, found out by making one.

A database whose disk is full, or that was made read-only, answers reads as ever. So each store notes when
the database itself refuses a change, and when it is next asked how it is, it tries a change of its own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final, Protocol

from host.store.documents import Documents
from host.store.records import StoreUnavailable

_KIND: Final = "room"
_BYTES: Final = (
    65_536  # more than a request takes as a rule, so that what is left is enough for one
)


class Refusing(Protocol):
    """A database that sets `refused` when it takes no change, whoever asked for it."""

    refused: bool


async def takes_changes(database: Refusing, documents: Documents) -> bool:
    """Whether nothing was refused since this was last asked, or else whether a document can be written now.

    The document has expired when it is made: nobody sees it, and what a crash leaves of it is swept.
    """
    if database.refused:
        database.refused = False
        key, noise = os.urandom(8).hex(), os.urandom(_BYTES // 2).hex()
        with suppress(StoreUnavailable):
            await documents.put(_KIND, key, noise, 0, expires_at=1)
            await documents.delete(_KIND, key)
    return not database.refused
