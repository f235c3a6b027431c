"""A mail server on loopback that keeps what it is given."""

from __future__ import annotations

import asyncio
import email
import email.policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope


class MailServer:
    """Use as `async with`. `mails` are (recipients, mail), in the order of their arrival.

    `port` 0 takes any free one; a server that comes back takes the one it had.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self.mails: list[tuple[list[str], EmailMessage]] = []
        self.senders: list[str] = []
        self.url = ""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> MailServer:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: SMTP(self, loop=loop, hostname="mail.test"), "127.0.0.1", self._port
        )
        self.url = f"smtp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        """Called by the server with each mail."""
        assert isinstance(envelope.content, bytes)
        read = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(read, EmailMessage)
        self.senders.append(str(envelope.mail_from))
        self.mails.append((list(envelope.rcpt_tos), read))
        return "250 OK"
