"""The email channel against a real mail server on loopback."""

from __future__ import annotations

import asyncio
import email
import email.policy
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP as Server
from aiosmtpd.smtp import AuthResult, Envelope

from adapters.channel import Delivery, DeliveryFailed, Shown
from adapters.email import handles
from adapters.email.app import EmailChannel
from adapters.email.settings import EmailSettings
from adapters.views import Action, Card, Reader, Thread

CARD = Card(
    interrupt_id="intr-1",
    kind="approval",
    state="open",
    version=1,
    title="Refund 4411",
    actions=(Action("accept", "Approve"),),
    reference="A1B2C3D4",
)
DONE = replace(CARD, state="resolved", version=2, outcome="Approved by ada", decided_by="ada")
ASK = Delivery("ada@example.com", CARD, link="https://sayso.example.com/a/" + "h" * 120)


@dataclass
class Mailbox:
    """What a mail server took, and what it answers."""

    mails: list[tuple[str, list[str], EmailMessage]] = field(default_factory=list)
    rcpt: str = "250 OK"
    data: str = "250 OK"
    sessions: set[Any] = field(default_factory=set)

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.sessions.add(session.peer)
        if self.rcpt.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.rcpt

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        if self.data.startswith("250"):
            assert isinstance(envelope.content, bytes)
            read = email.message_from_bytes(envelope.content, policy=email.policy.default)
            assert isinstance(read, EmailMessage)
            self.mails.append((str(envelope.mail_from), list(envelope.rcpt_tos), read))
        return self.data


@dataclass
class Post:
    """A mail server and the channel that hands mails to it."""

    box: Mailbox
    server: asyncio.Server
    channel: EmailChannel
    port: int


async def listen(box: Mailbox, **options: Any) -> tuple[asyncio.Server, int]:
    loop = asyncio.get_running_loop()
    tls = options.pop("implicit", None)
    server = await loop.create_server(
        lambda: Server(box, loop=loop, hostname="mail.test", **options), "127.0.0.1", 0, ssl=tls
    )
    return server, server.sockets[0].getsockname()[1]


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    box = Mailbox()
    server, port = await listen(box)
    channel = EmailChannel(
        EmailSettings(f"smtp://127.0.0.1:{port}", "Sayso <sayso@mail.example.com>", timeout=5)
    )
    await channel.start()
    yield Post(box, server, channel, port)
    await channel.stop()
    server.close()


async def test_the_question_is_mailed_once(post: Post) -> None:
    shown = await post.channel.show(ASK)
    ((sender, recipients, mail),) = post.box.mails
    assert (sender, recipients) == ("sayso@mail.example.com", ["ada@example.com"])
    assert mail["From"] == "Sayso <sayso@mail.example.com>"
    assert mail["Subject"] == "Refund 4411 [A1B2C3D4]"
    plain = mail.get_body(("plain",))
    assert plain is not None
    assert ASK.link in plain.get_content()
    assert shown.ref["messageId"] == mail["Message-ID"]
    # The same delivery again, and one that only shows another vote.
    again = replace(ASK, ref=shown.ref)
    assert (await post.channel.show(again)).ref == shown.ref
    voted = replace(again, card=replace(CARD, version=2, progress="1 of 2"))
    assert (await post.channel.show(voted)).ref == shown.ref
    assert len(post.box.mails) == 1


@pytest.mark.parametrize("state", ["resolved", "cancelled", "expired"])
async def test_the_ending_is_mailed_once_in_the_same_thread(post: Post, state: Any) -> None:
    asked = await post.channel.show(ASK)
    over = replace(ASK, card=replace(DONE, state=state), ref=asked.ref)
    ended = await post.channel.show(over)
    assert (await post.channel.show(replace(over, ref=ended.ref))).ref == ended.ref
    (_, _, first), (_, recipients, second) = post.box.mails
    assert recipients == ["ada@example.com"]
    assert second["Subject"] == "Re: Refund 4411 [A1B2C3D4]"
    assert second["In-Reply-To"] == first["Message-ID"]
    root = first["References"]
    assert second["References"].split() == [root, first["Message-ID"]]
    assert second["Message-ID"] not in {first["Message-ID"], root}
    plain = second.get_body(("plain",))
    assert plain is not None
    assert "Approved by ada" in plain.get_content()
    assert ended.ref["mailed"] == state


async def test_a_repeat_after_a_crash_can_be_told_from_a_new_mail(post: Post) -> None:
    await post.channel.show(ASK)
    await post.channel.show(ASK)  # the ref of the first one was lost
    await post.channel.show(replace(ASK, address="grace@example.com"))
    ids = [mail["Message-ID"] for _, _, mail in post.box.mails]
    roots = {mail["References"] for _, _, mail in post.box.mails}
    assert ids[0] == ids[1] != ids[2]
    assert len(roots) == 1


async def test_what_was_decided_before_anybody_was_asked_is_not_mailed(post: Post) -> None:
    shown = await post.channel.show(replace(ASK, card=DONE))
    assert await post.channel.show(replace(ASK, card=DONE, ref=shown.ref)) == Shown(shown.ref)
    assert post.box.mails == []


