"""What happens in the thread below a card: the questions that were asked about it, and reminders.

A thread is a log: each is posted once, and how many have been is kept with the message's place. Those that
were asked in that very thread stand there already.
"""

from __future__ import annotations

from dataclasses import replace

from adapters.channel import Delivery, NotYet, Ref
from adapters.languages.catalogue import words_of
from adapters.reminders import Reminder
from adapters.slack import blocks as b
from adapters.slack import reminding
from adapters.slack.client import SlackClient
from adapters.slack.places import Places
from adapters.slack.render import Message


class Talk:
    """Of one workspace."""

    def __init__(self, client: SlackClient, places: Places) -> None:
        self._client = client
        self._places = places

    async def follow(self, delivery: Delivery, ref: Ref) -> Ref:
        """After a card was shown at `ref`: remember what is there, and post what was asked since.

        The ref to keep. Raises `NotYet`, `DeliveryFailed`, `StoreUnavailable`; then all of it is
        repeated, and what was posted already may come again.
        """
        before, card = delivery.ref or {}, delivery.card
        place = (str(ref.get("channel", "")), str(ref.get("ts", "")))
        if place != (before.get("channel"), before.get("ts")):
            await self._places.posted(ref, card)
        known = before.get("asked", 0)
        posted = known if isinstance(known, int) else 0
        new = card.asked - posted
        for said in card.discussion[-new:] if new > 0 else ():
            if not await self._places.was_said(*place, said.value):
                words = words_of(card.reader.locale)
                text = words("thread.asks", name=said.label, question=said.value)
                await self._post(place, text, f"ask:{card.interrupt_id}:{posted}")
        return {**ref, "asked": max(card.asked, posted)} if card.asked or posted else ref

    async def remind(self, address: str, ref: Ref, reminder: Reminder) -> None:
        """Remind below a card. In a direct message nobody else is named than who reads it. Raises
        `NotYet`, `DeliveryFailed`."""
        if address.startswith("@"):
            reminder = replace(reminder, accounts=())
        channel, thread = str(ref["channel"]), str(ref["ts"])
        if wait := await self._client.pace.post(
            (f"remind:{reminder.card.interrupt_id}", thread), channel
        ):
            raise NotYet("waits for its turn in the thread", wait)
        await self._client.post(channel, reminding.message(reminder), thread)

    async def _post(self, place: tuple[str, str], text: str, who: str) -> None:
        channel, thread = place
        if wait := await self._client.pace.post((who, thread), channel):
            raise NotYet("waits for its turn in the thread", wait)
        message = Message(b.spoken(text, 3500), b.paragraphs(text, 2))
        await self._client.post(channel, message, thread)
        await self._places.said(channel, thread, text)
