"""Clicks and events of Slack -> the intake, and the answer that Slack and the person get.

The same doors for HTTP and for Socket Mode. Each returns only when what the person said is durable or
refused, and never raises: Slack would show a warning sign and no reason.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from adapters.channel import Intake, Response
from adapters.languages.catalogue import Words
from adapters.slack import choices, receive
from adapters.slack.acks import Ack
from adapters.slack.choosing import choose
from adapters.slack.client import SlackClient
from adapters.slack.dialogs import CLICK_TTL, Dedupe, Dialogs
from adapters.slack.edits import Changed, changed_reply
from adapters.slack.failures import SlackFailed
from adapters.slack.inflight import InFlight
from adapters.slack.press import Press, press_of
from adapters.slack.presses import Presses
from adapters.slack.session_threads import SessionThreads
from adapters.slack.speaking import Speaking
from adapters.slack.thread_replies import CardThreads
from adapters.views import Person, Receipt
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

REPLY_TTL: Final = 26 * 3600.0  # "delayed events" are redelivered for 24 hours
REDELIVERIES: Final = 3


class Inbound:
    """The way in of one workspace. Replies below a card are read with `threads`, what is said in sessions'
    threads with `talks`; with `presses`, a click of somebody whom Slack has to be asked about is kept
    meanwhile."""

    def __init__(
        self,
        client: SlackClient,
        intake: Intake,
        dedupe: Dedupe,
        inflight: InFlight,
        speaking: Speaking,
        dialogs: Dialogs,
        team: str,
        threads: CardThreads | None = None,
        presses: Presses | None = None,
        talks: SessionThreads | None = None,
    ) -> None:
        self._client = client
        self._intake = intake
        self._dedupe = dedupe
        self._inflight = inflight
        self._speaking = speaking
        self._dialogs = dialogs
        self._team = team
        self._threads = threads
        self._presses = presses
        self._talks = talks

    async def click(self, payload: Mapping[str, Any]) -> Ack:
        """A button: answer at once, or open the form that the answer needs."""
        place = receive.Place()
        try:
            if choices.is_choice(receive.first_of(payload.get("actions")).get("action_id")):
                await self._chosen(payload)
                return Ack()
            found = receive.block_actions(payload, self._team)
            if isinstance(found, receive.Ignored):
                return Ack()
            place = found.place
            if isinstance(found, receive.Unknown):
                self._tell(place, "slack.unknown_button")
            elif isinstance(found, receive.FormWanted):
                await self._dialogs.open(found)
            else:  # a copy of it gets the receipt that was kept with the first
                response = found.response
                await self._take(press_of(response, response.person, place, payload, _now()))
        except Exception:
            _log.exception("slack: a click could not be handled")
            self._tell(place, "slack.failed")
        return Ack()

    async def _chosen(self, payload: Mapping[str, Any]) -> None:
        """One option of a short question: the button is the whole answer."""
        place = receive.click_place(payload)
        person = receive.person_of(payload, self._team)
        found = choices.pressed(payload, person.id) if person is not None else None
        if person is None or found is None:
            self._tell(place, "slack.unknown_button")
        elif await self._dedupe(found.dedupe, CLICK_TTL):
            await self._take(press_of(found, person, place, payload, _now()))

    async def _take(self, press: Press) -> None:
        if self._presses is not None:
            await self._presses.take(press, self)
            return
        receipt = await self.decide(press)
        if not receipt.ok:
            self._inflight.start(self.note(press.place, receipt.message))

    async def decide(self, press: Press) -> Receipt:
        """Answer with a press. Implements `adapters.slack.presses.Side`."""
        try:
            if isinstance(press.act, Response):
                return await self._answer(press.act)
            person = await self._speaking.as_viewer(press.person)
            return await choose(self._intake, press.act, person, await self.words(press.person))
        except Exception:
            _log.exception("slack: a click could not be handled")
            sentence = self._speaking.known(press.place)("slack.failed")
            return Receipt(False, sentence, "internal_error")

    async def note(self, place: receive.Place, sentence: str) -> None:
        await self._speaking.note(place, sentence)

    async def words(self, person: Person) -> Words:
        return await self._speaking.words(person)

    async def event(self, body: Mapping[str, Any], attempt: int = 0) -> Ack:
        """An Events API callback. 503 when it could not be stored: Slack delivers it again.

        `attempt` is Slack's own count of redeliveries, 0 for the first.
        """
        try:
            identity = await self._client.identity()
            found = receive.event(body, identity.user_id, self._team or identity.team_id)
            if isinstance(found, receive.Ignored):
                change = changed_reply(body, identity.user_id, self._team)
                return await self._changed(change, attempt) if change is not None else Ack()
            if not await self._is_new(found.dedupe, attempt):
                return Ack()
        except SlackFailed as failure:
            _log.warning("slack: an event waits for its redelivery: %s", failure.reason)
            return Ack(503)
        except Exception:
            _log.exception("slack: an event could not be handled")
            return Ack(503)
        try:
            receipt = await self._said(found)
        except Exception:
            _log.exception("slack: a reply could not be handled")
            sentence = self._speaking.known(found.place)("slack.failed")
            receipt = Receipt(False, sentence, "internal_error")
        return self._received(receipt, found.place, attempt)

    def _received(self, receipt: Receipt | None, place: receive.Place, attempt: int) -> Ack:
        """What Slack is told once it is known what became of it. A refusal is told to the person."""
        if receipt is None or receipt.ok:
            return Ack()
        if receipt.code in receive.AGAIN and attempt < REDELIVERIES:
            return Ack(503)
        self._inflight.start(self.note(place, receipt.message))
        return Ack()

    async def _changed(self, change: Changed, attempt: int) -> Ack:
        """Somebody edited or deleted what they said. In a session's thread an edit is something said anew;
        anywhere else an answer that was recorded stays as it was."""
        receipt = None
        if self._talks is not None and change.text:
            try:
                receipt = await self._talks.edited(change)
            except Refusal as refusal:
                receipt = Receipt(False, refusal.message, refusal.code)
        if receipt is None and self._threads is not None:
            self._inflight.start(self._tell_of_change(change))
        return self._received(receipt, change.place, attempt)

    async def _tell_of_change(self, change: Changed) -> None:
        assert self._threads is not None
        sentence = await self._threads.changed(change)
        if sentence and await self._dedupe(change.dedupe, CLICK_TTL):
            await self.note(change.place, sentence)

    async def _said(self, said: receive.Said) -> Receipt | None:
        """The receipt of a reply, or None when nothing waits for one in its thread."""
        thread = {"channel": said.place.channel, "ts": said.place.thread}
        try:
            interrupt_id = await self._intake.turn("slack", thread)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)
        if interrupt_id is None:
            return await self._talked(said)
        person = replace(said.person, name=await self._speaking.name(said.place.user))
        return await self._answer(Response(interrupt_id, person, "answer", said.text, said.dedupe))

    async def _talked(self, said: receive.Said) -> Receipt | None:
        """In a session's thread, or below a card. None when it is neither."""
        receipt = None
        if self._talks is not None:
            try:
                receipt = await self._talks.said(said)
            except Refusal as refusal:
                return Receipt(False, refusal.message, refusal.code)
        if receipt is None and self._threads is not None:
            return await self._threads.said(said, await self._speaking.name(said.place.user))
        return receipt

    async def _answer(self, response: Response) -> Receipt:
        try:
            return await self._intake.answer(response)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)

    async def _is_new(self, key: str, attempt: int) -> bool:
        """Whether to process this event: it was never seen, or Slack says that it was not answered.

        A redelivery may be the only copy that was ever processed (a crash between the mark and the
        append), so it is never dropped; the intake's own key makes an accepted reply count once.
        """
        return attempt > 0 or await self._dedupe(key, REPLY_TTL)

    def _tell(self, place: receive.Place, key: str) -> None:
        """A sentence of the catalogue, privately."""
        self._inflight.start(self.note(place, self._speaking.known(place)(key)))


def _now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
