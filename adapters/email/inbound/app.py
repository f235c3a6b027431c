"""Receiving, wired: the inbox, and the ways in that are set up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from adapters.email.inbound import dkim_check
from adapters.email.inbound.confined import Confined
from adapters.email.inbound.correspondence import Correspondence, Send
from adapters.email.inbound.desk import Desk
from adapters.email.inbound.inbox import Inbox
from adapters.email.inbound.ledger import Ledger
from adapters.email.inbound.reports import Recall, Reports
from adapters.email.inbound.sender import Trust
from adapters.email.inbound.settings import InboundSettings
from adapters.email.settings import EmailSettings
from host.store.documents import Documents

if TYPE_CHECKING:
    from adapters.email.inbound.imap import Mailbox
    from adapters.email.inbound.listener import Listener
    from adapters.email.oauth import Vault


@dataclass(frozen=True, slots=True)
class Lent:
    """What the gateway lends to receiving. `thread` is the conversation of an interrupt, "" when it has
    none; `recall` has a mail looked at again that never arrived."""

    desk: Desk
    documents: Documents
    thread: Callable[[str], Awaitable[str]]
    recall: Recall
    lookup: dkim_check.Lookup = dkim_check.dns_txt


class InboundMail:
    """Every way in, and the one inbox behind them. Libraries are imported for what is set up alone."""

    def __init__(
        self,
        settings: InboundSettings,
        email: EmailSettings,
        lent: Lent,
        send: Send,
        vault: Vault | None = None,
    ) -> None:
        self._vault = vault
        self.ledger = Ledger(lent.documents, lent.desk.clock)
        reports = Reports(self.ledger, lent.recall)
        self.confined = Confined(settings.max_bytes)
        self.inbox = Inbox(
            settings.place,
            email.domain,
            lent.desk,
            self.ledger,
            Correspondence(email, send, lent.thread),
            reports.take,
            lent.lookup,
            self.confined.call,
        )
        self._settings = settings
        self._lent = lent
        self._trust = Trust(settings.authserv_id, settings.dkim)
        self.listeners: list[Listener] = []
        self._mailbox: Mailbox | None = None

    def routes(self) -> Sequence[web.RouteDef]:
        """The webhooks of the providers that are set up."""
        settings = self._settings
        if not (settings.ses_topics or settings.postmark_password or settings.mailgun_key) and (
            not settings.sendgrid_key
        ):
            return ()
        from adapters.email.inbound.hooks import Hooks

        return Hooks(settings, self.inbox, self.ledger, self._lent.desk.clock).routes()

    async def unreachable(self, interrupt_id: str, address: str) -> str:
        """See `adapters.email.app.Receiving`."""
        return await self.ledger.unreachable(interrupt_id, address)

    async def start(self) -> None:
        """Listen and read. Raises `OSError` when it can't listen where it should."""
        settings = self._settings
        if settings.smtp or settings.lmtp:
            from adapters.email.inbound.listener import Listener

            size, place, inbox = settings.max_bytes, settings.place, self.inbox
            if settings.smtp:
                self.listeners.append(
                    Listener("smtp", settings.smtp, place, inbox, self._trust, size)
                )
            if settings.lmtp:
                self.listeners.append(
                    Listener("lmtp", settings.lmtp, place, inbox, self._trust, size)
                )
        for listener in self.listeners:
            await listener.start()
        if settings.imap is not None:
            from adapters.email.inbound.imap import Mailbox

            self._mailbox = Mailbox(
                settings.imap,
                settings.place,
                settings.max_bytes,
                self.inbox,
                self._trust,
                self._lent.documents,
                self._lent.desk,
                self._vault,
            )
            self._mailbox.start()

    async def stop(self) -> None:
        """Take nothing more, and finish what is being taken."""
        for listener in self.listeners:
            await listener.stop()
        if self._mailbox is not None:
            await self._mailbox.stop()
        await self.confined.close()