async def test_turns_of_a_conversation_share_a_thread(post: Post) -> None:
    thread = Thread("conv-1", "Trip to Oslo", prompt="Window or aisle?")
    first = await post.channel.show(replace(ASK, thread=thread))
    assert first.thread_ref is not None
    turn = replace(
        ASK,
        card=replace(CARD, interrupt_id="intr-2"),
        thread=replace(thread, prompt="Which day?"),
        thread_ref=first.thread_ref,
    )
    second = await post.channel.show(turn)
    assert second.thread_ref is None
    closing = replace(
        turn,
        card=replace(DONE, interrupt_id="intr-3", outcome=""),
        thread=Thread("conv-1", "Trip to Oslo", closed="booked"),
    )
    await post.channel.show(closing)
    mails = [mail for _, _, mail in post.box.mails]
    assert {mail["References"].split()[0] for mail in mails} == {mails[0]["References"]}
    assert [mail["In-Reply-To"] for mail in mails[1:]] == [mails[0]["Message-ID"]] * 2
    assert [mail["Subject"] for mail in mails] == ["Trip to Oslo"] * 3
    plain = mails[2].get_body(("plain",))
    assert plain is not None
    assert "booked" in plain.get_content()


@pytest.mark.parametrize(
    ("rcpt", "data", "permanent"),
    [
        ("550 5.1.1 No such user", "250 OK", True),
        ("450 4.2.1 Try later", "250 OK", False),
        ("250 OK", "554 5.7.1 Refused", True),
        ("250 OK", "451 4.3.0 Try later", False),
    ],
)
async def test_a_refusal_is_final_or_tried_again(
    post: Post, rcpt: str, data: str, permanent: bool
) -> None:
    post.box.rcpt, post.box.data = rcpt, data
    with pytest.raises(DeliveryFailed) as failed:
        await post.channel.show(ASK)
    assert failed.value.permanent is permanent
    assert (rcpt + data).replace("250 OK", "")[:3] in failed.value.reason
    # The next mail goes out on a connection of its own.
    post.box.rcpt = post.box.data = "250 OK"
    await post.channel.show(ASK)
    assert len(post.box.mails) == 1
    assert len(post.box.sessions) == 2


async def test_an_address_that_is_none_never_reaches_the_server(post: Post) -> None:
    with pytest.raises(DeliveryFailed) as failed:
        await post.channel.show(replace(ASK, address="ada@example.com\r\nDATA"))
    assert failed.value.permanent
    assert post.box.sessions == set()


async def test_connections_are_kept_and_few(post: Post) -> None:
    await asyncio.gather(
        *(post.channel.show(replace(ASK, address=f"p{at}@example.com")) for at in range(20))
    )
    assert len(post.box.mails) == 20
    assert {tuple(to) for _, to, _ in post.box.mails} == {
        (f"p{at}@example.com",) for at in range(20)
    }
    assert 1 <= len(post.box.sessions) <= 2


async def test_a_server_that_went_away_and_came_back(post: Post) -> None:
    await post.channel.show(ASK)
    post.server.close()
    await post.channel.stop()
    with pytest.raises(DeliveryFailed) as failed:
        await post.channel.show(ASK)
    assert not failed.value.permanent


async def test_a_server_that_says_nothing_is_given_up() -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    channel = EmailChannel(EmailSettings(f"smtp://127.0.0.1:{port}", "s@e.example", timeout=0.2))
    with pytest.raises(DeliveryFailed) as failed:
        await channel.show(ASK)
    assert not failed.value.permanent
    await channel.stop()
    silent.close()


