"""Mail in from a mailbox, by IMAP: IDLE where there is one, and polling all the same (IMAPClient).

The library blocks, so it has a thread of its own; each mail is handed to the event loop and waited for. How
far the mailbox was read is kept by UID and UIDVALIDITY, and moved on when what became of a mail is durable:
`\\Seen` says what people looked at, and nothing about us. Nothing in the mailbox is changed.

IDLE is trusted for minutes only. Servers hang up in silence, so it is asked anew, its socket has a deadline,
and a connection on which anything went wrong is made once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ssl
import threading
from collections.abc import Coroutine
from typing import Any, Final

import structlog
from imapclient import IMAPClient
from imapclient.exceptions import LoginError

from adapters.email.handles import Handle, parse_reply_address
from adapters.email.inbound.authenticate import handles_in
from adapters.email.inbound.bounds import Unreadable
from adapters.email.inbound.desk import Arrival, Desk
from adapters.email.inbound.head import Head, split
from adapters.email.inbound.inbox import Inbox
from adapters.email.inbound.sender import Trust
from adapters.email.inbound.settings import Imap
from adapters.email.oauth import AccessTokens, Vault
from host.store.documents import Documents

log = structlog.get_logger(__name__)

IDLE_SECONDS = 240.0
"""How long one IDLE is trusted. RFC 2177 says 29 minutes; routers forget connections sooner."""
POLL_SECONDS = 30.0
"""Between two looks where the server has no IDLE."""
SOCKET_SECONDS: Final = 30.0
TAKE_SECONDS: Final = 120.0
MOST_AT_ONCE: Final = 50
BACKOFF: tuple[float, ...] = (1.0, 5.0, 15.0, 60.0, 300.0)
MOST_TRIES: Final = 12
"""About an hour by `BACKOFF`: longer than a store is away that anybody looks after."""
_KIND: Final = "mail.imap"
_ENVELOPE: Final = ("delivered-to", "x-original-to", "envelope-to", "x-envelope-to")


class Mailbox:
    """Reads one folder until it is stopped."""

    def __init__(
        self,
        account: Imap,
        place: str,
        max_bytes: int,
        inbox: Inbox,
        trust: Trust,
        documents: Documents,
        desk: Desk,
        vault: Vault | None = None,
    ) -> None:
        self._account = account
        self._place = place
        self._max_bytes = max_bytes
        self._inbox = inbox
        self._trust = trust
        self._documents = documents
        self._desk = desk
        self._tokens = AccessTokens(account.oauth, vault) if account.oauth is not None else None
        self._stopping = threading.Event()
        self._client: IMAPClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._trying = (0, 0)  # the mail that is being taken, and how often
        name = f"{account.username}@{account.host}/{account.folder}"
        self._key = hashlib.sha256(name.encode()).hexdigest()

    def start(self) -> None:
        """Begin. A mailbox that can't be reached now is tried again and keeps nobody from starting."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="sayso-imap", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Finish the mail that is being taken, and hang up."""
        self._stopping.set()
        client, thread = self._client, self._thread
        if client is not None:
            with contextlib.suppress(Exception):
                client.socket().shutdown(2)  # wakes the thread from whatever it waits for
        if thread is not None:
            await asyncio.to_thread(thread.join, SOCKET_SECONDS)
        if self._tokens is not None:
            await self._tokens.close()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                self._session()
                failures = 0
            except Exception as error:
                if self._stopping.is_set():
                    return
                pause = BACKOFF[min(failures, len(BACKOFF) - 1)]
                failures += 1
                log.warning("mail.imap_failed", error=type(error).__name__, again_in=pause)
                self._stopping.wait(pause)
            finally:
                self._hang_up()

    def _session(self) -> None:
        """One connection: read what is there, wait for more, until something goes wrong."""
        account = self._account
        self._client = client = IMAPClient(
            account.host,
            port=account.port,
            ssl=account.tls,
            ssl_context=ssl.create_default_context() if account.tls else None,
            timeout=SOCKET_SECONDS,
            use_uid=True,
        )
        self._login(client)
        selected = client.select_folder(account.folder, readonly=True)
        validity = int(selected[b"UIDVALIDITY"])
        log.info("mail.imap_reading", folder=account.folder)
        while not self._stopping.is_set():
            while self._look(client, validity):
                pass
            self._wait(client)

    def _login(self, client: IMAPClient) -> None:
        if self._tokens is None:
            client.login(self._account.username, self._account.password)
            return
        token = self._on_loop(self._tokens.get())
        try:
            client.oauth2_login(self._account.username, token)
        except LoginError:
            self._tokens.drop(token)  # the next connection has a new one
            raise

    def _wait(self, client: IMAPClient) -> None:
        """Until something arrives, as far as the server says so, or it is time to look anyway."""
        if not client.has_capability("IDLE"):
            self._stopping.wait(POLL_SECONDS)
            client.noop()
            return
        client.idle()
        try:
            client.idle_check(timeout=IDLE_SECONDS)
        finally:
            client.idle_done()

    def _look(self, client: IMAPClient, validity: int) -> bool:
        """Take what is new, in order. True when there may be more."""
        position = self._on_loop(self._position(validity))
        found = sorted(uid for uid in client.search(["UID", f"{position + 1}:*"]) if uid > position)
        for uid in found[:MOST_AT_ONCE]:
            if self._stopping.is_set():
                return False
            if not self._is_stuck(uid):
                self._take(client, uid)
            self._on_loop(self._move(validity, uid))
        return len(found) > MOST_AT_ONCE

    def _is_stuck(self, uid: int) -> bool:
        """Whether this mail has failed so often that those behind it go on without it."""
        last, tries = self._trying
        self._trying = (uid, tries + 1 if uid == last else 1)
        if self._trying[1] <= MOST_TRIES:
            return False
        log.error("mail.imap_given_up", uid=uid)
        return True

    def _take(self, client: IMAPClient, uid: int) -> None:
        size = client.fetch([uid], ["RFC822.SIZE"]).get(uid, {}).get(b"RFC822.SIZE", 0)
        if not 0 < size <= self._max_bytes:
            log.warning("mail.imap_skipped", uid=uid, bytes=size)
            return
        raw = client.fetch([uid], ["BODY.PEEK[]"]).get(uid, {}).get(b"BODY[]")
        if not isinstance(raw, bytes):
            return
        handle = recipient(raw, self._place)
        if handle is None:
            return  # somebody else's mail in this mailbox
        self._on_loop(self._arrived(raw, handle))

    async def _arrived(self, raw: bytes, handle: Handle) -> None:
        if await self._inbox.knows(handle) == "yes":
            await self._inbox.take(Arrival(raw, handle, return_path(raw), self._trust))

    async def _position(self, validity: int) -> int:
        """The last UID that was taken. A mailbox with another UIDVALIDITY is a new one: it is read
        from its beginning, and what was here before is known by its Message-ID."""
        found = await self._documents.get(_KIND, self._key, self._desk.clock())
        if found is None or found.value.get("validity") != validity:
            return 0
        return int(found.value["uid"])

    async def _move(self, validity: int, uid: int) -> None:
        value = {"validity": validity, "uid": uid}
        await self._documents.put(_KIND, self._key, value, self._desk.clock())

    def _on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TAKE_SECONDS)

    def _hang_up(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.shutdown()


def recipient(raw: bytes, place: str) -> Handle | None:
    """Whose mail this is: by the field that the mailbox's server wrote at delivery, on top of all others;
    by To and Cc where it wrote none. None when that is nobody of ours, or several."""
    try:
        head, _ = split(raw)
    except Unreadable:
        return None
    for name in _ENVELOPE:
        for value in head.all(name):
            handle = parse_reply_address(value.decode("ascii", "replace"), place)
            if handle is not None:
                return handle
    found = handles_in(head, place)
    return found.pop() if len(found) == 1 else None


def return_path(raw: bytes) -> str | None:
    """The envelope's sender as the mailbox's server wrote it, None when it didn't."""
    try:
        head: Head = split(raw)[0]
    except Unreadable:
        return None
    values = head.all("return-path")
    return values[0].decode("ascii", "replace").strip("<> ") if values else None
