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
from adapters.views import Card, Form, Person, Receipt
from gateway.links import AnswerLinks
from gateway.people import People
from gateway.shelving import Filing, shelved_event
from gateway.watch import Watch
from host.decisions.resolve import Answer
from host.decisions.state import Interrupt, State
from host.host import Host
from host.journal import AlreadyReplied
from host.store.records import Reply, StoreUnavailable
from schemas.errors import Refusal

log = structlog.get_logger("sayso.intake")

_NOTES = {
    "accept": "Approved. Thank you.",
    "reject": "Rejected. Thank you.",
    "refine": "Sent back. Thank you.",
    "edit-accept": "Approved with your changes. Thank you.",
    "ask": "Your question was passed on.",
    "answer": "Sent. Thank you.",
}


class Intake:
    """Implements `adapters.channel.Intake`."""

    def __init__(
        self,
        host: Host,
        people: People,
        links: AnswerLinks,
        filing: dict[str, Filing],
        watch: Watch,
    ) -> None:
        self._host = host
        self._people = people
        self._links = links
        self._filing = filing
        self._watch = watch

    async def answer(self, response: Response) -> Receipt:
        with self._watch.clicking(response.person.channel, response.interrupt_id) as span:
            receipt = await self._answer(response)
            span.note(ok=receipt.ok, code=receipt.code)
            return receipt

    async def _answer(self, response: Response) -> Receipt:
        scope = _scope(response)
        before = await self._host.store.replies.find(scope)
        if before is not None:
            return await self._again(before, response)
        interrupt = await self._host.store.log.interrupt(response.interrupt_id)
        if interrupt is None:
            return Receipt(False, "This request does not exist (any more).", "not_found")
        principal = self._people.of(response.person, interrupt)
        value = response.value
        if response.action != "answer":
            value = {**(value if isinstance(value, dict) else {}), "action": response.action}
        note = _NOTES[response.action]

        def keep(_: State) -> Reply:
            return Reply(scope, "", 200, orjson.dumps({"message": note}))

        via = "web" if response.person.channel == "principal" else response.person.channel
        answer = Answer(principal, value, via)
        try:
            state = await self._host.resolve(response.interrupt_id, answer, keep)
        except AlreadyReplied as again:
            return await self._again(again.reply, response)
        except StoreUnavailable as away:
            raise Refusal("sayso.unavailable", "Not recorded yet. Please try again.") from away
        except Refusal as refusal:
            return await self._refused(refusal, interrupt, response)
        return Receipt(True, self._note(note, state), card=self._card(state.interrupt))

    async def look(self, interrupt_id: str, person: Person) -> Card | None:
        interrupt = await self._host.store.log.interrupt(interrupt_id)
        if interrupt is None:
            return None
        link = await self._links.make(interrupt_id, person)
        return card_of(interrupt, self._people.names(), link)

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

    def form(self, card: Card, action: str) -> Form | None:
        return form_for(card, action)

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
            card = self._card(interrupt)
        return Receipt(True, orjson.loads(kept.body)["message"], card=card)

    async def _refused(self, refusal: Refusal, interrupt: Interrupt, response: Response) -> Receipt:
        current = await self._host.store.log.interrupt(response.interrupt_id) or interrupt
        card = self._card(current)
        errors: list[dict[str, Any]] = refusal.details.get("errors", [])
        form = form_for(card, response.action)
        fields = errors_to_fields(form, errors) if form and errors else {}
        log.info(
            "answer refused",
            interrupt=interrupt.interrupt_id,
            code=refusal.code,
            channel=response.person.channel,
        )
        return Receipt(False, refusal.message, refusal.code, fields, card)

    def _card(self, interrupt: Interrupt) -> Card:
        return card_of(interrupt, self._people.names())

    def _note(self, note: str, state: State) -> str:
        card = self._card(state.interrupt)
        waiting = state.interrupt.status == "open" and card.progress
        return f"Your vote counts. {card.progress}." if waiting else note


def _scope(response: Response) -> str:
    """Of the act alone, not of the interrupt: a reply that is delivered again, when the next turn of
    its thread is open already, is still the answer to the turn before."""
    text = f"{response.person.channel}\0{response.dedupe}"
    return "act:" + hashlib.sha256(text.encode()).hexdigest()
