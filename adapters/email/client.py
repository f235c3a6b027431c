"""Hands mails to the mail server: a few kept connections, one mail at a time on each."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from dataclasses import dataclass
from typing import Final

import aiosmtplib
import structlog

from adapters.channel import DeliveryFailed
from adapters.email.message import Envelope
from adapters.email.oauth import AccessTokens
from adapters.email.settings import EmailSettings
from adapters.email.transports.port import Outgoing

log = structlog.get_logger(__name__)

IDLE: Final = 30.0
"""Seconds that a connection is kept without a mail: servers hang up after some minutes."""

_WHOLE: Final = 5  # one mail may take this many times the timeout of one command


@dataclass(slots=True)
class _Kept:
    smtp: aiosmtplib.SMTP
    since: float


class SmtpClient:
    """The transport of SMTP: a small pool. A connection on which anything went wrong is never used again."""

    def __init__(self, settings: EmailSettings, tokens: AccessTokens | None = None) -> None:
        self._settings = settings
        self._server = settings.server
        self._tokens = tokens
        self._free: list[_Kept] = []
        self._slots = asyncio.Semaphore(settings.connections)
        self._tls = _tls_context(settings)

    async def send(self, outgoing: Outgoing) -> str:
        """Hand one message over for one recipient. Raises `DeliveryFailed`.

        Once it returns the server has taken the message. When it fails half-way nobody knows, and a
        second try may send it twice; the message id is the same then.
        """
        message = outgoing.serialised()
        async with self._slots:
            try:
                async with asyncio.timeout(self._settings.timeout * _WHOLE):
                    await self._send(outgoing.envelope, message)
            except TimeoutError:
                raise DeliveryFailed("the mail server takes too long") from None
        return outgoing.envelope.message_id

    async def close(self) -> None:
        """Say goodbye on every kept connection."""
        while self._free:
            smtp = self._free.pop().smtp
            try:
                await smtp.quit(timeout=2)
            except (aiosmtplib.SMTPException, OSError):
                smtp.close()
        if self._tokens is not None:
            await self._tokens.close()

    async def _send(self, envelope: Envelope, message: bytes) -> None:
        try:
            smtp = await self._connection()
        except (aiosmtplib.SMTPException, OSError) as failure:
            raise _failed("can't reach the mail server", failure) from failure
        try:
            refused, _ = await smtp.sendmail(envelope.mail_from, [envelope.recipient], message)
            for code, said in refused.values():  # no exception, while another recipient is taken
                raise aiosmtplib.SMTPRecipientRefused(code, said, envelope.recipient)
        except (aiosmtplib.SMTPException, OSError) as failure:
            smtp.close()
            raise _failed("the mail server did not take the mail", failure) from failure
        except BaseException:
            smtp.close()
            raise
        self._free.append(_Kept(smtp, time.monotonic()))

    async def _connection(self) -> aiosmtplib.SMTP:
        """A kept connection that still answers, or a new one."""
        while self._free:
            kept = self._free.pop()
            if kept.smtp.is_connected and time.monotonic() - kept.since < IDLE:
                try:
                    await kept.smtp.noop()
                except (aiosmtplib.SMTPException, OSError):
                    log.debug("email.connection_lost")
                else:
                    return kept.smtp
            kept.smtp.close()
        return await self._connect()

    async def _connect(self) -> aiosmtplib.SMTP:
        if self._tokens is None:
            return await self._login()
        token = await self._tokens.get()
        try:
            return await self._login(token)
        except aiosmtplib.SMTPAuthenticationError:
            # Tokens are revoked before their time: a new one is worth one more try.
            self._tokens.drop(token)
            return await self._login(await self._tokens.get())

    async def _login(self, token: str = "") -> aiosmtplib.SMTP:
        """A new connection. With a token it has to take it (XOAUTH2)."""
        server = self._server

        async def bearer() -> str:
            return token

        smtp = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            oauth_token_generator=bearer if token else None,
            local_hostname=self._settings.domain,
            timeout=self._settings.timeout,
            use_tls=server.implicit_tls,
            # Never None: that upgrades only where it is offered, and an offer can be removed.
            start_tls=server.starttls,
            tls_context=self._tls,
        )
        try:
            await smtp.connect()
        except BaseException:
            smtp.close()
            raise
        return smtp


def _tls_context(settings: EmailSettings) -> ssl.SSLContext | None:
    server = settings.server
    if not (server.implicit_tls or server.starttls):
        return None
    return ssl.create_default_context(cafile=settings.ca_file)


def _failed(what: str, failure: Exception) -> DeliveryFailed:
    """The failure in the pump's terms: 5yz is final (RFC 5321 4.2.1), all else is tried again."""
    if isinstance(failure, aiosmtplib.SMTPRecipientsRefused) and failure.recipients:
        failure = failure.recipients[0]
    if isinstance(failure, aiosmtplib.SMTPResponseException):
        said = _printable(str(failure.message))
        return DeliveryFailed(
            f"{what}: {failure.code} {said}", permanent=500 <= failure.code <= 599
        )
    connection = isinstance(failure, OSError | aiosmtplib.SMTPConnectError)
    # What is left are things that the server does not offer (STARTTLS, AUTH): an operator's matter.
    return DeliveryFailed(f"{what}: {_printable(str(failure))}", permanent=not connection)


def _printable(text: str) -> str:
    """What a server said, bounded and on one line: it goes into a log."""
    return re.sub(r"[^\x20-\x7e]+", " ", text)[:200]
