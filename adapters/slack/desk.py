"""Where people look by themselves: the Home tab, `/sayso`, the shortcuts, and what is opened from there.

The doors return when Slack may be answered, and never raise. What a person decides here goes through the
same intake as a button of a message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from adapters.channel import Intake, Response
from adapters.inbox import Inbox
from adapters.languages.catalogue import Words, words_of
from adapters.slack import blocks as b
from adapters.slack import commands, entries, listing, modal, receive, review
from adapters.slack.acks import Ack
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.homes import Homes
from adapters.slack.inflight import InFlight
from adapters.slack.opening import Opening
from adapters.slack.places import Places
from adapters.slack.render import Message
from adapters.slack.viewers import Viewers
from adapters.views import Card, Person, Receipt
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

_PATIENCE: Final = 2.0  # of the three seconds that Slack waits for the answer to a command
_BINDING: Final = modal.Binding("", "", 0)


class Desk:
    """Of one workspace."""

    def __init__(
        self,
        client: SlackClient,
        intake: Intake,
        inbox: Inbox,
        homes: Homes,
        places: Places,
        viewers: Viewers,
        inflight: InFlight,
        team: str,
    ) -> None:
        self._client = client
        self._intake = intake
        self._inbox = inbox
        self._homes = homes
        self._places = places
        self._viewers = viewers
        self._inflight = inflight
        self._team = team
        self._opening = Opening(client, intake, inbox, viewers)

    def takes(self, body: Mapping[str, Any]) -> bool:
        """Whether a click or a sent form is one of ours, and not of a message's buttons."""
        if body.get("type") == "view_submission":
            callback = receive.text_of(receive.map_of(body, "view"), "callback_id")
            return callback in (entries.REVIEW_FORM, entries.ASK_FORM, entries.LIST)
        return _action(body) in (entries.REVIEW, *entries.PAGES)

    async def click(self, body: Mapping[str, Any]) -> Ack:
        """Review one, or turn the page."""
        try:
            person = receive.person_of(body, self._team)
            if person is None:
                return Ack()
            if _action(body) == entries.REVIEW:
                self._inflight.start(self._opening.request(body, person))
            else:
                self._inflight.start(self._turn_page(body, person))
        except Exception:
            _log.exception("slack: a click in a list could not be handled")
        return Ack()

    async def submit(self, body: Mapping[str, Any]) -> Ack:
        """A decision, or a question, from a form that was opened here."""
        words = words_of("en")
        try:
            person = receive.person_of(body, self._team)
            words = await self._viewers.words(_user(body))
            if person is None:
                return _notice(words, words("slack.unknown_form"))
            person = await self._viewers.person(person)
            view = receive.map_of(body, "view")
            if receive.text_of(view, "callback_id") == entries.ASK_FORM:
                return await self._asked(body, person, words)
            return await self._reviewed(body, person, words)
        except Refusal as refusal:
            return _notice(words, refusal.message)
        except Exception:
            _log.exception("slack: a review could not be handled")
            return _notice(words, words("slack.failed"))

    async def command(self, body: Mapping[str, Any]) -> Ack:
        """`/sayso …`, answered to this person alone."""
        team, user = commands.person(body)
        words = words_of("en")
        if not user:
            return _told(words("inbox.help_command"))
        try:
            async with asyncio.timeout(_PATIENCE):
                words = await self._viewers.words(user)
                name = receive.text_of(body, "user_name")
                person = Person("slack", f"{team}/{user}", name)
                return await self._command(await self._viewers.person(person), body, words)
        except TimeoutError:
            return _told(words("inbox.too_slow"))
        except (Refusal, StoreUnavailable):
            return _told(words("receipt.try_again"))
        except Exception:
            _log.exception("slack: a command could not be handled")
            return _told(words("slack.failed"))

    async def shortcut(self, body: Mapping[str, Any]) -> Ack:
        """The global one opens the list; that of a message asks about a request."""
        try:
            person = receive.person_of(body, self._team)
            if person is None:
                return Ack()
            kind = receive.text_of(body, "callback_id")
            if kind == entries.INBOX_SHORTCUT:
                self._inflight.start(self._opening.list(body, person))
            elif kind == entries.ASK_SHORTCUT:
                channel = receive.text_of(receive.map_of(body, "channel"), "id")
                message = receive.map_of(body, "message")
                known = await self._places.at(channel, receive.text_of(message, "ts"))
                self._inflight.start(self._opening.ask(body, person, known))
        except Exception:
            _log.exception("slack: a shortcut could not be handled")
        return Ack()

    async def opened(self, body: Mapping[str, Any]) -> None:
        """`app_home_opened`: somebody looks at the app's tab."""
        event = receive.map_of(body, "event")
        user = receive.text_of(event, "user")
        if receive.text_of(event, "tab") not in ("home", "") or not user:
            return
        team = receive.text_of(body, "team_id") or self._team
        self._inflight.start(self._show(Person("slack", f"{team}/{user}")))

    async def refresh(self) -> None:
        """The tabs that were opened lately."""
        await self._homes.refresh()

    async def _show(self, person: Person, page: int = 0) -> None:
        try:
            await self._homes.show(person, page)
        except SlackFailed as failure:
            _log.warning("slack: a Home tab was not shown: %s", failure.reason)
        except (Refusal, StoreUnavailable):
            _log.warning("slack: a Home tab was not shown: the store is away")

    async def _turn_page(self, body: Mapping[str, Any], person: Person) -> None:
        value = receive.text_of(receive.first_of(body.get("actions")), "value")
        page = int(value) if value.isascii() and value.isdigit() and len(value) < 4 else 0
        view = receive.map_of(body, "view")
        if receive.text_of(view, "type") == "home":
            await self._show(person, page)
        else:
            await self._opening.turn_page(view, person, page)

    async def _command(self, person: Person, body: Mapping[str, Any], words: Words) -> Ack:
        wanted = commands.read(receive.words(receive.text_of(body, "text")))
        if wanted.verb == "inbox":
            return _message(listing.message(await self._inbox.waiting(person), words))
        if wanted.verb in ("help", "unknown"):
            return _told(words("inbox.help_command"))
        card = await self._inbox.find(wanted.request, person)
        if card is None:
            return _told(words("inbox.not_found", request=wanted.request[:40]))
        if wanted.verb == "show":
            return _message(listing.details(card, words))
        if not any(action.id == "ask" for action in card.actions):
            return _told(words("inbox.no_questions"))
        dedupe = f"slack:command:{receive.text_of(body, 'trigger_id')}"
        answer = {"question": wanted.text[:3000]}
        receipt = await self._answer(Response(card.interrupt_id, person, "ask", answer, dedupe))
        return _told(receipt.message)

    async def _reviewed(self, body: Mapping[str, Any], person: Person, words: Words) -> Ack:
        view = receive.map_of(body, "view")
        binding = modal.Binding.load(receive.text_of(view, "private_metadata"))
        if binding is None:
            return _notice(words, words("slack.unknown_form"))
        card = await self._intake.look(binding.interrupt_id, person)
        if card is None:
            return _notice(words, words("slack.gone"))
        state = receive.map_of(receive.map_of(view, "state"), "values")
        blocks = receive.blocks_of(view)
        kept = modal.typed(blocks, state)
        if card.state != "open":
            return _notice(words, card.outcome or words("slack.changed"), kept)
        form = review.form_of(card, words)
        if not modal.shows(form, blocks):
            return _notice(words, words("slack.changed"), kept)
        found = review.read(form, modal.values(form, state), words)
        if found.problems:
            return _errors(form, found.problems)
        if found.action == "edit-accept":
            binding = modal.Binding(card.interrupt_id, found.action, card.version)
            return self._edit(card, binding, words)
        action = receive.ACTIONS[found.action]
        dedupe = receive.submission_key(view, state)
        response = Response(card.interrupt_id, person, action, found.value, dedupe, binding.version)
        receipt = await self._answer(response)
        if not receipt.ok:
            if receipt.code in receive.AGAIN:
                return _errors(form, {"f1": receipt.message})
            return _notice(words, receipt.message, kept)
        self._inflight.start(self._changed(person))
        return Ack(body={"response_action": "clear"})

    def _edit(self, card: Card, binding: modal.Binding, words: Words) -> Ack:
        """The choice was to edit: the same modal goes on with the arguments."""
        form = self._intake.form(card, "edit-accept")
        why = modal.unfit(form, words) if form is not None else "–"
        if form is None or why:
            view = modal.notice_view("Sayso", why, binding, link=card.link, words=words)
        else:
            view = modal.form_view(form, binding, words)
        return Ack(body={"response_action": "update", "view": view})

    async def _asked(self, body: Mapping[str, Any], person: Person, words: Words) -> Ack:
        view = receive.map_of(body, "view")
        state = receive.map_of(receive.map_of(view, "state"), "values")
        blocks = receive.blocks_of(view)
        read = review.read_ask(receive.text_of(view, "private_metadata"), blocks, state)
        if read is None:
            return _notice(words, words("slack.unknown_form"), modal.typed(blocks, state))
        interrupt_id, question = read
        dedupe = receive.submission_key(view, state)
        receipt = await self._answer(
            Response(interrupt_id, person, "ask", {"question": question}, dedupe)
        )
        if not receipt.ok:
            return _notice(words, receipt.message, modal.typed(blocks, state))
        return Ack(body={"response_action": "clear"})

    async def _answer(self, response: Response) -> Receipt:
        try:
            return await self._intake.answer(response)
        except Refusal as refusal:
            return Receipt(False, refusal.message, refusal.code)

    async def _changed(self, person: Person) -> None:
        try:
            await self._homes.changed(person)
        except (SlackFailed, Refusal, StoreUnavailable) as failure:
            _log.info("slack: a Home tab was not refreshed: %s", failure)


def _action(body: Mapping[str, Any]) -> str:
    return receive.text_of(receive.first_of(body.get("actions")), "action_id")


def _user(body: Mapping[str, Any]) -> str:
    return receive.text_of(receive.map_of(body, "user"), "id")


def _told(text: str) -> Ack:
    return Ack(body={"response_type": "ephemeral", "text": b.spoken(text, 3500)})


def _message(found: Message) -> Ack:
    body = {"response_type": "ephemeral", "text": found.text, "blocks": found.blocks}
    return Ack(body=body)


def _errors(form: Any, problems: Mapping[str, str]) -> Ack:
    return Ack(body={"response_action": "errors", "errors": modal.errors(form, problems)})


def _notice(words: Words, sentence: str, kept: str = "") -> Ack:
    view = modal.notice_view(
        words("slack.not_recorded"), sentence, _BINDING, kept=kept, words=words
    )
    return Ack(body={"response_action": "update", "view": view})
