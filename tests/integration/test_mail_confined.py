"""What a stranger's mail can do to its reader: hang it, kill it, take its memory. Nobody else notices."""

from __future__ import annotations

import asyncio
import errno
import os
import pathlib
import signal
import time
from collections.abc import AsyncIterator
from email.message import EmailMessage

import dns.resolver
import pytest
from dkim.canonicalization import strip_trailing_whitespace

from adapters.email.inbound import dkim_check
from adapters.email.inbound.bounds import Unreadable
from adapters.email.inbound.confined import CHILDREN, Confined
from adapters.email.inbound.head import split
from adapters.email.inbound.reading import taken_apart
from adapters.email.inbound.sender import stamped
from tests.fakes.dns_server import DnsServer
from tests.fakes.signer import Signer
from tests.integration.conftest import approval
from tests.integration.mail_world import Opening, opened

__all__ = ["opened"]

PLAIN = b"From: ada@example.com\r\nSubject: x\r\n\r\nApprove\r\n"
BLANKS = b" " * 400_000 + b"x\r\n"
"""Some minutes of one processor for dkimpy, in which a thread holds the interpreter."""


@pytest.fixture
async def confined() -> AsyncIterator[Confined]:
    found = Confined(2**20)
    yield found
    await found.close()


async def test_a_library_that_hangs_is_stopped_and_nobody_waits_for_it(confined: Confined) -> None:
    root, body = await confined.call(taken_apart, PLAIN)
    assert (body.text.strip(), root.head.words("subject")) == ("Approve", "x")
    first = await confined.call(os.getpid)
    confined.seconds = 0.5
    hanging = asyncio.create_task(confined.call(strip_trailing_whitespace, BLANKS))
    turns = 0
    while not hanging.done():
        await asyncio.sleep(0.005)
        turns += 1
    with pytest.raises(Unreadable, match="takes too long"):
        await hanging
    assert turns > 20  # of about a hundred: the loop went on meanwhile
    confined.seconds = 10.0
    assert (await confined.call(taken_apart, PLAIN))[1].text.strip() == "Approve"
    assert await confined.call(os.getpid) != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


async def test_what_kills_its_reader_is_unreadable_and_the_next_one_is_read(
    confined: Confined,
) -> None:
    for warm in (False, True):
        if warm:
            await confined.call(os.getpid)
        with pytest.raises(Unreadable, match="ended while it was read"):
            await confined.call(os.abort)
    assert await confined.call(len, b"four") == 4


async def test_a_reader_that_somebody_ended_is_replaced(confined: Confined) -> None:
    reader = await confined.call(os.getpid)
    os.kill(reader, signal.SIGKILL)
    assert await confined.call(len, b"four") == 4  # no mail is blamed for it


async def test_memory_has_an_end(confined: Confined) -> None:
    with pytest.raises(Unreadable, match="too much memory"):
        await confined.call(bytes, 2**31)
    assert await confined.call(len, b"four") == 4


async def test_what_a_mail_may_not_do_stays_there(confined: Confined) -> None:
    nested = (f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(30))
    deep = "".join(nested).encode()
    with pytest.raises(Unreadable, match="more than 20 deep"):
        await confined.call(taken_apart, deep)
    reader = await confined.call(os.getpid)
    with pytest.raises(Unreadable, match=r"stumbled over it \(ValueError\)"):
        await confined.call(int, "x")
    assert await confined.call(os.getpid) != reader


async def test_an_answer_is_data_and_no_code(confined: Confined) -> None:
    """A child that was taken over can say what it likes: other classes are not even looked up."""
    with pytest.raises(Unreadable):
        await confined.call(pathlib.PurePosixPath, "/etc")
    assert await confined.call(len, b"four") == 4


