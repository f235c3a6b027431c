"""A mailbox on loopback that speaks enough IMAP4rev1 (RFC 3501, RFC 2177) for a real client, and no more.

Strict: a command that it doesn't know, or in the wrong state, is BAD and fails the test. `hang_up()` drops
all connections, `deaf` leaves an IDLE without any word, as servers do that went away in silence.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re


class ImapServer:
    """Use as `async with`. `deliver` puts a mail into the box and tells those who idle."""

    def __init__(
        self,
        *,
        idle: bool = True,
        user: str = "sayso",
        password: str = "pw-imap",
        tokens: set[str] | None = None,
    ) -> None:
        """With `tokens` it takes one of them (XOAUTH2) and no password."""
        self.validity = 7
        self.mails: list[bytes] = []
        self.first_uid = 1
        self.commands: list[str] = []
        self.bad: list[str] = []
        self.deaf = False
        self.port = 0
        self.sessions = 0
        self._idle = idle
        self._user = user
        self._password = password
        self._tokens = tokens
        self._proving: dict[asyncio.StreamWriter, str] = {}
        self._writers: set[asyncio.StreamWriter] = set()
        self._idling: dict[asyncio.StreamWriter, str] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> ImapServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.hang_up()

    @property
    def url(self) -> str:
        secret = f":{self._password}" if self._tokens is None else ""
        return f"imap://{self._user}{secret}@127.0.0.1:{self.port}/INBOX"

    @property
    def idling(self) -> int:
        return len(self._idling)

    def deliver(self, raw: bytes) -> None:
        self.mails.append(raw)
        if not self.deaf:
            for writer in self._idling:
                writer.write(f"* {len(self.mails)} EXISTS\r\n".encode())

    def hang_up(self) -> None:
        for writer in list(self._writers):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.sessions += 1
        state = "not authenticated"
        try:
            writer.write(b"* OK IMAP4rev1 Service Ready\r\n")
            while line := (await reader.readline()).decode().rstrip("\r\n"):
                if line == "DONE":
                    tag = self._idling.pop(writer)
                    writer.write(f"{tag} OK IDLE terminated\r\n".encode())
                    continue
                if writer in self._proving:
                    state = self._proven(line, writer)
                    continue
                tag, _, command = line.partition(" ")
                self.commands.append(re.sub(r"^LOGIN .*", "LOGIN", command))
                state = self._answer(tag, command, state, writer)
                await writer.drain()
                if state == "logout":
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._idling.pop(writer, None)
            self._proving.pop(writer, None)
            self._writers.discard(writer)
            with contextlib.suppress(Exception):
                writer.close()

    def _answer(self, tag: str, command: str, state: str, writer: asyncio.StreamWriter) -> str:
        def say(*lines: str) -> None:
            writer.write("".join(f"{line}\r\n" for line in lines).encode())

        word = command.partition(" ")[0].upper()
        if word == "CAPABILITY":
            proofs = "" if self._tokens is None else " LOGINDISABLED AUTH=XOAUTH2"
            say(f"* CAPABILITY IMAP4rev1{' IDLE' if self._idle else ''}{proofs}", f"{tag} OK done")
        elif word == "NOOP":
            say(f"{tag} OK done")
        elif word == "LOGOUT":
            say("* BYE", f"{tag} OK done")
            return "logout"
        elif command.upper() == "AUTHENTICATE XOAUTH2" and self._tokens is not None:
            self._proving[writer] = tag
            say("+ ")
        elif word == "LOGIN" and state == "not authenticated" and self._tokens is None:
            return self._login(tag, command, say)
        elif word == "EXAMINE" and state != "not authenticated":
            say(
                f"* {len(self.mails)} EXISTS",
                "* 0 RECENT",
                "* FLAGS (\\Seen)",
                f"* OK [UIDVALIDITY {self.validity}] ok",
                f"{tag} OK [READ-ONLY] done",
            )
            return "selected"
        elif command.upper().startswith("UID SEARCH UID ") and state == "selected":
            say("* SEARCH " + " ".join(self._search(command)), f"{tag} OK done")
        elif command.upper().startswith("UID FETCH ") and state == "selected":
            self._fetch(command, writer)
            say(f"{tag} OK done")
        elif word == "IDLE" and state == "selected" and self._idle:
            self._idling[writer] = tag
            say("+ idling")
        else:
            self.bad.append(command)
            say(f"{tag} BAD {state}")
        return state

    def _proven(self, line: str, writer: asyncio.StreamWriter) -> str:
        """What follows the challenge of XOAUTH2: `user=…`, `auth=Bearer …`, in base64."""
        tag = self._proving.pop(writer)
        said = base64.b64decode(line).decode()
        good = {f"user={self._user}\1auth=Bearer {token}\1\1" for token in self._tokens or ()}
        writer.write(
            f"{tag} {'OK done' if said in good else 'NO [AUTHENTICATIONFAILED] no'}\r\n".encode()
        )
        return "authenticated" if said in good else "not authenticated"

    def _login(self, tag: str, command: str, say: object) -> str:
        found = re.fullmatch(r'LOGIN "?([^" ]+)"? "?([^" ]+)"?', command)
        assert callable(say)
        if found is not None and (found[1], found[2]) == (self._user, self._password):
            say(f"{tag} OK done")
            return "authenticated"
        say(f"{tag} NO [AUTHENTICATIONFAILED] no")
        return "not authenticated"

    def _uids(self) -> list[int]:
        return list(range(self.first_uid, self.first_uid + len(self.mails)))

    def _search(self, command: str) -> list[str]:
        """`n:*` always holds the last one, even below n (RFC 3501 6.4.8): clients stumble over that."""
        low = int(re.fullmatch(r"UID SEARCH UID (\d+):\*", command, re.I)[1])  # type: ignore[index]
        uids = self._uids()
        return [str(uid) for uid in uids if uid >= low or uid == uids[-1]]

    def _fetch(self, command: str, writer: asyncio.StreamWriter) -> None:
        found = re.fullmatch(r"UID FETCH (\d+) \((RFC822\.SIZE|BODY\.PEEK\[\])\)", command, re.I)
        assert found is not None, command
        uid = int(found[1])
        if uid not in self._uids():
            return
        number = uid - self.first_uid
        raw = self.mails[number]
        if found[2].upper() == "RFC822.SIZE":
            writer.write(f"* {number + 1} FETCH (UID {uid} RFC822.SIZE {len(raw)})\r\n".encode())
            return
        writer.write(f"* {number + 1} FETCH (UID {uid} BODY[] {{{len(raw)}}}\r\n".encode())
        writer.write(raw + b")\r\n")
