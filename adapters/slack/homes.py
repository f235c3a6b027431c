"""The Home tab of each person who opened it lately: published when they open it, and when it changes.

What is shown is kept beside its hash in a document per person, for a day after they opened it. So any
replica can refresh it, only one does (compare-and-set on the document), and nothing is published that is
there already. `hash` keeps an older list from covering a newer one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from typing import Any, Final

from adapters.inbox import Inbox
from adapters.slack import listing
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.viewers import Viewers
from adapters.views import Person
from host.store.documents import Document, Documents

_log = logging.getLogger(__name__)

KIND: Final = "slack.home"
DAY_MS: Final = 24 * 3600 * 1000
MOST: Final = 500  # people whose tab is refreshed at a time
_BATCH: Final = 100


class Homes:
    """Of one workspace. `clock` gives milliseconds."""

    def __init__(
        self,
        client: SlackClient,
        inbox: Inbox,
        viewers: Viewers,
        documents: Documents,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._inbox = inbox
        self._viewers = viewers
        self._documents = documents
        self._clock = clock

    async def show(self, person: Person, page: int = 0) -> None:
        """Publish this person's tab now, and keep it current for a day. Raises `SlackFailed`,
        `Refusal`, `StoreUnavailable`."""
        now, key = self._clock(), await self._key(person)
        view = await self._view(person, page, None)
        found = await self._client.call("views.publish", {"user_id": _user(person), "view": view})
        value = {"page": page, "digest": _digest(view), "hash": _hash(found)}
        await self._documents.put(KIND, key, value, now, expires_at=now + DAY_MS)

    async def changed(self, person: Person) -> None:
        """Refresh this one, when it was opened lately."""
        key = await self._key(person)
        known = await self._documents.get(KIND, key, self._clock())
        if known is not None:
            await self._refresh(known, None)

    async def refresh(self) -> None:
        """Refresh all that were opened lately. One that fails holds up no other."""
        prefix, after, seen, began = await self._prefix(), "", 0, time.monotonic()
        while seen < MOST:
            found = await self._documents.list(
                KIND, self._clock(), prefix=prefix, after=after, limit=_BATCH
            )
            for document in found:
                try:
                    await self._refresh(document, began)
                except SlackFailed as failure:
                    _log.info("slack: a Home tab was not refreshed: %s", failure.reason)
            seen += len(found)
            if len(found) < _BATCH:
                return
            after = found[-1].key

    async def _refresh(self, known: Document, since: float | None) -> None:
        person = Person("slack", known.key.partition("|")[2])
        kept: dict[str, Any] = known.value
        view = await self._view(person, int(kept.get("page", 0)), since)
        digest = _digest(view)
        if digest == kept.get("digest"):
            return
        version = await self._put(known, {**kept, "digest": digest}, known.version)
        if version is None:
            return  # another replica does it, or they have just opened it
        arguments = {"user_id": _user(person), "view": view}
        if kept.get("hash"):
            arguments["hash"] = kept["hash"]
        try:
            found = await self._client.call("views.publish", arguments)
        except SlackFailed as failure:
            # What is shown is not what was noted: the next refresh has to look again.
            again = {**kept, "digest": "", "hash": ""}
            await self._put(known, again, version)
            if failure.error != "hash_conflict":
                raise
            return
        await self._put(known, {**kept, "digest": digest, "hash": _hash(found)}, version)

    async def _put(self, known: Document, value: dict[str, Any], expected: int) -> int | None:
        return await self._documents.put(
            KIND, known.key, value, self._clock(), expected=expected, expires_at=known.expires_at
        )

    async def _view(self, person: Person, page: int, since: float | None) -> dict[str, Any]:
        person = await self._viewers.person(person)
        words = await self._viewers.words(_user(person))
        waiting = await self._inbox.waiting(person, since=since)
        return listing.home(waiting, await self._inbox.decided(person), words, page)

    async def _key(self, person: Person) -> str:
        return f"{await self._prefix()}{person.id}"

    async def _prefix(self) -> str:
        identity = await self._client.identity()
        return f"{identity.team_id or identity.enterprise_id}|"


def _user(person: Person) -> str:
    return person.id.rpartition("/")[2]


def _digest(view: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(view, sort_keys=True).encode("utf-8", "replace")).hexdigest()[
        :16
    ]


def _hash(answer: dict[str, Any]) -> str:
    view = answer.get("view")
    return str(view.get("hash") or "") if isinstance(view, dict) else ""
