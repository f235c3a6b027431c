"""A reply below a card: the answer of a question that is one text, or a question about an approval.

Never a decision: who writes "approved" there is told to use the buttons. Talk among people is left alone:
those who may not answer are told so only where the reply would have been the answer.
"""

from __future__ import annotations

from dataclasses import replace

from adapters.channel import Intake, Response
from adapters.forms import read_values
from adapters.languages.catalogue import Words, words_of
from adapters.slack import choices, receive
from adapters.slack.edits import Changed
from adapters.slack.places import Places
from adapters.slack.viewers import Viewers
from adapters.views import Card, Receipt
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

_MOST = 3000


class CardThreads:
    """Of one workspace."""

    def __init__(self, intake: Intake, places: Places, viewers: Viewers) -> None:
        self._intake = intake
        self._places = places
        self._viewers = viewers

    async def said(self, said: receive.Said, name: str) -> Receipt | None:
        """The receipt of a reply below a card; None when there is nothing to tell. Raises what makes
        Slack deliver it again: `Refusal` (`sayso.unavailable`)."""
        try:
            interrupt_id = await self._places.at(said.place.channel, said.place.thread)
            if not interrupt_id:
                return None
            person = await self._viewers.person(replace(said.person, name=name))
            card = await self._intake.look(interrupt_id, person)
            if card is None or card.state != "open":
                return None
            words = await self._viewers.words(said.place.user)
            return await self._taken(card, replace(said, person=person), words)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)
        except StoreUnavailable:
            return Receipt(False, words_of("en")("receipt.try_again"), "sayso.unavailable")

    async def changed(self, change: Changed) -> str:
        """What to tell somebody who edited or deleted an answer that counts; "" for any other reply."""
        try:
            counted = await self._intake.counted("slack", change.reply)
        except (Refusal, StoreUnavailable):
            return ""
        if not counted:
            return ""
        words = await self._viewers.words(change.place.user)
        return words("thread.deleted" if change.deleted else "thread.edited")

    async def _taken(self, card: Card, said: receive.Said, words: Words) -> Receipt | None:
        field = choices.spoken(card)
        if field is not None and card.form is not None:
            value, problems = read_values(card.form, {field.id: said.text}, words)
            if problems:
                return Receipt(False, " ".join(problems.values()), "validation_error")
            return await self._answer(card, said, "answer", value)
        if _decides(said.text, words):
            return Receipt(False, words("thread.use_buttons"), "forbidden")
        if not any(action.id == "ask" for action in card.actions):
            return None
        question = said.text[:_MOST]
        await self._places.said(said.place.channel, said.place.thread, question)
        receipt = await self._answer(card, said, "ask", {"question": question})
        return None if receipt.code == "forbidden" else receipt

    async def _answer(
        self, card: Card, said: receive.Said, action: receive.ActionName, value: object
    ) -> Receipt:
        return await self._intake.answer(
            Response(card.interrupt_id, said.person, action, value, said.dedupe, card.version)
        )


def _decides(text: str, words: Words) -> bool:
    """Whether a whole reply is one of the words by which people decide elsewhere."""
    said = text.strip().rstrip(".!").casefold()
    known = (*words.all_of("reply.accept"), *words.all_of("reply.reject"))
    return said in {word.casefold() for word in known}
