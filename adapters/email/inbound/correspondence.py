"""What receiving has to know of what was sent: the ids and the words of our mails, and a short answer.

An acknowledgement is automatic and says so (`auto-replied`, null sender, RFC 3834), so no machine answers it;
it goes to the address that we wrote to, whoever wrote back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from markupsafe import escape

from adapters.channel import Delivery, DeliveryFailed
from adapters.email import render
from adapters.email.inbound.desk import Saying
from adapters.email.inbound.quotes import Sent
from adapters.email.message import Envelope, message_id
from adapters.email.offers import offer_of
from adapters.email.settings import EmailSettings
from adapters.email.transports.port import Outgoing
from adapters.languages.catalogue import Words, words_of
from adapters.views import Card

log = structlog.get_logger(__name__)

Send = Callable[[Outgoing], Awaitable[Any]]

_KINDS: Final = ("asked", "ended")


class Correspondence:
    """Implements `desk.Post`. `thread` is the conversation of an interrupt, "" when it has none."""

    def __init__(
        self,
        settings: EmailSettings,
        send: Send,
        thread: Callable[[str], Awaitable[str]],
    ) -> None:
        self._settings = settings
        self._send = send
        self._thread = thread

    async def issued(self, card: Card, address: str) -> frozenset[str]:
        """The ids that mails about this card have, or had before a provider changed them: their thread's
        root stands in the References of each."""
        domain = self._settings.domain
        thread = await self._thread(card.interrupt_id)
        about = ("c", thread) if thread else ("i", card.interrupt_id)
        ids = [message_id(domain, kind, card.interrupt_id, address) for kind in _KINDS]
        return frozenset((*ids, message_id(domain, "root", *about)))

    def sent(self, card: Card, address: str, handle: str) -> Sent:
        """What stands in the mail that asked, made once more from the card."""
        name, sender = self._settings.sender
        delivery = Delivery(address, card, link=card.link)
        offer = offer_of(card, handle, self._settings.replies)
        text = render.question(delivery, self._settings.public_url, offer).text
        return Sent.of((sender, name) if name else (sender,), text)

    async def say(self, address: str, saying: Saying) -> None:
        """One acknowledgement. A mail that can't be sent now is let go: nothing hangs on it."""
        if saying.card is None:
            return
        name, sender = self._settings.sender
        card = saying.card
        subject = render.subject_of(Delivery(address, card))
        mail = acknowledgement(saying, f"Re: {subject}", words_of(card.reader.locale))
        envelope = Envelope(
            sender_name=name,
            sender=sender,
            recipient=address,
            message_id=message_id(
                self._settings.domain, "said", card.interrupt_id, address, saying.in_reply_to
            ),
            references=saying.references,
            in_reply_to=saying.in_reply_to,
            automatic="auto-replied",
            language=card.reader.locale,
        )
        try:
            await self._send(Outgoing(mail, envelope, datetime.now(UTC)))
        except (DeliveryFailed, ValueError) as failure:
            log.warning(
                "mail.not_acknowledged", interrupt=card.interrupt_id, error=str(failure)[:200]
            )


def acknowledgement(saying: Saying, subject: str, words: Words) -> render.Mail:
    """The mail that says what became of a reply. Pure.

    Nothing of the reply is repeated: its words may be a stranger's, and this mail comes from us.
    """
    card = saying.card
    link = card.link if card is not None else ""
    paragraphs = [words(f"ack.{saying.kind}"), saying.detail]
    if link and saying.kind != "over":
        paragraphs.append(f"{words('mail.answer_here')}\n{link}")
    shown = [each for each in paragraphs if each]
    html = "".join(
        f"<p>{'<br>'.join(str(escape(line)) for line in each.splitlines())}</p>\n" for each in shown
    )
    if link:
        linked = f'<a href="{escape(link)}">{escape(link)}</a>'
        html = html.replace(str(escape(link)), linked)
    return render.Mail(
        subject,
        "\n\n".join(shown) + "\n",
        f'<!doctype html>\n<html lang="{words.locale}" dir="{words("language.direction")}"><head>'
        f'<meta charset="utf-8"><title>{escape(subject)}</title></head><body>\n{html}</body></html>\n',
    )
