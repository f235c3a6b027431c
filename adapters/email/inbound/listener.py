"""Mail in by SMTP or LMTP, behind a real mail server (aiosmtpd).

A 2xx after the text is given when what became of the mail is durable; when the store is away the server in
front keeps it and comes again. An address that is none of ours is refused at RCPT, before any text is taken,
so nothing is ever bounced later. One recipient a mail: whose answer it is has to be beyond doubt.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from typing import Any, Final, Literal

import structlog
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from adapters.email.handles import parse_reply_address
from adapters.email.inbound.desk import Arrival
from adapters.email.inbound.inbox import Inbox
from adapters.email.inbound.sender import Trust
from adapters.email.inbound.settings import listening
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

log = structlog.get_logger(__name__)

IDLE: Final = 60.0
"""Seconds that a client may say nothing."""
TAKE: Final = 60.0
"""Seconds for a mail to be read and kept. Servers wait for ten minutes (RFC 5321 4.5.3.2.6)."""
MOST_CONNECTIONS: Final = 100

_UNKNOWN: Final = "550 5.1.1 No such address here"
_ONE: Final = "452 4.5.3 One recipient at a time"
_OFTEN: Final = "450 4.7.1 Too many mails for this address, try again later"
_LATER: Final = "451 4.3.0 Not kept yet, try again later"
_TAKEN: Final = "250 2.0.0 Taken"


class Listener:
    """A server at `where` (`host:port` or `unix:/path`). `address` is where it listens once started."""

    def __init__(
        self,
        protocol: Literal["smtp", "lmtp"],
        where: str,
        place: str,
        inbox: Inbox,
        trust: Trust,
        max_bytes: int,
    ) -> None:
        self._protocol = SMTP if protocol == "smtp" else LMTP
        self._where = listening(where)
        self._handler = _Handler(place, inbox, trust)
        self._max_bytes = max_bytes
        self._server: asyncio.Server | None = None
        self.address = ""

    async def start(self) -> None:
        """Raises `OSError` when it can't listen there."""
        loop = asyncio.get_running_loop()
        host, port = self._where
        if port < 0:
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISSOCK(os.stat(host).st_mode):
                    os.unlink(host)  # what a process left that ended without saying so
            self._server = await loop.create_unix_server(self._connection, host)
            self.address = f"unix:{host}"
        else:
            self._server = await loop.create_server(self._connection, host, port)
            found = self._server.sockets[0].getsockname()
            self.address = f"{found[0]}:{found[1]}"
        log.info("mail.listening", at=self.address)

    async def stop(self) -> None:
        """Take no more connections, and finish what is being taken."""
        if self._server is not None:
            self._server.close()
        await self._handler.drained()

    def _connection(self) -> SMTP:
        return self._protocol(
            self._handler,
            loop=asyncio.get_running_loop(),
            hostname="sayso",
            ident="Sayso",
            data_size_limit=self._max_bytes,
            timeout=IDLE,
            enable_SMTPUTF8=False,
            decode_data=False,
        )


class _Handler:
    """aiosmtpd's hooks."""

    def __init__(self, place: str, inbox: Inbox, trust: Trust) -> None:
        self._place = place
        self._inbox = inbox
        self._trust = trust
        self._taking = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def drained(self) -> None:
        """Returns when no mail is being taken."""
        await self._idle.wait()

    async def handle_RCPT(
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        handle = parse_reply_address(address, self._place)
        if handle is None:
            return _UNKNOWN
        if envelope.rcpt_tos:
            return _ONE
        try:
            known = await self._inbox.knows(handle)
        except (Refusal, StoreUnavailable):
            return _LATER
        if known != "yes":
            return _UNKNOWN if known == "no" else _OFTEN
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        handle = parse_reply_address(envelope.rcpt_tos[0], self._place)
        content = envelope.content
        if handle is None or not isinstance(content, bytes):
            return _UNKNOWN
        if self._taking >= MOST_CONNECTIONS:
            return "451 4.3.2 Busy, try again later"
        self._taking += 1
        self._idle.clear()
        try:
            async with asyncio.timeout(TAKE):
                sender = (envelope.mail_from or "").strip("<>")  # the null one comes as "<>"
                await self._inbox.take(Arrival(content, handle, sender, self._trust))
        except (Refusal, StoreUnavailable, TimeoutError) as error:
            log.warning("mail.not_kept", error=type(error).__name__)
            return _LATER
        except Exception:
            # Not a 5xx: whatever is wrong here is ours, and the mail is worth keeping in the queue.
            log.exception("mail.failed")
            return _LATER
        finally:
            self._taking -= 1
            if not self._taking:
                self._idle.set()
        return _TAKEN
