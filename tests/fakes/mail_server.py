"""A mail server on loopback that keeps what it is given."""

from __future__ import annotations

import asyncio
import base64
import email
import email.policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, auth_mechanism


class MailServer:
    """Use as `async with`. `mails` are (recipients, mail), in the order of their arrival.

    `port` 0 takes any free one; a server that comes back takes the one it had. With `tokens` a client has to
    show one of them for the user `sayso` (XOAUTH2), and `shown` are those that were.
    """

    def __init__(self, port: int = 0, tokens: set[str] | None = None) -> None:
        self._port = port
        self.tokens = tokens
        self.shown: list[str] = []
        self.mails: list[tuple[list[str], EmailMessage]] = []
        self.senders: list[str] = []
        self.url = ""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> MailServer:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: SMTP(
                self,
                loop=loop,
                hostname="mail.test",
                auth_required=self.tokens is not None,
                auth_require_tls=False,
                auth_exclude_mechanism=("LOGIN", "PLAIN") if self.tokens is not None else (),
            ),
            "127.0.0.1",
            self._port,
        )
        user = "" if self.tokens is None else "sayso@"
        self.url = f"smtp://{user}127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @auth_mechanism("XOAUTH2")
    async def auth_XOAUTH2(self, server: SMTP, args: list[str]) -> AuthResult:
        """As Gmail does: what is wrong is a challenge, and after the client's empty line a 535."""
        said = base64.b64decode(args[1]).decode()
        prefix = "user=sayso\1auth=Bearer "
        token = said.removeprefix(prefix).removesuffix("\1\1")
        self.shown.append(token)
        if said == f"{prefix}{token}\1\1" and token in (self.tokens or ()):
            return AuthResult(success=True)
        await server.challenge_auth('{"status":"400","schemes":"Bearer"}')
        return AuthResult(success=False, handled=False)

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        """Called by the server with each mail."""
        assert isinstance(envelope.content, bytes)
        read = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(read, EmailMessage)
        self.senders.append(str(envelope.mail_from))
        self.mails.append((list(envelope.rcpt_tos), read))
        return "250 OK"
