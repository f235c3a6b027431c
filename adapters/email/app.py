"""The email channel: one mail that asks, and one in the same thread that says how it ended.

A mail can't be updated, so only those two are worth sending: a vote that changes the progress mails
nothing, and the link in the first mail always shows the current state.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from adapters.channel import Delivery, DeliveryFailed, Ref, Shown
from adapters.email import render
from adapters.email.address import canonical
from adapters.email.client import SmtpClient
from adapters.email.message import Envelope, message_id, serialise
from adapters.email.settings import EmailSettings


class EmailChannel:
    """Email out (`adapters.channel.Channel`). Answers come in on the page that the mail links to.

    A `Ref` is `{"messageId", "mailed", "subject"}`: the id of the mail that asked ("" when none was
    sent), the card state that was mailed last, and the subject that holds the thread together.
    """

    name = "email"

    def __init__(self, settings: EmailSettings) -> None:
        self._settings = settings
        self._client = SmtpClient(settings)

    def routes(self) -> Sequence[Any]:
        """None: nothing comes in by mail."""
        return ()

    async def start(self) -> None:
        """Nothing to open: a connection is made for the first mail, so a mail server that is away
        keeps nobody from starting."""

    async def stop(self) -> None:
        """Close the kept connections."""
        await self._client.close()

    def check_address(self, address: str) -> str:
        """One plain address, its domain in lower case. Raises `ValueError` for anything else."""
        return canonical(address)

    async def show(self, delivery: Delivery) -> Shown:
        """Mail what this delivery adds to what was mailed already: often nothing.

        The same delivery twice mails once, as long as the ref of the first one is kept; after a
        crash in between, the second mail has the same message id. Raises `DeliveryFailed`.
        """
        card, ref = delivery.card, delivery.ref
        if ref is None and (card.state == "open" or self._closes_thread(delivery)):
            return await self._first(delivery)
        if ref is None:
            # Decided before anybody was asked here: nobody has to hear of it.
            return Shown({"messageId": "", "mailed": card.state, "subject": ""})
        if ref.get("mailed") == "open" and card.state != "open":
            return Shown(await self._ending(delivery, ref))
        return Shown(ref)

    async def _first(self, delivery: Delivery) -> Shown:
        """The mail that asks; in a conversation its first mail is the thread's root."""
        kind: Literal["asked", "ended"] = "asked" if delivery.card.state == "open" else "ended"
        own = self._id(delivery, kind)
        draw = render.question if kind == "asked" else render.ending
        mail = draw(delivery, self._settings.public_url)
        parent = str((delivery.thread_ref or {}).get("messageId", ""))
        await self._send(delivery, mail, own, parent)
        ref = {"messageId": own, "mailed": delivery.card.state, "subject": mail.subject}
        fresh = delivery.thread is not None and delivery.thread_ref is None
        return Shown(ref, thread_ref={"messageId": own} if fresh else None)

    async def _ending(self, delivery: Delivery, ref: Ref) -> Ref:
        mail = render.ending(delivery, self._settings.public_url)
        subject = str(ref.get("subject") or mail.subject)
        # "Re:" is the one change of a subject that keeps a thread together everywhere.
        mail = render.Mail(f"Re: {subject}", mail.text, mail.html)
        await self._send(delivery, mail, self._id(delivery, "ended"), str(ref.get("messageId", "")))
        return {**ref, "mailed": delivery.card.state}

    async def _send(self, delivery: Delivery, mail: render.Mail, own: str, parent: str) -> None:
        """One mail to one recipient, in the thread of its interrupt or conversation."""
        name, sender = self._settings.sender
        try:
            recipient = canonical(delivery.address)
            envelope = Envelope(
                sender_name=name,
                sender=sender,
                recipient=recipient,
                message_id=own,
                # The root is never sent. Some providers replace our message ids, and then this is
                # what still holds the thread together.
                references=(self._root(delivery), *([parent] if parent else [])),
                in_reply_to=parent,
            )
            message = serialise(mail, envelope, datetime.now(UTC))
        except ValueError as unfit:
            raise DeliveryFailed(f"the mail can't be written: {unfit}", permanent=True) from unfit
        await self._client.send(recipient, message)

    def _id(self, delivery: Delivery, kind: str) -> str:
        return message_id(self._settings.domain, kind, delivery.card.interrupt_id, delivery.address)

    def _root(self, delivery: Delivery) -> str:
        thread = delivery.thread
        about = ("c", thread.conversation_id) if thread else ("i", delivery.card.interrupt_id)
        return message_id(self._settings.domain, "root", *about)

    def _closes_thread(self, delivery: Delivery) -> bool:
        thread = delivery.thread
        return thread is not None and bool(thread.closed) and delivery.thread_ref is not None
