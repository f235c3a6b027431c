"""How the people of one workspace are spoken to: in their language, and in notes that only they see."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from adapters.languages.catalogue import ENGLISH, Words
from adapters.slack import blocks as b
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.notes import NoteLimit
from adapters.slack.receive import Place
from adapters.slack.viewers import Viewers
from adapters.views import Person

_log = logging.getLogger(__name__)

_NAME_PATIENCE: Final = 0.5


class Speaking:
    """Of one workspace. All are spoken to in English without `viewers`."""

    def __init__(self, client: SlackClient, viewers: Viewers | None) -> None:
        self._client = client
        self._viewers = viewers
        self._notes = NoteLimit()

    def known(self, place: Place) -> Words:
        """The words for somebody, without asking Slack which language is theirs."""
        return self._viewers.known(place.user) if self._viewers is not None else ENGLISH

    async def words(self, person: Person) -> Words:
        """The words for somebody. Never raises."""
        if self._viewers is None:
            return ENGLISH
        return await self._viewers.words(person.id.rpartition("/")[2])

    async def as_viewer(self, person: Person) -> Person:
        """The same person with their language and zone, as far as they are known in time."""
        return await self._viewers.person(person) if self._viewers is not None else person

    async def name(self, user: str) -> str:
        """What somebody is called; "" when Slack does not say in time."""
        if self._viewers is not None:
            return await self._viewers.name(user)
        try:
            return await asyncio.wait_for(self._client.name_of(user), _NAME_PATIENCE)
        except TimeoutError:
            return ""

    async def note(self, place: Place, sentence: str) -> None:
        """Tell one person, and nobody else. A note that can't be delivered is logged and let go."""
        if not self._notes.allows(place.user, time.monotonic()):
            _log.info("slack: one private note too many was not sent")
            return
        text = b.spoken(sentence or self.known(place)("slack.failed"), 2000)
        try:
            if not place.channel or not place.user:
                raise SlackFailed("chat.postEphemeral", "no_place")
            await self._client.private(place.channel, place.user, text, place.thread)
        except SlackFailed as failure:
            if not place.response_url:
                _log.warning("slack: a private note was lost: %s", failure.reason)
                return
            try:
                await self._client.respond(place.response_url, text)
            except SlackFailed as second:
                _log.warning("slack: a private note was lost: %s", second.reason)
