"""The email channel: one mail that asks, and one in the same thread that says how it ended.

A mail can't be updated, so only those two are worth sending: a vote that changes the progress mails
nothing, and the link in the first mail always shows the current state.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from adapters.channel import Delivery, DeliveryFailed, Links, Ref, Shown
from adapters.email import render
from adapters.email.address import canonical
from adapters.email.handles import Use, reply_address
from adapters.email.message import Envelope, message_id
from adapters.email.offers import offer_of
from adapters.email.settings import EmailSettings
from adapters.email.transports.choose import transport_of
from adapters.email.transports.port import Outgoing
from adapters.views import Person, Reader

if TYPE_CHECKING:
    from adapters.email.oauth import Vault


class Receiving(Protocol):
    """The incoming half, where it is set up (`adapters.email.inbound`)."""

    def routes(self) -> Sequence[Any]:
        """Webhooks that bring mail."""

    async def start(self) -> None:
        """Listen."""

    async def stop(self) -> None:
        """Finish what is being taken."""

    async def unreachable(self, interrupt_id: str, address: str) -> str:
        """Why a mail about this interrupt did not and won't arrive there; "" as far as is known."""


class EmailChannel:
    """Email out (`adapters.channel.Channel`). Answers come in on the page that the mail links to,
    and where `links` makes handles and `settings.place` is set, as replies. `vault` keeps what a token
    endpoint renews.

    A `Ref` is `{"messageId", "mailed", "subject"}`: the id of the mail that asked as its recipient
    sees it ("" when none was sent), the card state that was mailed last, and the subject that holds
    the thread together.
    """

    name = "email"

    def __init__(
        self,
        settings: EmailSettings,
        links: Links | None = None,
        vault: Vault | None = None,
    ) -> None:
        self._settings = settings
        self._links = links if settings.place else None
        self._transport = transport_of(settings, vault)
        self.receiving: Receiving | None = None

    def routes(self) -> Sequence[Any]:
        """What brings mail by HTTP; nothing where none is received."""
        return self.receiving.routes() if self.receiving is not None else ()

    async def start(self) -> None:
        """Listen for what comes in. Going out opens nothing yet: a connection is made for the first
        mail, so a mail server that is away keeps nobody from starting."""
        if self.receiving is not None:
            await self.receiving.start()

    async def stop(self) -> None:
        """Finish what is being taken, and close the kept connections."""
        if self.receiving is not None:
            await self.receiving.stop()
        await self._transport.close()

    async def send(self, outgoing: Outgoing) -> str:
        """Hand over one mail that is no delivery: an acknowledgement. See `Transport.send`."""
        return await self._transport.send(outgoing)

    async def send_code(self, address: str, code: str, reader: Reader) -> None:
        """Mail the code that proves a link. Raises `DeliveryFailed`."""
        name, sender = self._settings.sender
        own = message_id(self._settings.domain, "code", address, code)
        try:
            recipient = canonical(address)
            envelope = Envelope(name, sender, recipient, own, language=reader.locale)
            mail = render.code(code, reader)
            await self._transport.send(Outgoing(mail, envelope, datetime.now(UTC)))
        except ValueError as unfit:
            raise DeliveryFailed(f"the mail can't be written: {unfit}", permanent=True) from unfit

    def check_address(self, address: str) -> str:
        """One plain address, its domain in lower case. Raises `ValueError` for anything else."""
        return canonical(address)

    async def show(self, delivery: Delivery) -> Shown:
        """Mail what this delivery adds to what was mailed already: often nothing.

        The same delivery twice mails once, as long as the ref of the first one is kept; after a
        crash in between, the second mail has the same message id. Raises `DeliveryFailed`.
        """
        card, ref = delivery.card, delivery.ref
        if why := await self._unreachable(delivery):
            if card.state == "open":
                # A bounce comes long after the mail was taken: this is where it is told.
                raise DeliveryFailed(why, permanent=True, code="undeliverable")
            kept = ref or {"messageId": "", "subject": ""}
            return Shown({**kept, "mailed": card.state})
        if ref is None and (card.state == "open" or self._closes_thread(delivery)):
            return await self._first(delivery)
        if ref is None:
            # Decided before anybody was asked here: nobody has to hear of it.
            return Shown({"messageId": "", "mailed": card.state, "subject": ""})
        if ref.get("mailed") == "open" and card.state != "open":
            if await self._wants_ending(delivery):
                ref = await self._ending(delivery, ref)
            return Shown({**ref, "mailed": card.state})
        return Shown(ref)

    async def _wants_ending(self, delivery: Delivery) -> bool:
        quiet = delivery.address.lower() in self._settings.quiet
        if quiet or not self._settings.endings:
            return False
        return not await self._unreachable(delivery)

    async def _unreachable(self, delivery: Delivery) -> str:
        if self.receiving is None:
            return ""
        return await self.receiving.unreachable(delivery.card.interrupt_id, delivery.address)

    async def _first(self, delivery: Delivery) -> Shown:
        """The mail that asks; in a conversation its first mail is the thread's root."""
        reply = await self._handle("reply", delivery)
        home = self._settings.public_url
        kind: Literal["asked", "ended"]
        if delivery.card.state == "open":
            kind = "asked"
            offer = offer_of(delivery.card, reply, self._settings.replies)
            mail = render.question(delivery, home, offer)
        else:
            kind = "ended"
            mail = render.ending(delivery, home, replies=bool(reply))
        parent = str((delivery.thread_ref or {}).get("messageId", ""))
        seen = await self._send(delivery, mail, self._id(delivery, kind), parent, reply)
        ref = {"messageId": seen, "mailed": delivery.card.state, "subject": mail.subject}
        fresh = delivery.thread is not None and delivery.thread_ref is None
        return Shown(ref, thread_ref={"messageId": seen} if fresh else None)

    async def _ending(self, delivery: Delivery, ref: Ref) -> Ref:
        reply = await self._handle("reply", delivery)
        mail = render.ending(delivery, self._settings.public_url, replies=bool(reply))
        subject = str(ref.get("subject") or mail.subject)
        # "Re:" is the one change of a subject that keeps a thread together everywhere.
        mail = render.Mail(f"Re: {subject}", mail.text, mail.html)
        parent = str(ref.get("messageId", ""))
        await self._send(delivery, mail, self._id(delivery, "ended"), parent, reply)
        return ref

    async def _send(
        self, delivery: Delivery, mail: render.Mail, own: str, parent: str, reply: str
    ) -> str:
        """One mail to one recipient, in the thread of its interrupt or conversation. Returns its id
        as the recipient sees it."""
        name, sender = self._settings.sender
        place = self._settings.place
        try:
            recipient = canonical(delivery.address)
            bounces = await self._handle("bounce", delivery)
            envelope = Envelope(
                sender_name=name,
                sender=sender,
                recipient=recipient,
                message_id=own,
                # The root is never sent. Some providers replace our message ids, and then this is
                # what still holds the thread together.
                references=(self._root(delivery), *([parent] if parent else [])),
                in_reply_to=parent,
                reply_to=reply_address(reply, place) if reply else "",
                bounces_to=reply_address(bounces, place) if bounces else "",
                language=delivery.card.reader.locale,
            )
            return await self._transport.send(Outgoing(mail, envelope, datetime.now(UTC)))
        except ValueError as unfit:
            raise DeliveryFailed(f"the mail can't be written: {unfit}", permanent=True) from unfit

    async def _handle(self, use: Use, delivery: Delivery) -> str:
        """The handle of the address at which replies (or bounces) of this mail arrive; "" where
        nothing is received, or no replies are read."""
        read = "off" not in (self._settings.replies, delivery.card.replies)
        if self._links is None or (use == "reply" and not read):
            return ""
        person = Person("email", delivery.address)
        return await self._links.mail_handle(use, delivery.card.interrupt_id, person)

    def _id(self, delivery: Delivery, kind: str) -> str:
        return message_id(self._settings.domain, kind, delivery.card.interrupt_id, delivery.address)

    def _root(self, delivery: Delivery) -> str:
        thread = delivery.thread
        about = ("c", thread.conversation_id) if thread else ("i", delivery.card.interrupt_id)
        return message_id(self._settings.domain, "root", *about)

    def _closes_thread(self, delivery: Delivery) -> bool:
        thread = delivery.thread
        return thread is not None and bool(thread.closed) and delivery.thread_ref is not None
