"""The listeners themselves: LMTP, sockets, and a store that is away."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from host.store.records import StoreUnavailable
from tests.integration.conftest import approval
from tests.integration.mail_world import Opening, opened

__all__ = ["opened"]


class Lmtp:
    """A client by hand: what is said and answered, line by line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, line: str | bytes) -> str:
        self._writer.write((line if isinstance(line, bytes) else line.encode()) + b"\r\n")
        return await self.hear()

    async def hear(self) -> str:
        while True:
            line = (await asyncio.wait_for(self._reader.readline(), 15)).decode().rstrip()
            if not re.match(r"\d{3}-", line):
                return line


async def test_lmtp_over_a_socket_one_recipient_at_a_time(opened: Opening, tmp_path: Path) -> None:
    path = tmp_path / "lmtp"
    office = await opened({"smtp": "", "lmtp": f"unix:{path}"})
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    reader, writer = await asyncio.open_unix_connection(str(path))
    client = Lmtp(reader, writer)
    assert (await client.hear()).startswith("220")
    assert (await client.say("EHLO mx")).startswith("500")
    assert (await client.say("LHLO mx.example.com")).startswith("250")
    assert (await client.say("MAIL FROM:<ada@example.com>")).startswith("250")
    assert (await client.say("RCPT TO:<nobody@r.example.com>")).startswith("550")
    assert (await client.say(f"RCPT TO:<{asked['Reply-To']}>")).startswith("250")
    assert (await client.say(f"RCPT TO:<{asked['Reply-To']}>")).startswith("452")
    assert (await client.say("DATA")).startswith("354")
    # A line with a dot alone but no CR ends nothing: what follows is still this mail's text.
    raw = office.reply(asked, "Approve").as_bytes() + b"\n.\nMAIL FROM:<eve@evil.example>\r\n."
    assert (await client.say(raw)).startswith("250")
    writer.close()
    assert (await office.detail(record))["status"] == "resolved"


async def test_a_mail_is_not_acknowledged_before_it_is_kept(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = await opened()
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    mail = office.reply(asked, "Approve")
    journal = office.api.gateway.host.journal
    change = journal.change

    async def away(*arguments: Any, **more: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(journal, "change", away)
    assert (await office.hand_in(mail)).startswith("451")
    assert (await office.detail(record))["status"] == "open"
    monkeypatch.setattr(journal, "change", change)
    assert (await office.hand_in(mail)).startswith("2.0.0")
    assert (await office.detail(record))["status"] == "resolved"


async def test_too_much_is_refused_and_a_broken_mail_is_a_note(opened: Opening) -> None:
    office = await opened({"max_bytes": 20_000})
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    to = str(asked["Reply-To"])
    assert (
        await office.hand_in(b"Subject: x\r\n\r\n" + b"y" * 70 + b"\r\n" * 15_000, to)
    ).startswith("552")
    parts = b"--b\r\n\r\nx\r\n" * 1000
    raw = b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n' + parts
    assert (await office.hand_in(raw, to)).startswith("2.0.0")
    (note,) = (await office.detail(record))["notes"]
    assert note["reason"] == "a mail could not be read: it has more than 200 parts"


async def test_a_gateway_that_could_not_tell_who_writes_does_not_start(opened: Opening) -> None:
    with pytest.raises(ValueError, match="nothing says who sent them"):
        await opened({"authserv_id": ""})
    with pytest.raises(ValueError, match="no way in is set up"):
        await opened({"smtp": ""})
    with pytest.raises(ValueError, match="no place to listen"):
        await opened({"smtp": "2525"})
