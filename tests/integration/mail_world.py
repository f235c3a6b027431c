"""A gateway that mails and takes replies, with real mail servers on both sides."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any

import aiosmtplib
import pytest

from adapters.email.app import EmailChannel
from adapters.email.inbound.app import InboundMail
from tests.fakes.mail_server import MailServer
from tests.integration.conftest import Api

PLACE = "r.example.com"
AUTHSERV = "mx.example.com"
_NUMBERS = itertools.count(1)


@dataclass
class Office:
    """The gateway, the server that its mail goes to, and where replies are handed in."""

    api: Api
    mail: MailServer
    inbound: InboundMail
    stamp: str = "dmarc=pass header.from={domain}"
    extra: dict[str, str] = field(default_factory=dict)

    async def mails(self, count: int) -> EmailMessage:
        """The `count`th mail that went out."""
        async with asyncio.timeout(60):
            while len(self.mail.mails) < count:
                await asyncio.sleep(0.01)
        return self.mail.mails[count - 1][1]

    def reply(
        self,
        to: EmailMessage,
        text: str,
        sender: str = "Ada <ada@example.com>",
        **headers: str,
    ) -> EmailMessage:
        """A reply to a mail of ours, as a mail program writes it and our server stamps it."""
        made = EmailMessage(policy=SMTP)
        domain = sender.rpartition("@")[2].rstrip(">")
        if self.stamp:
            stamp = self.stamp.format(domain=domain)
            made["Authentication-Results"] = f"{AUTHSERV}; {stamp}"
        made["From"] = sender
        made["To"] = str(to["Reply-To"])
        made["Subject"] = f"Re: {to['Subject']}"
        made["Date"] = format_datetime(datetime.now(UTC))
        made["Message-ID"] = f"<m{next(_NUMBERS)}@{domain}>"
        made["In-Reply-To"] = str(to["Message-ID"])
        made["References"] = f"{to['References'] or ''} {to['Message-ID']}".strip()
        for name, value in headers.items():
            del made[name.replace("_", "-")]
            if value:
                made[name.replace("_", "-")] = value
        plain = to.get_body(("plain",))
        assert plain is not None
        quoted = "\n".join(f"> {line}" for line in plain.get_content().splitlines())
        desk = str(to["From"])
        made.set_content(f"{text}\n\nOn Monday, 30 Nov 2026, {desk} wrote:\n{quoted}\n")
        return made

    async def hand_in(
        self,
        mail: EmailMessage | bytes,
        recipient: str = "",
        sender: str = "ada@example.com",
    ) -> str:
        """Over SMTP, as the server in front does. Returns what was answered at the end."""
        host, _, port = self.inbound.listeners[0].address.rpartition(":")
        raw = mail if isinstance(mail, bytes) else mail.as_bytes()
        to = recipient or str(mail["To"] if isinstance(mail, EmailMessage) else "")
        client = aiosmtplib.SMTP(hostname=host, port=int(port), start_tls=False, timeout=20)
        await client.connect()
        try:
            _, said = await client.sendmail(sender, [to], raw)
            return said
        except aiosmtplib.SMTPRecipientsRefused as refused:
            first = refused.recipients[0]
            return f"{first.code} {first.message}"
        except aiosmtplib.SMTPResponseException as refused:
            return f"{refused.code} {refused.message}"
        finally:
            client.close()

    async def detail(self, record: dict[str, Any]) -> dict[str, Any]:
        """The interrupt's own record."""
        from schemas.ids import path_segment

        path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
        status, body, _ = await self.api.call("GET", path)
        assert status == 200, body
        return dict(body)

    async def ask(self, payload: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Ask Ada by mail."""
        run = await self.api.run()
        return await self.api.ask(run, payload, **{"notify": ["email:ada@example.com"], **more})


Opening = Callable[..., Awaitable[Office]]


@pytest.fixture
async def opened(start: Callable[..., Awaitable[Api]]) -> AsyncIterator[Opening]:
    """Opens offices; `inbound` takes settings of `[email.inbound]`, the rest are others."""
    servers: list[MailServer] = []

    async def opening(inbound: dict[str, Any] | None = None, **settings: Any) -> Office:
        mail = await MailServer().__aenter__()
        servers.append(mail)
        email = {
            "smtp_url": mail.url,
            "from": "Sayso Desk <sayso@mail.example.com>",
            "inbound": {
                "address": PLACE,
                "authserv_id": AUTHSERV,
                "smtp": "127.0.0.1:0",
                **(inbound or {}),
            },
        }
        api = await start(email=email, **settings)
        channel = api.gateway.channels["email"]
        assert isinstance(channel, EmailChannel)
        assert isinstance(channel.receiving, InboundMail)
        return Office(api, mail, channel.receiving)

    yield opening
    for mail in servers:
        await mail.__aexit__()


@pytest.fixture
async def office(opened: Opening) -> Office:
    return await opened()
