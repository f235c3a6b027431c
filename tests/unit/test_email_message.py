"""The bytes of a mail: no header that we did not write, and ids and links that arrive whole."""

from __future__ import annotations

import email
import email.policy
import re
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.channel import Delivery
from adapters.email.address import canonical
from adapters.email.message import Envelope, message_id, serialise
from adapters.email.render import Mail, question, subject_of
from adapters.email.settings import EmailSettings
from tests.unit.test_email_render import CARD, LINK

DATE = datetime(2026, 11, 29, 19, 30, tzinfo=UTC)
ROOT = message_id("mail.example.com", "root")
ENVELOPE = Envelope(
    sender_name="Sayso",
    sender="sayso@mail.example.com",
    recipient="ada@example.com",
    message_id=message_id("mail.example.com", "asked"),
    references=(ROOT,),
)
HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "References",
    "Auto-Submitted",
    "X-Auto-Response-Suppress",
    "MIME-Version",
    "Content-Type",
]


def parsed(raw: bytes) -> EmailMessage:
    read = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(read, EmailMessage)
    return read


def content(part: EmailMessage) -> str:
    """A part's text; its lines end in CRLF on the way."""
    return str(part.get_content()).replace("\r\n", "\n")


def mail(subject: str = "Refund", text: str = "plain\n", html: str = "<p>html</p>") -> Mail:
    return Mail(subject, text, html)


def test_the_shape_of_a_mail() -> None:
    raw = serialise(question(Delivery("ada@example.com", CARD, link=LINK)), ENVELOPE, DATE)
    read = parsed(raw)
    assert read.keys() == HEADERS
    assert read["From"] == "Sayso <sayso@mail.example.com>"
    assert read["To"] == "ada@example.com"
    assert read["Subject"] == "Refund 4411 [A1B2C3D4]"
    assert read["Date"] == "Sun, 29 Nov 2026 19:30:00 +0000"
    assert read["Auto-Submitted"] == "auto-generated"
    assert read.get_content_type() == "multipart/alternative"
    kinds = [part.get_content_type() for part in read.iter_parts()]
    assert kinds == ["text/plain", "text/html"]
    assert re.search(rb"[^\r]\n", raw) is None


def test_the_same_mail_is_the_same_bytes() -> None:
    assert serialise(mail(), ENVELOPE, DATE) == serialise(mail(), ENVELOPE, DATE)


@pytest.mark.parametrize("length", [10, 77, 200, 900])
def test_long_ids_stay_whole(length: int) -> None:
    long_id = f"<{'x' * length}@mail.example.com>"
    envelope = replace(
        ENVELOPE, message_id=long_id, in_reply_to=long_id, references=(ROOT, long_id)
    )
    raw = serialise(mail(), envelope, DATE)
    for name in ("Message-ID", "In-Reply-To"):
        assert f"\r\n{name}: {long_id}\r\n".encode() in raw
    assert f"\r\nReferences: {ROOT}\r\n {long_id}\r\n".encode() in raw
    assert b"=?" not in raw


@pytest.mark.parametrize("length", [50, 200, 1500])
@pytest.mark.parametrize("title", ["Refund", "Zurück \N{EURO SIGN}" * 100])
def test_a_long_link_arrives_whole_in_both_parts(length: int, title: str) -> None:
    link = "https://sayso.example.com/a/" + "A=b_c" * (length // 5)
    card = replace(CARD, title=title, body=title)
    raw = serialise(question(Delivery("ada@example.com", card, link=link)), ENVELOPE, DATE)
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    plain, html = parsed(raw).iter_parts()
    assert link in content(plain).split("\n")
    assert f'href="{link}"' in content(html)


@pytest.mark.parametrize(
    "title",
    [
        "x\r\nBcc: evil@example.com",
        "x\nBcc: evil@example.com",
        "x\r\n\r\nbody",
        "x\r\n Bcc: evil@example.com",
        "=?UTF-8?Q?=0A?=Bcc: evil@example.com",
        "=?utf-8?q?x=0D=0ABcc:_evil@example.com?=",
        "=?UTF-8?B?Cg==?=Bcc: evil@example.com =?UTF-8?B?Cg==?=",
        "é =?UTF-8?Q?=0A?=Bcc: evil@example.com",
        "x\u2028Bcc: evil@example.com",
        "x\x85Bcc: evil@example.com",
        "x\x0bBcc: evil@example.com",
        "x\x00Bcc: evil@example.com",
    ],
)
def test_a_title_adds_no_header(title: str) -> None:
    subject = subject_of(Delivery("ada@example.com", replace(CARD, title=title)))
    raw = serialise(mail(subject), ENVELOPE, DATE)
    read = parsed(raw)
    assert read.keys() == HEADERS
    assert not re.search(rb"(?im)^bcc:", raw)
    # Nor when the next system on the way writes the headers anew.
    assert not re.search(rb"(?im)^bcc:", read.as_bytes(policy=email.policy.SMTP))


@settings(max_examples=200)
@given(st.text(max_size=200))
@example("é" * 140)
@example("a" * 140)
@example("x =?utf-8?q?=41?= y")
@example("\N{GRINNING FACE} " * 60)
def test_any_title_arrives_as_it_was_sent(title: str) -> None:
    subject = subject_of(Delivery("ada@example.com", replace(CARD, title=title)))
    raw = serialise(mail(subject), ENVELOPE, DATE)
    head = raw.split(b"\r\n\r\n")[0]
    assert head.isascii()
    assert all(len(line) <= 200 for line in head.split(b"\r\n"))
    read = parsed(raw)
    assert read.keys() == HEADERS
    assert read["Subject"] == subject


@settings(max_examples=100)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=300))
def test_any_body_arrives_as_it_was_sent(text: str) -> None:
    raw = serialise(mail(text=f"{text}\n", html=f"<p>{text}</p>"), ENVELOPE, DATE)
    plain, html = parsed(raw).iter_parts()
    assert content(plain).rstrip("\n") == text.rstrip("\n")
    assert content(html).rstrip("\n") == f"<p>{text}</p>"


