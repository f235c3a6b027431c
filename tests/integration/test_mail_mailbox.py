"""Replies that are read from a mailbox, over real IMAP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from imapclient import IMAPClient

from adapters.email.inbound import imap
from adapters.email.inbound.settings import InboundSettings
from tests.fakes.imap_server import ImapServer
from tests.integration.conftest import approval
from tests.integration.mail_world import AUTHSERV, Office, Opening, opened

__all__ = ["opened"]


@pytest.fixture(params=["idle", "poll"])
async def box(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ImapServer]:
    monkeypatch.setattr(imap, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(imap, "BACKOFF", (0.05,))
    async with ImapServer(idle=request.param == "idle") as server:
        yield server
        assert server.bad == []


async def until(condition: Callable[[], Any], what: str) -> None:
    try:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"waited for {what}") from None


async def resolved(office: Office, record: dict[str, Any]) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while (found := await office.detail(record))["status"] == "open":
            await asyncio.sleep(0.02)
    return found


def delivered(mail: EmailMessage) -> bytes:
    """As a mailbox holds it: its server has written the envelope on top."""
    return f"Return-Path: <ada@example.com>\r\nDelivered-To: {mail['To']}\r\n".encode() + bytes(
        mail
    )


async def office_of(opened: Opening, box: ImapServer) -> Office:
    return await opened({"smtp": "", "imap_url": box.url})


async def test_a_reply_in_the_mailbox_decides(opened: Opening, box: ImapServer) -> None:
    box.deliver(b"From: somebody@example.com\r\nTo: sayso@example.com\r\n\r\nnot ours\r\n")
    office = await office_of(opened, box)
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    box.deliver(delivered(office.reply(asked, "Approve")))
    found = await resolved(office, record)
    assert (found["outcome"]["by"], found["resumeValue"]["action"]) == ("ada", "accept")
    assert not any("STORE" in command.upper() for command in box.commands)


async def test_a_connection_that_ends_is_made_again_and_nothing_is_read_twice(
    opened: Opening, box: ImapServer
) -> None:
    office = await office_of(opened, box)
    record = await office.ask(approval(requiredApprovals=2, approversList=["ada", "bob"]))
    asked = await office.mails(1)
    box.deliver(delivered(office.reply(asked, "Approve")))
    await until(lambda: any("BODY.PEEK" in c for c in box.commands), "the first mail")
    await office.mails(2)
    box.hang_up()
    await until(lambda: box.sessions >= 2, "a second session")
    second = await office.ask(approval("k2", approversList=["ada"]))
    again = await office.mails(3)
    box.deliver(delivered(office.reply(again, "Reject")))
    found = await resolved(office, second)
    assert found["resumeValue"]["action"] == "reject"
    assert len([c for c in box.commands if "BODY.PEEK" in c]) == 2
    assert len((await office.detail(record))["votes"]) == 1


async def test_a_mailbox_that_was_made_anew_is_read_from_its_beginning(
    opened: Opening, box: ImapServer
) -> None:
    office = await office_of(opened, box)
    record = await office.ask(approval(requiredApprovals=2, approversList=["ada", "bob"]))
    asked = await office.mails(1)
    reply = delivered(office.reply(asked, "Approve"))
    box.deliver(reply)
    await office.mails(2)
    box.validity, box.mails = 8, []
    second = await office.ask(approval("k2", approversList=["ada"]))
    again = await office.mails(3)
    box.mails = [reply, delivered(office.reply(again, "Approve"))]
    box.hang_up()
    await resolved(office, second)
    assert len((await office.detail(record))["votes"]) == 1  # the old one is known by its id


async def test_a_server_that_is_away_keeps_nobody_from_starting(opened: Opening) -> None:
    async with ImapServer() as gone:
        url = gone.url
    office = await opened({"smtp": "", "imap_url": url})
    assert await office.api.run()


async def test_an_idle_without_a_word_is_asked_anew(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "IDLE_SECONDS", 0.3)
    async with ImapServer() as box:
        box.deaf = True
        office = await office_of(opened, box)
        record = await office.ask(approval(approversList=["ada"]))
        asked = await office.mails(1)
        await until(lambda: box.idling, "an IDLE")
        box.deliver(delivered(office.reply(asked, "Approve")))
        await resolved(office, record)


@pytest.fixture
async def foreign() -> AsyncIterator[int]:
    """The port of an IMAP server that nobody here wrote."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-service", "admin", "--no-service", "sieve", "--host", "127.0.0.1"]
    backend = ["dict", "--demo-data", "--demo-user", "sayso", "--demo-password", "pw-imap"]
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("pymap")), *options, "--port", str(port), *backend
    )
    try:
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(OSError):
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                await asyncio.sleep(0.05)
        yield port
    finally:
        process.kill()
        await process.wait()


async def test_a_server_that_nobody_here_wrote(opened: Opening, foreign: int) -> None:
    office = await opened(
        {"smtp": "", "imap_url": f"imap://sayso:pw-imap@127.0.0.1:{foreign}/INBOX"}
    )
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    raw = delivered(office.reply(asked, "Approve"))

    def append() -> None:
        with IMAPClient("127.0.0.1", port=foreign, ssl=False) as client:
            client.login("sayso", "pw-imap")
            client.append("INBOX", raw)

    await asyncio.to_thread(append)
    assert (await resolved(office, record))["outcome"]["by"] == "ada"


@pytest.mark.parametrize(
    "url",
    [
        "imap://u:p@mail.example.com/INBOX",
        "imaps://mail.example.com/INBOX",
        "pop3://u:p@x/INBOX",
        "imaps://u:hunter2@x:99999/INBOX",
    ],
)
def test_what_is_no_mailbox(url: str) -> None:
    with pytest.raises(ValueError) as wrong:
        InboundSettings(address="r.example.com", authserv_id=AUTHSERV, imap_url=url)
    assert "hunter2" not in str(wrong.value)