async def test_a_wrong_password_is_an_operators_matter_and_stays_secret() -> None:
    def deny(*_: Any) -> AuthResult:
        return AuthResult(success=False, handled=False)

    server, port = await listen(Mailbox(), authenticator=deny, auth_require_tls=False)
    channel = EmailChannel(EmailSettings(f"smtp://u:hunter2@127.0.0.1:{port}", "s@e.example"))
    with pytest.raises(DeliveryFailed) as failed:
        await channel.show(ASK)
    assert failed.value.permanent
    assert "hunter2" not in failed.value.reason
    server.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody else signed, with its key in the same file."""
    key, cert, both = tmp_path / "key.pem", tmp_path / "cert.pem", tmp_path / "both.pem"
    subprocess.run(
        (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
            f" -subj /CN=mail.test -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"
        ).split(),
        check=True,
        capture_output=True,
    )
    both.write_text(cert.read_text() + key.read_text())
    return both


async def test_tls_checks_the_certificate(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    box = Mailbox()
    server, port = await listen(box, implicit=context)
    url = f"smtps://127.0.0.1:{port}"
    known = EmailChannel(EmailSettings(url, "s@e.example", ca_file=str(certificate)))
    await known.show(ASK)
    assert len(box.mails) == 1
    unknown = EmailChannel(EmailSettings(url, "s@e.example"))
    with pytest.raises(DeliveryFailed):
        await unknown.show(ASK)
    assert len(box.mails) == 1
    await known.stop()
    server.close()


@pytest.mark.parametrize("offered", [True, False])
async def test_starttls_beyond_loopback_is_no_offer_but_a_condition(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, offered: bool
) -> None:
    # The test server is on loopback; everything else is as for a server elsewhere.
    monkeypatch.setattr("adapters.email.settings._is_loopback", lambda _: False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    box = Mailbox()
    server, port = await listen(box, tls_context=context if offered else None)
    channel = EmailChannel(
        EmailSettings(f"smtp://127.0.0.1:{port}", "s@e.example", ca_file=str(certificate))
    )
    if offered:
        await channel.show(ASK)
        assert len(box.mails) == 1
    else:
        with pytest.raises(DeliveryFailed) as failed:
            await channel.show(ASK)
        assert failed.value.permanent
        assert "STARTTLS" in failed.value.reason
        assert box.sessions == set()
    await channel.stop()
    server.close()


class Handles:
    """Links that make handles of the letters of their use."""

    async def mail_handle(self, use: str, interrupt_id: str, person: Any) -> str:
        assert (interrupt_id, person.channel) == ("intr-1", "email")
        return handles.derive(b"k", use, interrupt_id, "email", person.id)  # type: ignore[arg-type]


@pytest.fixture
async def office(post: Post) -> AsyncIterator[Callable[..., EmailChannel]]:
    """Makes channels that receive as well, at the mail server of `post`."""
    made: list[EmailChannel] = []

    def make(**changed: Any) -> EmailChannel:
        chosen = EmailSettings(
            f"smtp://127.0.0.1:{post.port}",
            "Sayso <sayso@mail.example.com>",
            timeout=5,
            **{"place": "r.example.com", "replies": "decide", **changed},
        )
        made.append(EmailChannel(chosen, Handles()))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for channel in made:
        await channel.stop()


async def test_each_mail_has_addresses_of_its_own(
    post: Post, office: Callable[..., EmailChannel]
) -> None:
    channel = office()
    for address in ("ada@example.com", "bob@example.com"):
        shown = await channel.show(replace(ASK, address=address))
        await channel.show(replace(ASK, address=address, card=DONE, ref=shown.ref))
    senders = [sender for sender, _, _ in post.box.mails]
    replies = [str(mail["Reply-To"]) for _, _, mail in post.box.mails]
    # Of one person both mails have the same; of two people none.
    assert senders[0] == senders[1] != senders[2] == senders[3]
    assert replies[0] == replies[1] != replies[2] == replies[3]
    assert {mail["From"] for _, _, mail in post.box.mails} == {"Sayso <sayso@mail.example.com>"}
    for address, use in ((senders[0], "bounce"), (replies[0], "reply")):
        assert len(address.partition("@")[0]) <= 45
        found = handles.parse_reply_address(address, "r.example.com")
        assert found is not None
        assert found.use == use


async def test_where_replies_are_off_bounces_still_come_back(
    post: Post, office: Callable[..., EmailChannel]
) -> None:
    await office(replies="off").show(ASK)
    ((sender, _, mail),) = post.box.mails
    assert sender.endswith("@r.example.com")
    assert mail["Reply-To"] is None


@pytest.mark.parametrize(
    ("changed", "address", "mails"),
    [
        ({}, "ada@example.com", 2),
        ({"endings": False}, "ada@example.com", 1),
        ({"quiet": frozenset({"ada@example.com"})}, "Ada@Example.com", 1),
        ({"quiet": frozenset({"bob@example.com"})}, "ada@example.com", 2),
    ],
)
async def test_the_ending_can_be_turned_off(
    post: Post,
    office: Callable[..., EmailChannel],
    changed: dict[str, Any],
    address: str,
    mails: int,
) -> None:
    channel, ask = office(**changed), replace(ASK, address=address)
    asked = await channel.show(ask)
    ended = await channel.show(replace(ask, card=DONE, ref=asked.ref))
    await channel.show(replace(ask, card=DONE, ref=ended.ref))
    assert len(post.box.mails) == mails
    assert ended.ref["mailed"] == "resolved"


async def test_a_mail_in_the_readers_language_and_zone(post: Post) -> None:
    card = replace(
        CARD,
        reader=Reader("ja", "Asia/Tokyo"),
        deadline=datetime(2026, 12, 3, 19, 30, tzinfo=UTC),
    )
    await post.channel.show(replace(ASK, card=card))
    ((_, _, mail),) = post.box.mails
    assert mail["Content-Language"] == "ja"
    for kind in ("plain", "html"):
        part = mail.get_body((kind,))
        assert part is not None
        assert "2026年12月4日 04:30 JST (UTC+9)" in part.get_content()
        assert "あなた専用" in part.get_content()


async def test_holiday_notices_are_kept_away_and_bounces_are_not(post: Post) -> None:
    await post.channel.show(ASK)
    ((_, _, mail),) = post.box.mails
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["X-Auto-Response-Suppress"] == "OOF, AutoReply"
