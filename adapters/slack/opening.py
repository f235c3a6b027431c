"""Opening a modal from a list, a shortcut or the Home tab: at once, then filled.

A trigger lives three seconds and a view for ever, so an empty one is opened before anything is looked up.
What is opened from inside a modal is pushed on top of it: Slack keeps three views in a stack.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from adapters.channel import Intake
from adapters.inbox import Inbox
from adapters.languages.catalogue import Words
from adapters.slack import blocks as b
from adapters.slack import listing, modal, receive, review
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.modal import Binding
from adapters.slack.viewers import Viewers
from adapters.views import Card, Person
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

_log = logging.getLogger(__name__)

_BLOCKS: Final = 100
_EMPTY: Final = Binding("", "", 0)

Make = Callable[[Words], Awaitable[b.Block]]


class Opening:
    """Of one workspace. Nothing here raises: who waits for a modal sees a sentence in it."""

    def __init__(self, client: SlackClient, intake: Intake, inbox: Inbox, viewers: Viewers) -> None:
        self._client = client
        self._intake = intake
        self._inbox = inbox
        self._viewers = viewers

    async def request(self, body: Mapping[str, Any], person: Person) -> None:
        """One request, with the form that answers it."""
        value = _json(receive.text_of(receive.first_of(body.get("actions")), "value"))
        interrupt_id = value.get("i")

        async def make(words: Words) -> b.Block:
            found = str(interrupt_id) if isinstance(interrupt_id, str) else ""
            return await self._review(found, person, words)

        await self._open(body, make)

    async def list(self, body: Mapping[str, Any], person: Person) -> None:
        """What waits for this person."""

        async def make(words: Words) -> b.Block:
            who = await self._viewers.person(person)
            return listing.modal(await self._inbox.waiting(who), words)

        await self._open(body, make)

    async def ask(self, body: Mapping[str, Any], person: Person, known: str) -> None:
        """From a message: the request that it shows, else a question with its text."""
        message = receive.map_of(body, "message")
        text = receive.words(receive.text_of(message, "text")[:4000])

        async def make(words: Words) -> b.Block:
            if known:
                return await self._review(known, person, words)
            waiting = await self._inbox.waiting(person)
            asked = [c for c in waiting.cards if any(a.id == "ask" for a in c.actions)]
            if not asked:
                sentence = words("inbox.nothing_to_ask")
                return modal.notice_view(words("action.ask"), sentence, _EMPTY, words=words)
            return review.ask_view(tuple(asked), text, words)

        await self._open(body, make)

    async def turn_page(self, view: Mapping[str, Any], person: Person, page: int) -> None:
        """Another page of the list in a modal."""
        person = await self._viewers.person(person)
        words = await self._viewers.words(_user(person))
        try:
            shown = listing.modal(await self._inbox.waiting(person), words, page)
        except (Refusal, StoreUnavailable):
            return
        arguments = {"view_id": receive.text_of(view, "id"), "view": shown}
        if stands := receive.text_of(view, "hash"):
            arguments["hash"] = stands
        await self._update(arguments)

    async def _open(self, body: Mapping[str, Any], make: Make) -> None:
        inside = receive.text_of(receive.map_of(body, "view"), "type") == "modal"
        method = "views.push" if inside else "views.open"
        arguments = {
            "trigger_id": receive.text_of(body, "trigger_id"),
            "view": modal.loading_view(_EMPTY, self._viewers.known(_user_of(body))),
        }
        try:
            opened = await self._client.call(method, arguments)
        except SlackFailed as failure:
            _log.warning("slack: a view could not be opened: %s", failure.reason)
            return
        view_id = str(opened["view"]["id"])
        words = await self._viewers.words(_user_of(body))
        try:
            view = await make(words)
        except (Refusal, StoreUnavailable):
            view = _sorry(words, words("receipt.try_again"))
        except Exception:
            _log.exception("slack: a view could not be made")
            view = _sorry(words, words("slack.failed"))
        await self._update({"view_id": view_id, "view": view})

    async def _update(self, arguments: dict[str, Any]) -> None:
        try:
            await self._client.call("views.update", arguments)
        except SlackFailed as failure:
            if failure.error not in ("not_found", "hash_conflict"):  # closed, or turned twice
                _log.warning("slack: a view could not be shown: %s", failure.reason)

    async def _review(self, interrupt_id: str, person: Person, words: Words) -> b.Block:
        """The request for this person, or a sentence. Whether they may see it is looked up again: a list
        may be hours old."""
        person = await self._viewers.person(person)
        seen = await self._inbox.find(interrupt_id, person) if interrupt_id else None
        card = await self._intake.look(interrupt_id, person) if seen is not None else None
        if card is None:
            return _sorry(words, words("inbox.not_yours"))
        if card.state != "open":
            sentence = card.outcome or words("slack.changed")
            title = words("slack.already_closed")
            return modal.notice_view(title, sentence, _EMPTY, link=card.link, words=words)
        binding = Binding(card.interrupt_id, review.ACTION, card.version)
        if card.kind == "approval":
            return review.view(card, binding, words)
        return self._form(card, words)

    def _form(self, card: Card, words: Words) -> b.Block:
        form = self._intake.form(card, "answer")
        binding = Binding(card.interrupt_id, "answer", card.version)
        why = modal.unfit(form, words) if form is not None else words("slack.changed")
        if form is None or why:
            sentence = words("slack.on_the_web", reason=why)
            title = words("slack.open_form")
            return modal.notice_view(title, sentence, binding, link=card.link, words=words)
        drawn = modal.form_view(form, binding, words)
        top = listing.with_link(listing.about(card, words), words("slack.open_on_web"), card.link)
        if len(top) + len(drawn["blocks"]) <= _BLOCKS:
            drawn["blocks"] = [*top, *drawn["blocks"]]
        return drawn


def _sorry(words: Words, sentence: str) -> b.Block:
    return modal.notice_view(words("slack.not_available"), sentence, _EMPTY, words=words)


def _user(person: Person) -> str:
    return person.id.rpartition("/")[2]


def _user_of(body: Mapping[str, Any]) -> str:
    return receive.text_of(receive.map_of(body, "user"), "id")


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
