"""A session's thread in Slack: what people write there, and the note that says what waits."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Final

from adapters.languages.catalogue import Words
from adapters.slack.client import SlackClient
from adapters.slack.edits import Changed
from adapters.slack.failures import SlackFailed
from adapters.slack.inflight import InFlight
from adapters.slack.receive import Place, Said
from adapters.slack.render import parked
from adapters.slack.viewers import Viewers
from adapters.talks import Heard, Talks, Utterance, Waits
from adapters.views import Person, Receipt

_log = logging.getLogger(__name__)

_TRIES: Final = 5
_LONGEST: Final = 30.0  # seconds that a note waits for its turn in the channel, each time
_URL: Final = 3000


class SessionThreads:
    """Of one workspace."""

    def __init__(
        self, talks: Talks, client: SlackClient, viewers: Viewers, inflight: InFlight
    ) -> None:
        self._talks = talks
        self._client = client
        self._viewers = viewers
        self._inflight = inflight

    async def said(self, said: Said) -> Receipt | None:
        """Something new in a thread: a receipt, which tells the person alone; None when no session has the
        thread. Raises `Refusal` (`sayso.unavailable`)."""
        return await self._told(said.place, said.person, said.text, said.dedupe, said.dedupe)

    async def edited(self, change: Changed) -> Receipt | None:
        """An edit, as `said`; None also for one of something that no session took."""
        return await self._told(
            change.place, change.person, change.text, change.reply, change.dedupe, edited=True
        )

    async def _told(
        self,
        place: Place,
        person: Person,
        text: str,
        message: str,
        dedupe: str,
        *,
        edited: bool = False,
    ) -> Receipt | None:
        thread = {"channel": place.channel, "ts": place.thread}
        if not await self._talks.holds("slack", thread):
            return None  # before Slack is asked who that is: most threads are people's own
        person = replace(person, name=await self._viewers.name(place.user))
        person = await self._viewers.person(person)
        utterance = Utterance("slack", thread, person, text, message, dedupe, edited)
        heard = await self._talks.said(utterance)
        if heard is None or not heard.waits:
            return heard.receipt if heard is not None else None
        words = await self._viewers.words(place.user)
        self._inflight.start(self._note(place, heard, words))
        return Receipt(True, heard.receipt.message)

    async def _note(self, place: Place, heard: Heard, words: Words) -> None:
        """Say in the thread what waits. One that can't be delivered is logged and let go: the cards of what
        waits stand there as well."""
        found = [(waits.title, await self._link(waits)) for waits in heard.waits]
        message = parked(heard.receipt.message, found, words)
        try:
            for _ in range(_TRIES):
                who = (f"parked:{place.user}", place.thread)
                wait = await self._client.pace.post(who, place.channel)
                if not wait:
                    await self._client.post(place.channel, message, place.thread)
                    return
                await asyncio.sleep(min(wait, _LONGEST))
        except SlackFailed as failure:
            _log.warning("slack: what waits could not be said: %s", failure.reason)

    async def _link(self, waits: Waits) -> str:
        """Where the card of what waits is, or "" where Slack can't say."""
        if waits.ref is None:
            return ""
        arguments = {"channel": waits.ref["channel"], "message_ts": waits.ref["ts"]}
        try:
            found = await self._client.look("chat.getPermalink", arguments)
        except SlackFailed as failure:
            _log.info("slack: no link to a card: %s", failure.reason)
            return ""
        link = found.get("permalink")
        return link if isinstance(link, str) and len(link) <= _URL else ""
