"""A mail that arrived at one of our addresses -> what became of it. The one path for all ways in.

Order matters. Whose address it is; that it is not a loop; that it can be read; that a person wrote it; that
it is new; who that person is and which mail of ours they answer; and only then what they say. Whatever falls
out on the way decides nothing, and leaves a note on the interrupt that an operator can read.

`take` returns when what became of it is durable. Ways in acknowledge a mail after that and not before.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import structlog

from adapters.channel import Response, Visitor
from adapters.email.address import canonical
from adapters.email.codes import short_codes
from adapters.email.handles import Handle, parse_reply_address, reply_address
from adapters.email.inbound import dkim_check
from adapters.email.inbound.authenticate import authenticate, handles_in, unbound
from adapters.email.inbound.bounds import Unreadable
from adapters.email.inbound.confined import Call
from adapters.email.inbound.desk import Arrival, Became, Desk, Post, Report, Saying
from adapters.email.inbound.ledger import Ledger
from adapters.email.inbound.machines import Machine, machine_of
from adapters.email.inbound.meaning import Answer, Comment, Meaning, Policy, Wrong, meaning_of
from adapters.email.inbound.reading import Mail, Reading, read, taken_apart
from adapters.email.inbound.sender import Sender
from adapters.views import Card, Person, Receipt
from host.notes import Note

log = structlog.get_logger(__name__)


class Inbox:
    """One per gateway. `place` is where our addresses are, `domain` the one that our mails come from.
    `call` computes what a stranger's bytes reach (`confined`)."""

    def __init__(
        self,
        place: str,
        domain: str,
        desk: Desk,
        ledger: Ledger,
        post: Post,
        report: Report,
        lookup: dkim_check.Lookup,
        call: Call,
    ) -> None:
        self._place = place
        self._domain = domain
        self._desk = desk
        self._ledger = ledger
        self._post = post
        self._report = report
        self._lookup = lookup
        self._call = call

    async def knows(self, handle: Handle) -> Literal["yes", "no", "later"]:
        """Whether this is an address of ours, and takes a mail now. Asked before a mail's text is."""
        if await self._desk.links.by_mail_handle(handle.text) is None:
            return "no"
        return "yes" if await self._ledger.takes(handle.text) else "later"

    async def take(self, arrival: Arrival) -> Became:
        """What became of it. Raises `Refusal` (`sayso.unavailable`) or `StoreUnavailable` when it
        could not be kept: the way in tries again later."""
        visitor = await self._desk.links.by_mail_handle(arrival.handle.text)
        if visitor is None:
            return "gone"
        await self._ledger.took(arrival.handle.text)
        became = await self._take(arrival, visitor)
        log.info(
            "mail came in",
            interrupt=visitor.interrupt_id,
            use=arrival.handle.use,
            became=became,
            bytes=len(arrival.raw),
        )
        return became

    async def reported(self, mark: str, machine: Machine) -> Became:
        """What became of a provider's report about the mail with this mark (`Envelope.mark`): the same
        as of a delivery report that arrives at its bounce address. Raises `StoreUnavailable`."""
        handle = parse_reply_address(reply_address(mark, self._place), self._place)
        if handle is None or handle.use != "bounce":
            return "gone"
        visitor = await self._desk.links.by_mail_handle(handle.text)
        if visitor is None:
            return "gone"
        became = await self._report(visitor, machine)
        log.info("mail was reported on", interrupt=visitor.interrupt_id, became=became)
        return became

    async def _take(self, arrival: Arrival, visitor: Visitor) -> Became:
        try:
            mail = Mail(arrival.raw, *await self._call(taken_apart, arrival.raw))
        except Unreadable as why:
            return await self._unreadable(arrival, visitor, str(why))
        machine = machine_of(mail, arrival.mail_from, self._domain)
        if arrival.handle.use == "bounce":
            return await self._report(visitor, machine) if machine else "automatic"
        if machine is not None:
            return "automatic"
        seen = await self._ledger.seen(mail.message_id) if mail.message_id else ""
        if seen:
            return await self._replayed(arrival, visitor, mail, seen)
        return await self._read(arrival, visitor, mail)

    async def _read(self, arrival: Arrival, visitor: Visitor, mail: Mail) -> Became:
        card = await self._desk.intake.look(visitor.interrupt_id, visitor.person)
        if card is None:
            return "gone"
        policy = await self._desk.policy(visitor.interrupt_id)
        if policy == "off":
            await self._say(visitor, mail, Saying("off", card=card))
            return "off"
        sender = await self._sender(arrival, visitor, mail, card)
        if not sender.by:
            reading = await self._said(mail, visitor, card)
            await self._note(visitor, mail, sender, sender.why, reading.text)
            await self._say(visitor, mail, Saying("unsure", card=card))
            return "noted"
        became = await self._heard(visitor, mail, sender, card, policy)
        # Only of a sender who is proven: a copy that a list has damaged must not shut out the original.
        await self._ledger.keep_seen(mail.message_id, f"{became} {arrival.handle.text[:8]}")
        return became

    async def _heard(
        self, visitor: Visitor, mail: Mail, sender: Sender, card: Card, policy: Policy
    ) -> Became:
        """What the right person said, and what comes of it."""
        if mail.body.problem:
            await self._note(visitor, mail, sender, mail.body.problem, "")
            await self._say(visitor, mail, Saying("unreadable", mail.body.problem, card))
            return "unreadable"
        reading = await self._said(mail, visitor, card)
        if card.state != "open":
            return await self._late(reading, visitor, mail, sender, card)
        form = self._desk.intake.form(card, "answer")
        meaning = meaning_of(reading, card, form, policy)
        return await self._act(meaning, visitor, mail, sender, card)

    async def _late(
        self, reading: Reading, visitor: Visitor, mail: Mail, sender: Sender, card: Card
    ) -> Became:
        """It came after the end of what it answers. People reply to any mail of a conversation: to them
        it is one thread. So it is the answer of the turn that is open now, if they were asked that one
        before they wrote."""
        if await self._desk.intake.counted(visitor.person.channel, _act_of(visitor, mail)):
            return "replayed"  # it was an answer, and the gateway ended before that could be said
        turn = await self._desk.turn(visitor.interrupt_id, visitor.person.id)
        now = Visitor(turn.interrupt_id, visitor.person, visitor.handle) if turn else visitor
        current = await self._desk.intake.look(now.interrupt_id, now.person) if turn else None
        if turn is None or current is None or current.state != "open":
            await self._note(visitor, mail, sender, "the request had ended", reading.text)
            await self._say(visitor, mail, Saying("over", card.outcome, card))
            return "over"
        policy = await self._desk.policy(now.interrupt_id)
        if policy == "off":
            await self._say(now, mail, Saying("off", card=current))
            return "off"
        written = mail.date.timestamp() if mail.date is not None else 0.0
        if written < turn.asked_at // 1000:
            why = "it answers an earlier turn, and was written before this one was asked"
            await self._note(now, mail, sender, why, reading.text)
            await self._say(now, mail, Saying("earlier", current.title, current))
            return "over"
        form = self._desk.intake.form(current, "answer")
        return await self._act(
            meaning_of(reading, current, form, policy), now, mail, sender, current
        )

    async def _act(
        self, meaning: Meaning, visitor: Visitor, mail: Mail, sender: Sender, card: Card
    ) -> Became:
        if isinstance(meaning, Wrong):
            lines = [f"{label}: {sentence}" for label, sentence in meaning.problems.items()]
            await self._say(visitor, mail, Saying("wrong", "\n".join(lines), card))
            return "refused"
        if isinstance(meaning, Answer):
            receipt = await self._answer(visitor, mail, meaning.action, meaning.value)
            if not receipt.ok:
                await self._note(visitor, mail, sender, receipt.message, "")
                await self._say(visitor, mail, Saying("refused", receipt.message, card))
                return "refused"
            if receipt.card is not None and receipt.card.state == "open":
                await self._say(visitor, mail, Saying("counted", receipt.message, receipt.card))
            return "answered"
        return await self._comment(meaning, visitor, mail, sender, card)

    async def _comment(
        self, comment: Comment, visitor: Visitor, mail: Mail, sender: Sender, card: Card
    ) -> Became:
        """Pass it on as a question where the request takes some; else it is kept for the operator."""
        became: Became = "noted"
        if comment.text.strip() and any(action.id == "ask" for action in card.actions):
            receipt = await self._answer(visitor, mail, "ask", {"question": comment.text})
            became = "commented" if receipt.ok else "noted"
        if became == "noted" or comment.why:
            why = comment.why or "its first line is no answer"
            await self._note(visitor, mail, sender, why, comment.text)
        await self._say(visitor, mail, Saying("unclear", card=card))
        return became

    async def _answer(
        self,
        visitor: Visitor,
        mail: Mail,
        action: Literal["accept", "reject", "answer", "ask"],
        value: object,
    ) -> Receipt:
        act = _act_of(visitor, mail)
        return await self._desk.intake.answer(
            Response(visitor.interrupt_id, visitor.person, action, value, act)
        )

    async def _sender(self, arrival: Arrival, visitor: Visitor, mail: Mail, card: Card) -> Sender:
        """The person whom the address belongs to, or `by` is "" and `why` says why not."""
        now = self._desk.clock() / 1000
        sender = await authenticate(mail, arrival.trust, now, self._lookup, self._call)
        if not sender.by:
            return sender
        if not self._is(visitor.person, sender.address):
            return Sender(sender.address, why="it comes from somebody else than it was sent to")
        others = handles_in(mail.head, self._place) - {arrival.handle}
        if others:
            return Sender(sender.address, why="it is addressed to more than one of our requests")
        spoken = not card.kind.startswith("conversation.")
        issued = await self._post.issued(card, visitor.person.id)
        why = unbound(mail, issued, card.reference if spoken else "", now)
        return Sender(sender.address, why=why) if why else sender

    def _is(self, person: Person, address: str) -> bool:
        try:
            own = canonical(person.id)
        except ValueError:
            return False
        return own.lower() == address.lower() or self._desk.same(person, address)

    async def _said(self, mail: Mail, visitor: Visitor, card: Card) -> Reading:
        sent = self._post.sent(card, visitor.person.id, visitor.handle)
        codes = short_codes(visitor.handle)
        try:
            said: Reading = await self._call(read, mail.body, sent, card.reader.locale, codes)
        except Unreadable as why:
            return Reading("", doubt=str(why))
        return said

    async def _replayed(self, arrival: Arrival, visitor: Visitor, mail: Mail, seen: str) -> Became:
        """The same mail once more changes nothing. At another address it is worth a note: that is how
        somebody tries to spend a genuine answer twice."""
        if not seen.endswith(arrival.handle.text[:8]):
            why = "this very mail was here before, at another address"
            await self._note(visitor, mail, Sender(""), why, "")
        return "replayed"

    async def _unreadable(self, arrival: Arrival, visitor: Visitor, why: str) -> Became:
        if arrival.handle.use == "reply":
            once = hashlib.sha256(arrival.raw).hexdigest()
            note = Note("email", f"a mail could not be read: {why}")
            await self._ledger.note(visitor.interrupt_id, note, once)
        return "unreadable"

    async def _note(
        self, visitor: Visitor, mail: Mail, sender: Sender, why: str, text: str
    ) -> None:
        note = Note("email", why, sender.address, text)
        once = mail.message_id or hashlib.sha256(mail.raw).hexdigest()
        await self._ledger.note(visitor.interrupt_id, note, f"{once}\0{why}")

    async def _say(self, visitor: Visitor, mail: Mail, saying: Saying) -> None:
        """At most one for each request and person, to the address that we wrote to ourselves."""
        address = visitor.person.id
        if not await self._ledger.may_acknowledge(visitor.interrupt_id, address):
            return
        chain = (
            *mail.head.ids("references")[-20:],
            *([mail.message_id] if mail.message_id else []),
        )
        await self._post.say(
            address,
            Saying(saying.kind, saying.detail, saying.card, mail.message_id, chain),
        )


def _act_of(visitor: Visitor, mail: Mail) -> str:
    """Names what somebody does by one mail at one address of ours. Not the turn that it answers: brought
    again when the next one is open, it is still the answer to the one before."""
    act = hashlib.sha256(f"{mail.message_id}\0{visitor.handle}".encode()).hexdigest()
    return f"mail:{act}"
