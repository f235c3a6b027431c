"""The forms that buttons of messages open: opened at once, filled when it is known who asks, and sent.

What a form holds is checked when it comes back, against the request as it is then. Errors stand beside their
fields; what can't be recorded any more is said in the form's place, with what was typed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from adapters.channel import Intake, Response
from adapters.forms import read_values
from adapters.slack import changes, form_acks, modal, receive
from adapters.slack.acks import Ack
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.inflight import InFlight
from adapters.slack.speaking import Speaking
from adapters.views import Card, Person, Receipt
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

Dedupe = Callable[[str, float], Awaitable[bool]]

CLICK_TTL: Final = 600.0  # seconds: Slack does not redeliver a click; a proxy in between may
_NOTHING: Final = modal.Binding("", "", 0)


class Dialogs:
    """Of one workspace. `submit` returns when what was sent is durable or refused, and never raises."""

    def __init__(
        self,
        client: SlackClient,
        intake: Intake,
        dedupe: Dedupe,
        inflight: InFlight,
        speaking: Speaking,
        team: str,
    ) -> None:
        self._client = client
        self._intake = intake
        self._dedupe = dedupe
        self._inflight = inflight
        self._speaking = speaking
        self._team = team

    async def open(self, wanted: receive.FormWanted) -> None:
        """Open a modal before anything slow: the trigger lives three seconds, a view for ever."""
        if not await self._dedupe(wanted.dedupe, CLICK_TTL):
            return
        words = self._speaking.known(wanted.place)
        view = modal.loading_view(wanted.binding, words)
        arguments = {"trigger_id": wanted.trigger_id, "view": view}
        try:
            opened = await self._client.call("views.open", arguments)
        except SlackFailed as failure:
            _log.warning("slack: a form could not be opened: %s", failure.reason)
            self._inflight.start(self._speaking.note(wanted.place, words("slack.too_late")))
            return
        self._inflight.start(self._fill(wanted, str(opened["view"]["id"])))

    async def submit(self, payload: Mapping[str, Any]) -> Ack:
        """A modal that was sent: errors beside the fields, a sentence, or nothing more to say."""
        found: receive.Submitted | receive.Unknown | None = None
        words = self._speaking.known(receive.click_place(payload))
        try:
            found = receive.view_submission(payload, self._team)
            if isinstance(found, receive.Unknown):
                return form_acks.notice(_NOTHING, words, words("slack.unknown_form"))
            person = await self._speaking.as_viewer(found.person)
            return await self._submitted(replace(found, person=person))
        except Exception:
            _log.exception("slack: a submitted form could not be handled")
            if isinstance(found, receive.Submitted):
                return form_acks.again(found, words, words("slack.failed"))
            return form_acks.notice(_NOTHING, words, words("slack.failed"))

    async def _submitted(self, sent: receive.Submitted) -> Ack:
        words = await self._speaking.words(sent.person)
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

    async def _fill(self, wanted: receive.FormWanted, view_id: str) -> None:
        known = self._speaking.known(wanted.place)
        try:
            person = await self._speaking.as_viewer(wanted.person)
            view = await self._view(replace(wanted, person=person))
        except Exception:
            _log.exception("slack: a form could not be made")
            view = form_acks.telling(
                known, "slack.not_available", known("slack.failed"), wanted.binding
            )
        try:
            await self._client.call("views.update", {"view_id": view_id, "view": view})
        except SlackFailed as failure:
            if failure.error == "not_found":
                return  # the person closed it
            _log.warning("slack: a form could not be shown: %s", failure.reason)
            await self._speaking.note(wanted.place, known("slack.not_opened"))

    async def _view(self, wanted: receive.FormWanted) -> dict[str, Any]:
        binding, words = wanted.binding, await self._speaking.words(wanted.person)
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

    async def _look(self, interrupt_id: str, person: Person) -> Card | Refusal | None:
        """The card, None, or the refusal itself when it can't be read now."""
        try:
            return await self._intake.look(interrupt_id, person)
        except Refusal as refusal:
            return refusal