async def test_it_knows_no_secret_and_writes_no_answer_by_printing(
    confined: Confined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_TOKENS__LEGACY_SECRET", "hunter2")
    assert await confined.call(os.getenv, "SAYSO_TOKENS__LEGACY_SECRET") is None
    assert await confined.call(print, "\0\0\0\1x") is None
    assert await confined.call(len, b"four") == 4


async def opened_for_writing(pipe: pathlib.Path) -> int:
    """Its descriptor, once somebody reads from it."""
    async with asyncio.timeout(60):
        while True:
            try:
                return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as nobody:
                if nobody.errno != errno.ENXIO:
                    raise
            await asyncio.sleep(0.005)


async def test_who_gives_up_gets_nobody_elses_answer(
    confined: Confined, tmp_path: pathlib.Path
) -> None:
    await confined.call(len, b"")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    given_up = asyncio.create_task(confined.call(pathlib.Path.read_bytes, pipe))
    writing = await opened_for_writing(pipe)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await confined.call(len, b"four") == 4
    os.close(writing)


async def test_several_at_once_are_read_by_few(confined: Confined) -> None:
    readers = await asyncio.gather(*(confined.call(os.getpid) for _ in range(10)))
    assert 1 <= len(set(readers)) <= CHILDREN
    await confined.close()
    for reader in set(readers):
        with pytest.raises(ProcessLookupError):
            os.kill(reader, 0)


async def test_all_that_is_asked_for_can_be_carried(confined: Confined) -> None:
    head, _ = split(b"Authentication-Results: mx.a; dmarc=pass header.from=b.example\r\n\r\n")
    assert await confined.call(stamped, head, "mx.a", "b.example") == "pass"


async def test_a_mail_that_hangs_its_reader_holds_up_no_other(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a whole gateway: DKIM is computed with keys from a name server, of a sender who made the mail
    for its signature never to be computed."""
    signer = Signer()
    async with DnsServer({"s1._domainkey.example.com.": signer.record}) as names:
        monkeypatch.setattr(dns.resolver, "default_resolver", names.resolver)
        monkeypatch.setattr(dkim_check, "MAX_EFFORT", 10**18)  # what keeps such a mail away
        office = await opened({"authserv_id": "", "dkim": True})
        office.stamp = ""
        evil = await office.ask(approval("k1", approversList=["ada"]))
        asked = await office.mails(1)
        good = await office.ask(approval("k2", approversList=["ada"]))
        second = await office.mails(2)
        office.inbound.confined.seconds = 2.0
        head, _, _ = signer.signed(office.reply(asked, "Approve")).partition(b"\r\n\r\n")
        hanging = head + b"\r\n\r\n" + (b" " * 990 + b"x\r\n") * 4000
        stuck = asyncio.create_task(office.hand_in(hanging, str(asked["Reply-To"])))
        async with asyncio.timeout(15):
            while not names.asked:
                await asyncio.sleep(0.01)
        reply = signer.signed(office.reply(second, "Approve"))
        assert (await office.hand_in(reply, str(second["Reply-To"]))).startswith("2.0.0")
        assert (await office.detail(good))["outcome"]["by"] == "ada"
        assert not stuck.done()
        assert (await stuck).startswith("2.0.0")  # it is kept, as what it is
        found = await office.detail(evil)
        assert found["status"] == "open"
        (note,) = found["notes"]
        assert note["reason"] == "its sender can't be checked: it takes too long to read"


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        (BLANKS, False),
        ((b" " * 990 + b"x\r\n") * 4000, False),
        ((b" \t" * 495 + b"x\r\n") * 4000, False),
        (b"x" + b" " * 5000 + b"\r\n", True),
        ((b" " * 100 + b"a line that is moved far in\r\n") * 10_000, True),
        (b"x " * 2_000_000, True),
    ],
)
def test_such_a_mail_is_not_even_begun(text: bytes, tried: bool) -> None:
    head, _ = split(Signer().signed(_mail()))
    names, why = dkim_check.keys_of(text, head, "example.com", time.time())
    if tried:
        assert (names, why) == ((b"s1._domainkey.example.com.",), "")
    else:
        assert (names, why) == ((), "it holds so many blanks that DKIM can't be checked")


def _mail() -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["Message-ID"] = "ada@example.com", "x", "<a@example.com>"
    mail["Date"] = "Mon, 30 Nov 2026 09:14:00 +0000"
    mail.set_content("x")
    return mail
