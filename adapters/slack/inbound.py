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
from adapters.slack import blocks as b
from adapters.slack import changes, choices, modal, receive
from adapters.slack.acks import Ack
from adapters.slack.client import SlackClient, SlackFailed
from adapters.slack.inflight import InFlight
from adapters.slack.notes import NoteLimit
from adapters.slack.thread_replies import CardThreads
from adapters.views import Form, Person, Receipt
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

Dedupe = Callable[[str, float], Awaitable[bool]]

CLICK_TTL: Final = 600.0  # seconds: Slack does not redeliver a click; a proxy in between may
REPLY_TTL: Final = 26 * 3600.0  # "delayed events" are redelivered for 24 hours
REDELIVERIES: Final = 3
_NAME_PATIENCE: Final = 1.0

_GONE = "This request does not exist any more. Nothing was recorded."
_FAILED = "Something went wrong on our side and nothing was recorded. Please try again."
_CHANGED = "The request changed while you were answering. Nothing was recorded: open it again."
_UNKNOWN = "This button is not known any more. Look for a newer message about the request."


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
                self._inflight.start(self._note(place, _UNKNOWN))
            elif isinstance(found, receive.FormWanted):
                await self._open(found)
            elif await self._dedupe(found.response.dedupe, CLICK_TTL):
                receipt = await self._answer(found.response)
                if not receipt.ok:
                    self._inflight.start(self._note(place, receipt.message))
        except Exception:
            _log.exception("slack: a click could not be handled")
            self._inflight.start(self._note(place, _FAILED))
        return Ack()

    async def _chosen(self, payload: Mapping[str, Any]) -> Ack:
        """One option of a short question: the button is the whole answer."""
        place = receive.click_place(payload)
        person = receive.person_of(payload, self._team)
        found = choices.pressed(payload, person.id) if person is not None else None
        if person is None or found is None:
            self._inflight.start(self._note(place, _UNKNOWN))
            return Ack()
        if not await self._dedupe(found.dedupe, CLICK_TTL):
            return Ack()
        sentence = await self._choose(found, person)
        if sentence:
            self._inflight.start(self._note(place, sentence))
        return Ack()

    async def _choose(self, found: choices.Pressed, person: Person) -> str:
        """Empty when it counted, else what to tell the person."""
        card = await self._look(found.interrupt_id, person)
        if isinstance(card, Refusal):
            return card.message
        if card is None:
            return _GONE
        if card.state == "open" and not choices.matches(card.form, found):
            return _CHANGED
        if card.form is None:
            return card.outcome or _CHANGED
        values = {field.id: found.raw for field in card.form.fields}
        value, problems = read_values(card.form, values)
        if problems:
            return " ".join(problems.values())
        response = Response(
            found.interrupt_id, person, "answer", value, found.dedupe, found.version
        )
        receipt = await self._answer(response)
        return "" if receipt.ok else receipt.message

    async def submit(self, payload: Mapping[str, Any]) -> Ack:
        """A modal that was sent: errors beside the fields, a sentence, or nothing more to say."""
        found: receive.Submitted | receive.Unknown | None = None
        try:
            found = receive.view_submission(payload, self._team)
            if isinstance(found, receive.Unknown):
                return _notice(modal.Binding("", "", 0), "This form is not known any more.")
            return await self._submitted(found)
        except Exception:
            _log.exception("slack: a submitted form could not be handled")
            if isinstance(found, receive.Submitted):
                return _again(found, _FAILED)
            return _notice(modal.Binding("", "", 0), _FAILED)

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
            receipt = Receipt(False, _FAILED, "internal_error")
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
        card = await self._look(sent.binding.interrupt_id, sent.person)
        if isinstance(card, Refusal):
            return _again(sent, card.message)
        if card is None:
            return _refused(sent, _GONE)
        form = self._intake.form(card, sent.binding.action)
        if form is None:
            return _refused(sent, card.outcome or _CHANGED)
        if not modal.shows(form, sent.blocks):
            return _refused(sent, _CHANGED)
        value, problems = read_values(form, modal.values(form, sent.state))
        if problems:
            return _problems(form, sent, problems)
        action = receive.ACTIONS.get(sent.binding.action)
        if action is None:
            return _refused(sent, _CHANGED)
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
            return _problems(form, sent, receipt.field_errors)
        if receipt.code in receive.AGAIN:
            return _again(sent, receipt.message)
        return _refused(sent, receipt.message)

    async def _open(self, wanted: receive.FormWanted) -> None:
        """Open a modal before anything slow: the trigger lives three seconds, a view for ever."""
        if not await self._dedupe(wanted.dedupe, CLICK_TTL):
            return
        view = modal.loading_view(wanted.binding)
        arguments = {"trigger_id": wanted.trigger_id, "view": view}
        try:
            opened = await self._client.call("views.open", arguments)
        except SlackFailed as failure:
            _log.warning("slack: a form could not be opened: %s", failure.reason)
            sentence = "Slack did not open the form in time. Please press the button again."
            self._inflight.start(self._note(wanted.place, sentence))
            return
        self._inflight.start(self._fill(wanted, str(opened["view"]["id"])))

    async def _fill(self, wanted: receive.FormWanted, view_id: str) -> None:
        try:
            view = await self._view(wanted)
        except Exception:
            _log.exception("slack: a form could not be made")
            view = modal.notice_view("Not available", _FAILED, wanted.binding)
        try:
            await self._client.call("views.update", {"view_id": view_id, "view": view})
        except SlackFailed as failure:
            if failure.error == "not_found":
                return  # the person closed it
            _log.warning("slack: a form could not be shown: %s", failure.reason)
            sentence = "The form could not be shown. Close it and press the button again."
            await self._note(wanted.place, sentence)

    async def _view(self, wanted: receive.FormWanted) -> dict[str, Any]:
        binding = wanted.binding
        card = await self._look(binding.interrupt_id, wanted.person)
        if isinstance(card, Refusal):
            return modal.notice_view("Not available", card.message, binding)
        if card is None:
            return modal.notice_view("Not available", _GONE, binding)
        if card.state != "open":
            sentence = card.outcome or f"This request is {card.state}."
            return modal.notice_view("Already closed", sentence, binding, link=card.link)
        form = self._intake.form(card, binding.action)
        if form is None:
            return modal.notice_view("Not available", _CHANGED, binding, link=card.link)
        if why := modal.unfit(form):
            sentence = f"{why} Please answer it on the web."
            return modal.notice_view("Open the form", sentence, binding, link=card.link)
        # What the person sees from here on is this version, not that of the card that was clicked.
        return modal.form_view(form, replace(binding, version=card.version))

    async def _answer(self, response: Response) -> Receipt:
        try:
            return await self._intake.answer(response)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)

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
        text = b.spoken(sentence or _FAILED, 2000)
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


def _problems(form: Form, sent: receive.Submitted, problems: Mapping[str, str]) -> Ack:
    placed = modal.errors(form, problems)
    if placed:
        return Ack(body={"response_action": "errors", "errors": placed})
    return _refused(sent, " ".join(problems.values()))


def _again(sent: receive.Submitted, sentence: str) -> Ack:
    """The form stays as it is, with the sentence at its first input."""
    for block in sent.blocks:
        if block.get("type") == "input" and block.get("block_id"):
            errors = {str(block["block_id"]): b.cut(sentence, 300)}
            return Ack(body={"response_action": "errors", "errors": errors})
    return _refused(sent, sentence)


def _refused(sent: receive.Submitted, sentence: str) -> Ack:
    """The form becomes the sentence, with what was typed to copy from."""
    return _notice(sent.binding, sentence, kept=modal.typed(sent.blocks, sent.state))


def _notice(binding: modal.Binding, sentence: str, kept: str = "") -> Ack:
    view = modal.notice_view("Not recorded", sentence, binding, kept=kept)
    return Ack(body={"response_action": "update", "view": view})
