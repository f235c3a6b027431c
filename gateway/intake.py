"""The door in: what every channel calls with what a person said. One function for all channels.

It turns the channel's person into a principal, calls the host, and says what became of it. The same act
twice (a click that a channel delivers again) has one effect and the same receipt, because the receipt is
kept in the transaction that appends.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import structlog

from adapters.cards import card_of, form_for
from adapters.channel import InboundEvent, Ref, Response
from adapters.forms import errors_to_fields
from adapters.languages.catalogue import DEFAULT, words_of
from adapters.views import Card, Choice, Form, Person, Reader, Receipt
from gateway.accounts import Accounts
from gateway.links import AnswerLinks
from gateway.people import People
from gateway.picking import found_options, searchable
from gateway.shelving import Filing, shelved_event
from gateway.subjects import Subjects
from gateway.watch import Watch
from host.decisions.eligibility import check_eligible, who_may
from host.decisions.resolve import Answer
from host.decisions.state import Interrupt, State
from host.host import Host
from host.journal import AlreadyReplied
from host.store.records import Reply, StoreUnavailable
from schemas.errors import Refusal

log = structlog.get_logger("sayso.intake")


class Intake:
    """Implements `adapters.channel.Intake`."""

    def __init__(
        self,
        host: Host,
        people: People,
        accounts: Accounts,
        links: AnswerLinks,
        filing: dict[str, Filing],
        watch: Watch,
    ) -> None:
        self._host = host
        self._people = people
        self._accounts = accounts
        self._links = links
        self._filing = filing
        self._watch = watch
        self._subjects = Subjects(host, people)

    async def answer(self, response: Response) -> Receipt:
        with self._watch.clicking(response.person.channel, response.interrupt_id) as span:
            receipt = await self._answer(response)
            span.note(ok=receipt.ok, code=receipt.code)
            return receipt

    async def _answer(self, response: Response) -> Receipt:
        scope, reader = _scope(response), self._people.reader(response.person)
        words = words_of(reader.locale)
        before = await self._host.store.replies.find(scope)
        if before is not None:
            return await self._again(before, response)
        interrupt = await self._host.store.log.interrupt(response.interrupt_id)
        if interrupt is None:
            return Receipt(False, words("receipt.gone"), "not_found")
        try:
            principal = await self._accounts.of(response.person, interrupt)
        except Refusal as refusal:
            return await self._refused(refusal, interrupt, response)
        value = response.value
        if response.action != "answer":
            value = {**(value if isinstance(value, dict) else {}), "action": response.action}
        note = words(f"receipt.{response.action}")

        def keep(_: State) -> Reply:
            return Reply(scope, "", 200, orjson.dumps({"message": note}))

        via = "web" if response.person.channel == "principal" else response.person.channel
        answer = Answer(principal, value, via)
        try:
            state = await self._host.resolve(response.interrupt_id, answer, keep)
        except AlreadyReplied as again:
            return await self._again(again.reply, response)
        except StoreUnavailable as away:
            raise Refusal("sayso.unavailable", words("receipt.try_again")) from away
        except Refusal as refusal:
            return await self._refused(refusal, interrupt, response)
        card = self._card(state.interrupt, reader)
        if state.interrupt.status == "open" and card.progress and response.action != "ask":
            note = words("receipt.vote", progress=card.progress)
        return Receipt(True, note, card=card)

    async def look(self, interrupt_id: str, person: Person) -> Card | None:
        interrupt = await self._host.store.log.interrupt(interrupt_id)
        if interrupt is None:
            return None
        link = await self._links.make(interrupt_id, person)
        return await self._subjects.card(interrupt, self._people.reader(person), link)

    async def barred(self, interrupt_id: str, person: Person) -> str:
        interrupt = await self._host.store.log.interrupt(interrupt_id)
        if interrupt is None:
            return ""
        try:
            principal = await self._accounts.of(person, interrupt)
            check_eligible(interrupt, principal, self._host.policy)
        except Refusal as refusal:
            if refusal.code == "sayso.unavailable":
                raise
            return spoken(await self._naming(refusal, interrupt), self._people.reader(person))
        return ""

    async def turn(self, channel: str, thread_ref: Ref) -> str | None:
        found = await self._host.store.deliveries.find_thread(channel, thread_ref)
        if found is None:
            return None
        conversation = await self._host.store.log.conversation(*found)
        run = await self._host.store.log.run(conversation.run_id) if conversation else None
        for wait in run.open if run else ():
            if wait.kind == "conversation.exchange":
                interrupt = await self._host.store.log.interrupt(wait.interrupt_id)
                if interrupt and interrupt.data["conversationId"] == found[1]:
                    return wait.interrupt_id
        return None

    async def counted(self, channel: str, dedupe: str) -> bool:
        return await self._host.store.replies.find(_act(channel, dedupe)) is not None

    def form(self, card: Card, action: str) -> Form | None:
        return searchable(form_for(card, action), self._host.options)

    async def options(
        self, interrupt_id: str, person: Person, action: str, field_id: str, query: str
    ) -> tuple[Choice, ...]:
        interrupt = await self._host.store.log.interrupt(interrupt_id)
        if interrupt is None or interrupt.status != "open":
            return ()
        principal = await self._accounts.of(person, interrupt)
        place, host = (action, field_id), self._host
        return await found_options(interrupt, principal, place, query, host.options, host.policy)

    async def event(self, source: str, event: InboundEvent) -> str:
        shelved = shelved_event(source, self._filing[source], event, self._host.clock())
        try:
            new = await self._host.store.shelf.file(shelved, event.raw)
        except StoreUnavailable as away:
            raise Refusal("sayso.unavailable", "The event was not stored. Send it again.") from away
        self._host.waiters.wake("shelf")
        return "stored" if new else "duplicate"

    async def _again(self, kept: Reply, response: Response) -> Receipt:
        self._watch.metrics.resolved(response.person.channel, "replayed")
        card = None
        interrupt = await self._host.store.log.interrupt(response.interrupt_id)
        if interrupt is not None:
            card = self._card(interrupt, self._people.reader(response.person))
        return Receipt(True, orjson.loads(kept.body)["message"], card=card)

    async def _refused(self, refusal: Refusal, interrupt: Interrupt, response: Response) -> Receipt:
        current = await self._host.store.log.interrupt(response.interrupt_id) or interrupt
        reader = self._people.reader(response.person)
        words = words_of(reader.locale)
        card = await self._subjects.card(current, reader)
        errors: list[dict[str, Any]] = refusal.details.get("errors", [])
        form = form_for(card, response.action)
        fields = errors_to_fields(form, errors, words) if form and errors else {}
        log.info(
            "answer refused",
            interrupt=interrupt.interrupt_id,
            code=refusal.code,
            channel=response.person.channel,
        )
        refusal = await self._naming(refusal, interrupt)
        return Receipt(False, spoken(refusal, reader), refusal.code, fields, card)

    async def _naming(self, refusal: Refusal, interrupt: Interrupt) -> Refusal:
        """The refusal of somebody who is in no list, with the names that people know."""
        policy = self._host.policy
        if refusal.code != "forbidden" or refusal.message != who_may(interrupt, policy):
            return refusal
        called = await self._accounts.called(interrupt)
        return Refusal("forbidden", who_may(interrupt, policy, called))

    def _card(self, interrupt: Interrupt, reader: Reader) -> Card:
        return card_of(interrupt, self._people.names(), reader=reader)


def spoken(refusal: Refusal, reader: Reader) -> str:
    """The host's own sentence, which says most; to those who read another language, what its code
    is called there."""
    words, key = words_of(reader.locale), f"refused.{refusal.code}"
    return refusal.message if reader.locale == DEFAULT or not words.has(key) else words(key)


def _scope(response: Response) -> str:
    """Of the act alone, not of the interrupt: a reply that is delivered again, when the next turn of
    its thread is open already, is still the answer to the turn before."""
    return _act(response.person.channel, response.dedupe)


def _act(channel: str, dedupe: str) -> str:
    text = f"{channel}\0{dedupe}"
    return "act:" + hashlib.sha256(text.encode()).hexdigest()
