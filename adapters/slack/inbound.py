"""What Slack sends -> the intake, and the answer that Slack and the person get.

The same three doors for HTTP and for Socket Mode. Each returns only when what the person said is
durable or refused, and never raises: Slack would show a warning sign and no reason.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from adapters.channel import Intake, Response
from adapters.forms import read_values
from adapters.languages.catalogue import ENGLISH, Words
from adapters.slack import blocks as b
from adapters.slack import changes, choices, form_acks, modal, receive
from adapters.slack.acks import Ack
from adapters.slack.choosing import choose
from adapters.slack.client import SlackClient, SlackFailed
from adapters.slack.inflight import InFlight
from adapters.slack.notes import NoteLimit
from adapters.slack.thread_replies import CardThreads
from adapters.slack.viewers import Viewers
from adapters.views import Person, Receipt
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

Dedupe = Callable[[str, float], Awaitable[bool]]

CLICK_TTL: Final = 600.0  # seconds: Slack does not redeliver a click; a proxy in between may
REPLY_TTL: Final = 26 * 3600.0  # "delayed events" are redelivered for 24 hours
REDELIVERIES: Final = 3
_NAME_PATIENCE: Final = 1.0


class Inbound:
    """The way in of one workspace."""

    def __init__(
        self, client: SlackClient, intake: Intake, dedupe: Dedupe, inflight: InFlight, team: str
    ) -> None:
        self._client = client
        self._intake = intake
        self._dedupe = dedupe
        self._inflight = inflight
        self._notes = NoteLimit()
        self._team = team
        self.threads: CardThreads | None = None  # replies below a card; none are read without it
        self.viewers: Viewers | None = (
            None  # people's languages; all are spoken to in one without it
        )

    async def click(self, payload: Mapping[str, Any]) -> Ack:
        """A button: answer at once, or open the form that the answer needs."""
        place = receive.Place()
        try:
            if choices.is_choice(receive.first_of(payload.get("actions")).get("action_id")):
                return await self._chosen(payload)
            found = receive.block_actions(payload, self._team)
            if isinstance(found, receive.Ignored):
                return Ack()
            place = found.place
            if isinstance(found, receive.Unknown):
                self._inflight.start(self._note(place, self._known(place)("slack.unknown_button")))
            elif isinstance(found, receive.FormWanted):
                await self._open(found)
            else:  # a copy of it gets the receipt that was kept with the first
                receipt = await self._answer(found.response)
                if not receipt.ok:
                    self._inflight.start(self._note(place, receipt.message))
        except Exception:
            _log.exception("slack: a click could not be handled")
            self._inflight.start(self._note(place, self._known(place)("slack.failed")))
        return Ack()

    async def _chosen(self, payload: Mapping[str, Any]) -> Ack:
        """One option of a short question: the button is the whole answer."""
        place = receive.click_place(payload)
        person = receive.person_of(payload, self._team)
        found = choices.pressed(payload, person.id) if person is not None else None
        if person is None or found is None:
            self._inflight.start(self._note(place, self._known(place)("slack.unknown_button")))
            return Ack()
        if not await self._dedupe(found.dedupe, CLICK_TTL):
            return Ack()
        who = await self._as_viewer(person)
        sentence = await choose(self._intake, found, who, await self._words(person))
        if sentence:
            self._inflight.start(self._note(place, sentence))
        return Ack()

    async def submit(self, payload: Mapping[str, Any]) -> Ack:
        """A modal that was sent: errors beside the fields, a sentence, or nothing more to say."""
        found: receive.Submitted | receive.Unknown | None = None
        words = self._known(receive.click_place(payload))
        try:
            found = receive.view_submission(payload, self._team)
            if isinstance(found, receive.Unknown):
                return form_acks.notice(
                    modal.Binding("", "", 0), words, words("slack.unknown_form")
                )
            person = await self._as_viewer(found.person)
            return await self._submitted(replace(found, person=person))
        except Exception:
            _log.exception("slack: a submitted form could not be handled")
            if isinstance(found, receive.Submitted):
                return form_acks.again(found, words, words("slack.failed"))
            return form_acks.notice(modal.Binding("", "", 0), words, words("slack.failed"))

    async def event(self, body: Mapping[str, Any], attempt: int = 0) -> Ack:
        """An Events API callback. 503 when it could not be stored: Slack delivers it again.

        `attempt` is Slack's own count of redeliveries, 0 for the first.
        """
        try:
            identity = await self._client.identity()
            found = receive.event(body, identity.user_id, self._team or identity.team_id)
            if isinstance(found, receive.Ignored):
                self._changed(body)
                return Ack()
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
            sentence = self._known(found.place)("slack.failed")
            receipt = Receipt(False, sentence, "internal_error")
        if receipt is None or receipt.ok:
            return Ack()
        if receipt.code in receive.AGAIN and attempt < REDELIVERIES:
            return Ack(503)
        self._inflight.start(self._note(found.place, receipt.message))
        return Ack()

    def _changed(self, body: Mapping[str, Any]) -> None:
        """Somebody edited or deleted what they said: an answer that was recorded stays as it was."""
        change = receive.changed_reply(body)
        if change is not None and self.threads is not None:
            self._inflight.start(self._tell_of_change(change))

    async def _tell_of_change(self, change: receive.Changed) -> None:
        assert self.threads is not None
        sentence = await self.threads.changed(change)
        if sentence and await self._dedupe(change.dedupe, CLICK_TTL):
            await self._note(change.place, sentence)

    async def _said(self, said: receive.Said) -> Receipt | None:
        """The receipt of a reply, or None when nothing waits for one in its thread."""
        thread = {"channel": said.place.channel, "ts": said.place.thread}
        try:
            interrupt_id = await self._intake.turn("slack", thread)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)
        if interrupt_id is None:
            if self.threads is None:
                return None
            return await self.threads.said(said, await self._name(said.place.user))
        person = replace(said.person, name=await self._name(said.place.user))
        return await self._answer(Response(interrupt_id, person, "answer", said.text, said.dedupe))

    async def _submitted(self, sent: receive.Submitted) -> Ack:
        words = await self._words(sent.person)
        card = await self._look(sent.binding.interrupt_id, sent.person)
        if isinstance(card, Refusal):
            return form_acks.again(sent, words, card.message)
        if card is None:
            return form_acks.refused(sent, words, words("slack.gone"))
        form = self._intake.form(card, sent.binding.action)
        if form is None:
            return form_acks.refused(sent, words, card.outcome or words("slack.changed"))
        if not modal.shows(form, sent.blocks):
            return form_acks.refused(sent, words, words("slack.changed"))
        value, problems = read_values(form, modal.values(form, sent.state), words)
        if problems:
            return form_acks.problems(form, sent, words, problems)
        action = receive.ACTIONS.get(sent.binding.action)
        if action is None:
            return form_acks.refused(sent, words, words("slack.changed"))
        if action == "edit-accept" and (ask := changes.step(form, card, value, sent.binding)):
            return Ack(body={"response_action": "update", "view": ask})
        receipt = await self._answer(
            Response(
                sent.binding.interrupt_id,
                sent.person,
                action,
                value,
                sent.dedupe,
                sent.binding.version,
            )
        )
        if receipt.ok:
            # Clear, not an empty answer: that one closes only the topmost view.
            return Ack(body={"response_action": "clear"})
        if receipt.field_errors:
            return form_acks.problems(form, sent, words, receipt.field_errors)
        if receipt.code in receive.AGAIN:
            return form_acks.again(sent, words, receipt.message)
        return form_acks.refused(sent, words, receipt.message)

    async def _open(self, wanted: receive.FormWanted) -> None:
        """Open a modal before anything slow: the trigger lives three seconds, a view for ever."""
        if not await self._dedupe(wanted.dedupe, CLICK_TTL):
            return
        view = modal.loading_view(wanted.binding, self._known(wanted.place))
        arguments = {"trigger_id": wanted.trigger_id, "view": view}
        try:
            opened = await self._client.call("views.open", arguments)
        except SlackFailed as failure:
            _log.warning("slack: a form could not be opened: %s", failure.reason)
            sentence = self._known(wanted.place)("slack.too_late")
            self._inflight.start(self._note(wanted.place, sentence))
            return
        self._inflight.start(self._fill(wanted, str(opened["view"]["id"])))

    async def _fill(self, wanted: receive.FormWanted, view_id: str) -> None:
        try:
            view = await self._view(replace(wanted, person=await self._as_viewer(wanted.person)))
        except Exception:
            _log.exception("slack: a form could not be made")
            words = self._known(wanted.place)
            view = form_acks.telling(
                words, "slack.not_available", words("slack.failed"), wanted.binding
            )
        try:
            await self._client.call("views.update", {"view_id": view_id, "view": view})
        except SlackFailed as failure:
            if failure.error == "not_found":
                return  # the person closed it
            _log.warning("slack: a form could not be shown: %s", failure.reason)
            sentence = self._known(wanted.place)("slack.not_opened")
            await self._note(wanted.place, sentence)

    async def _view(self, wanted: receive.FormWanted) -> dict[str, Any]:
        binding, words = wanted.binding, await self._words(wanted.person)
        card = await self._look(binding.interrupt_id, wanted.person)
        if isinstance(card, Refusal):
            return form_acks.telling(words, "slack.not_available", card.message, binding)
        if card is None:
            return form_acks.telling(words, "slack.not_available", words("slack.gone"), binding)
        if card.state != "open":
            sentence = card.outcome or words("slack.changed")
            return form_acks.telling(words, "slack.already_closed", sentence, binding, card.link)
        if barred := await self._barred(wanted):
            return form_acks.telling(words, "slack.not_available", barred, binding)
        form = self._intake.form(card, binding.action)
        if form is None:
            return form_acks.telling(
                words, "slack.not_available", words("slack.changed"), binding, card.link
            )
        if why := modal.unfit(form, words):
            sentence = words("slack.on_the_web", reason=why)
            return form_acks.telling(words, "slack.open_form", sentence, binding, card.link)
        # What the person sees from here on is this version, not that of the card that was clicked.
        return modal.form_view(form, replace(binding, version=card.version), words)

    async def _barred(self, wanted: receive.FormWanted) -> str:
        try:
            return await self._intake.barred(wanted.binding.interrupt_id, wanted.person)
        except Refusal as refusal:
            return refusal.message

    async def _answer(self, response: Response) -> Receipt:
        try:
            return await self._intake.answer(response)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)

    def _known(self, place: receive.Place) -> Words:
        """The words for somebody, without asking Slack which language is theirs."""
        return self.viewers.known(place.user) if self.viewers is not None else ENGLISH

    async def _words(self, person: Person) -> Words:
        if self.viewers is None:
            return ENGLISH
        return await self.viewers.words(person.id.rpartition("/")[2])

    async def _as_viewer(self, person: Person) -> Person:
        return await self.viewers.person(person) if self.viewers is not None else person

    async def _look(self, interrupt_id: str, person: Person) -> Any:
        """The card, None, or the refusal itself when it can't be read now."""
        try:
            return await self._intake.look(interrupt_id, person)
        except Refusal as refusal:
            return refusal

    async def _name(self, user: str) -> str:
        try:
            return await asyncio.wait_for(self._client.name_of(user), _NAME_PATIENCE)
        except TimeoutError:
            return ""

    async def _is_new(self, key: str, attempt: int) -> bool:
        """Whether to process this event: it was never seen, or Slack says that it was not answered.

        A redelivery may be the only copy that was ever processed (a crash between the mark and the
        append), so it is never dropped; the intake's own key makes an accepted reply count once.
        """
        return attempt > 0 or await self._dedupe(key, REPLY_TTL)

    async def _note(self, place: receive.Place, sentence: str) -> None:
        """Tell one person, and nobody else. A note that can't be delivered is logged and let go."""
        if not self._notes.allows(place.user, time.monotonic()):
            _log.info("slack: one private note too many was not sent")
            return
        text = b.spoken(sentence or self._known(place)("slack.failed"), 2000)
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