@pytest.mark.parametrize(
    "broken",
    [
        replace(ENVELOPE, recipient="ada@example.com\r\nBcc: evil@example.com"),
        replace(ENVELOPE, message_id="<a\n@b>"),
        replace(ENVELOPE, references=("<a@b>\r\nX: y",)),
        replace(ENVELOPE, in_reply_to="<\x00@b>"),
        replace(ENVELOPE, message_id=f"<{'x' * 1000}@b>"),
    ],
)
def test_a_header_that_cannot_be_written_is_refused(broken: Envelope) -> None:
    with pytest.raises(ValueError, match="header"):
        serialise(mail(), broken, DATE)


def test_an_id_is_repeatable_and_says_nothing() -> None:
    one = message_id("mail.example.com", "asked", "intr-1", "ada@example.com")
    assert one == message_id("mail.example.com", "asked", "intr-1", "ada@example.com")
    assert one != message_id("mail.example.com", "asked", "intr-1ada", "@example.com")
    assert "ada" not in one
    assert len(one) <= 77


@pytest.mark.parametrize(
    ("given_address", "expected"),
    [
        ("ada@example.com", "ada@example.com"),
        ("Ada.L+x@EXAMPLE.Com", "Ada.L+x@example.com"),
        ("a@xn--bcher-kva.example", "a@xn--bcher-kva.example"),
        ("root@localhost", "root@localhost"),
        (f"{'a' * 64}@b.example", f"{'a' * 64}@b.example"),
    ],
)
def test_addresses_that_are_taken(given_address: str, expected: str) -> None:
    assert canonical(given_address) == expected


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "@example.com",
        "ada@",
        "Ada <ada@example.com>",
        "ada@example.com, eve@example.com",
        "ada@example.com;eve@example.com",
        "ada@example.com\r\nBcc: x@y.z",
        "ada@example.com\n",
        " ada@example.com",
        '"a b"@example.com',
        "ada@[127.0.0.1]",
        "a..b@example.com",
        ".a@example.com",
        "ada@-x.example",
        "ada@x..example",
        "ada@exämple.com",
        "ädä@example.com",
        "ada@eve@example.com",
        "ada\x00@example.com",
        f"{'a' * 65}@b.example",
        f"a@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.{'f' * 60}",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="mail address"):
        canonical(address)


@pytest.mark.parametrize(
    ("url", "host", "port", "implicit", "starttls"),
    [
        ("smtps://u:p%40w@mail.example.com", "mail.example.com", 465, True, False),
        ("smtp://u:p%40w@mail.example.com", "mail.example.com", 587, False, True),
        ("smtp://u:p%40w@mail.example.com:2525", "mail.example.com", 2525, False, True),
        ("smtp://u:p%40w@127.0.0.1:1025", "127.0.0.1", 1025, False, False),
        ("smtp://u:p%40w@[::1]:1025", "::1", 1025, False, False),
        ("smtp://u:p%40w@localhost.example.com", "localhost.example.com", 587, False, True),
    ],
)
def test_tls_is_a_condition_beyond_loopback(
    url: str, host: str, port: int, implicit: bool, starttls: bool
) -> None:
    settings_read = EmailSettings(url, "sayso@example.com")
    server = settings_read.server
    assert (server.host, server.port) == (host, port)
    assert (server.implicit_tls, server.starttls) == (implicit, starttls)
    assert (server.username, server.password) == ("u", "p@w")
    assert "p@w" not in repr(settings_read) + repr(server)
    assert "p%40w" not in repr(settings_read) + repr(server)


@pytest.mark.parametrize(
    ("url", "sender"),
    [
        ("http://u:hunter2@mail.example.com", "a@b.example"),
        ("smtp://", "a@b.example"),
        ("smtp://u:hunter2@mail.example.com:x", "a@b.example"),
        ("smtp://u:hunter2@mail.example.com/path", "a@b.example"),
        ("smtps://u:hunter2@mail.example.com", "nobody"),
        ("smtps://u:hunter2@mail.example.com", "Sayso\r\nBcc: x <a@b.example>"),
    ],
)
def test_wrong_settings_are_refused_without_the_password(url: str, sender: str) -> None:
    with pytest.raises(ValueError, match=r"mail|smtp") as refused:
        EmailSettings(url, sender)
    assert "hunter2" not in str(refused.value)
