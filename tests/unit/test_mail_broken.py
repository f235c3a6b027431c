"""Mails that are broken, or made to break their reader: each is read or refused, within bounds."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.email.inbound import commands, dkim_check
from adapters.email.inbound.authenticate import handles_in, unbound
from adapters.email.inbound.bounds import SECONDS, Budget, Unreadable
from adapters.email.inbound.html_text import text_of
from adapters.email.inbound.machines import Automatic, Bounce, Complaint, machine_of
from adapters.email.inbound.quotes import Sent
from adapters.email.inbound.reading import open_mail, read
from adapters.email.inbound.sender import claimed, stamped
from adapters.email.message import message_id
from tests.unit.mail_replies import CODES, NAMES, OURS, REPLIES

KEY = b"v=DKIM1; k=rsa; p=" + base64.b64encode(
    rsa.generate_private_key(public_exponent=65537, key_size=1024)
    .public_key()
    .public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
)
"""A key that is found: only then does DKIM look at the text."""
SENT = Sent.of(NAMES, OURS)
GOOD = REPLIES[0].raw()
LIMIT = SECONDS + 2.0  # seconds of a processor; for a slow one, since the bound itself is `SECONDS`


def whole(raw: bytes) -> str:
    """Everything that is done with a mail short of asking the network. Raises `Unreadable` alone."""
    mail = open_mail(raw)
    machine_of(mail, None, "mail.example.com")
    claimed(mail.head)
    stamped(mail.head, "mx.example.com", "example.com")
    unbound(mail, frozenset({"<a@b>"}), "A1B2C3D4", 1.8e9)
    handles_in(mail.head, "r.example.com")
    names, _ = dkim_check.keys_of(raw, mail.head, "example.com", 1.8e9)
    dkim_check.verify(raw, mail.head, "example.com", 1.8e9, dict.fromkeys(names, KEY))
    return read(mail.body, SENT, "en", CODES).text  # type: ignore[arg-type]


def mixed(parts: int, kind: str = "text/plain") -> bytes:
    body = "".join(f"--b\r\nContent-Type: {kind}\r\n\r\nx\r\n" for _ in range(parts))
    return f"Content-Type: multipart/mixed; boundary=b\r\n\r\n{body}--b--\r\n".encode()


def nested(depth: int) -> bytes:
    return b"".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n".encode()
        for n in range(depth)
    )


def html(body: str) -> bytes:
    return b"Content-Type: text/html; charset=utf-8\r\n\r\n" + body.encode()


def headed(line: str) -> bytes:
    return f"From: a@example.com\r\n{line}\r\n\r\nhello\r\n".encode("utf-8", "surrogateescape")


def under_a_signature(body: bytes) -> bytes:
    """With a signature that has to be computed to be refused."""
    digest, signature = base64.b64encode(b"h" * 32).decode(), base64.b64encode(b"s" * 128).decode()
    return (
        "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=s1;\r\n"
        f" h=from:subject:date:message-id; bh={digest}; b={signature}\r\nFrom: a@example.com\r\n"
        "Subject: x\r\nDate: Mon, 30 Nov 2026 09:14:00 +0000\r\nMessage-ID: <a@example.com>\r\n\r\n"
    ).encode() + body


BOMBS: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "line ends": lambda: b"\r\n" * 100_000,
    "one line": lambda: b"x" * 4_000_000,
    "nul": lambda: b"\0" * 1_000_000,
    "a thousand multiparts": lambda: nested(1000),
    "nested within the bound": lambda: nested(15) + b"\r\nhello",
    "a thousand messages": lambda: b"Content-Type: message/rfc822\r\n\r\n" * 1000,
    "100,000 parts": lambda: mixed(100_000),
    "delimiters that are none": lambda: (
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"\n--bb" * 800_000
    ),
    "delimiters in one line": lambda: (
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"x--b" * 1_000_000
    ),
    "50,000 encoded words": lambda: headed("Subject: " + "=?utf-8?q?a?= " * 50_000),
    "encoded words within the bound": lambda: headed("Subject: " + "=?utf-8?q?a?= " * 500),
    "50,000 quotes": lambda: headed('From: "' + '"' * 50_000),
    "quotes within the bound": lambda: headed("From: " + '"' * 8000),
    "brackets": lambda: headed("From: " + "(" * 8000 + "a@b.example"),
    "20,000 addresses": lambda: headed("To: " + "a@b.example, " * 20_000),
    "addresses within the bound": lambda: headed("To: " + "a@b.example, " * 600),
    "20,000 parameters": lambda: headed("Content-Type: text/plain" + "; a=b" * 20_000),
    "parameters within the bound": lambda: headed("Content-Type: text/plain" + "; a*0=b" * 1100),
    "a million header lines": lambda: b"A: b\r\n" * 1_000_000,
    "references": lambda: headed("References: " + "<" * 8000),
    "a thousand stamps": lambda: headed(
        "\r\n".join(f"Authentication-Results: x{n}; (((((dmarc=pass" for n in range(250))
    ),
    "a deep comment in a stamp": lambda: headed(
        "Authentication-Results: mx.example.com; " + "(" * 7000
    ),
    "signatures": lambda: headed(
        "\r\n".join("DKIM-Signature: v=1; a=rsa-sha256; d=example.com" for _ in range(200))
    ),
    "a signature with blanks in it": lambda: headed(
        "Subject: x\r\nDate: x\r\nMessage-ID: <a@b>\r\nDKIM-Signature: v=1; a=rsa-sha256; d=example.com;"
        " h=from:subject:date:message-id; bh=AA; b=" + "A" * 1000 + " " * 6000 + "!"
    ),
    "a text of blanks": lambda: under_a_signature(b" " * 4_000_000 + b"x\r\n"),
    "lines of blanks": lambda: under_a_signature((b" " * 990 + b"x\r\n") * 4000),
    "blanks within the bound": lambda: under_a_signature((b" " * 10_000 + b"x\r\n") * 2),
    "short runs of blanks": lambda: under_a_signature((b" " * 60 + b"x") * 80_000),
    "empty lines": lambda: under_a_signature(b"\r\n" * 1_000_000),
    "On On On": lambda: b"\r\n" + b"On " * 20_000,
    "On, wrapped": lambda: b"\r\n" + b"On 1\n" * 20_000,
    "quoted lines": lambda: b"\r\n" + b"> x\n" * 200_000,
    "colons": lambda: b"\r\n" + b"a:\n" * 100_000,
    "header lines": lambda: b"\r\n" + b"From: x\nSent: y\n" * 50_000,
    "our own lines": lambda: b"\r\n" + OURS.encode() * 2000,
    "underscores": lambda: b"\r\n" + b"_" * 200_000 + b"\n" + b"-" * 200_000,
    "flowed": lambda: b"Content-Type: text/plain; format=flowed\r\n\r\n" + b"a \r\n" * 50_000,
    "100,000 divs": lambda: html("<div>" * 100_000 + "x"),
    "100,000 quotes in HTML": lambda: html("<blockquote>" * 20_000 + "x"),
    "open comments": lambda: html("<!--" * 60_000),
    "open tags": lambda: html("<a " * 80_000),
    "attributes": lambda: html("<a " + "b=c " * 60_000 + ">x"),
    "entities": lambda: html("&amp;" * 50_000 + "&#x41;" * 10_000),
    "an XML bomb": lambda: html(
        '<!DOCTYPE a [<!ENTITY b "' + "b" * 1000 + '"><!ENTITY c "&b;&b;&b;&b;">]><p>&c;&c;</p>'
    ),
    "tables": lambda: html("<table><tr><td>" * 20_000),
    "styles": lambda: html('<p style="' + "display :" * 20_000 + '">x</p>' * 100),
    "base64": lambda: (
        b"Content-Transfer-Encoding: base64\r\n\r\n" + b"=" * 1_000_000 + b"QQ" * 100_000
    ),
    "quoted-printable": lambda: (
        b"Content-Transfer-Encoding: quoted-printable\r\n\r\n" + b"=" * 2_000_000
    ),
    "no charset of this world": lambda: b"Content-Type: text/plain; charset=x-foo\r\n\r\n\xff\xfe",
    "a charset that is a codec": lambda: (
        b"Content-Type: text/plain; charset=punycode\r\n\r\n" + b"a-" * 100_000
    ),
    "reports": lambda: (
        b"Content-Type: message/delivery-status\r\n\r\n" + b"Action: failed\r\n\r\n" * 100_000
    ),
    "numbers": lambda: b"\r\n" + b"1. a\n" * 100_000,
    "Exchange's id": lambda: headed("Message-ID: <[abc@microsoft.com]>"),
    "a parameter without a name": lambda: headed("Content-Type: text/plain; name*"),
    "a comment for an address": lambda: headed("To: (c):"),
    "a line end in a name": lambda: headed("From: =?UTF-8?Q?=0AMy?= <a@example.com>"),
    "bytes in a header": lambda: headed("Subject: \udcff\udcfe"),
    "a year": lambda: headed("Date: Mon, 30 Nov 99999999999999999999 09:14:00 +9999"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_read_or_refused_in_time(name: str) -> None:
    raw = BOMBS[name]()
    started = time.thread_time()
    with contextlib.suppress(Unreadable):
        assert len(whole(raw)) <= 20_000
    assert time.thread_time() - started < LIMIT


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=3000))
def test_no_bytes_are_more_than_unreadable(raw: bytes) -> None:
    with contextlib.suppress(Unreadable):
        whole(raw)


_CUTS = st.lists(
    st.tuples(st.integers(0, len(GOOD)), st.integers(0, 40), st.binary(max_size=20)), max_size=6
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_CUTS, st.sampled_from(REPLIES))
def test_no_damage_is_more_than_unreadable(
    cuts: list[tuple[int, int, bytes]], reply: object
) -> None:
    raw = reply.raw()  # type: ignore[attr-defined]
    for at, length, put in cuts:
        raw = raw[:at] + put + raw[at + length :]
    with contextlib.suppress(Unreadable):
        whole(raw)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["en", "de", "fr", "es", "ja", ""]))
def test_more_than_a_word_on_the_first_line_never_decides(text: str, locale: str) -> None:
    """Whatever is added to a word on its line, it is a decision no longer."""
    added = " ".join(text.split())
    if commands.read(f"approve {added}", locale, {}) is not None:
        assert not any(char.isalnum() for char in added) or commands.line_decides(
            f"approve {added}", locale, {}
        )


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=2000))
def test_html_of_any_kind_becomes_text(text: str) -> None:
    assert isinstance(text_of(text, Budget()), str)
    assert "script" not in text_of("<script>script</script>" + "<p>x</p>", Budget())


DSN = (
    b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n"
    b"--b\r\n\r\nIt failed.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n"
    b"Reporting-MTA: dns; mx.example.com\r\n\r\nFinal-Recipient: rfc822; ada@example.com\r\n"
    b"Action: %s\r\nStatus: %s\r\nDiagnostic-Code: smtp; %s\r\n\r\n--b--\r\n"
)


@pytest.mark.parametrize(
    ("action", "status", "said", "failed", "gone"),
    [
        (b"failed", b"5.1.1", b"550 5.1.1 no such user", True, True),
        (b"failed", b"5.0.0", b"550 5.1.1 <ada@example.com>: unknown", True, True),
        (b"failed", b"5.0.0", b"550 something", True, False),
        (b"failed", b"5.2.2", b"552 5.2.2 mailbox full", True, False),
        (b"failed", b"5.7.1", b"550 5.7.1 policy", True, False),
        (b"failed", b"5.4.4", b"no such domain", True, True),
        (b"delayed", b"4.4.1", b"no answer", False, False),
        (b"failed", b"4.4.7", b"too long in the queue", True, False),
        (b"delivered", b"2.0.0", b"250 ok", False, False),
        (b"relayed", b"2.0.0", b"", False, False),
    ],
)
def test_delivery_reports(
    action: bytes, status: bytes, said: bytes, failed: bool, gone: bool
) -> None:
    found = machine_of(open_mail(DSN % (action, status, said)), "", "mail.example.com")
    assert isinstance(found, Bounce)
    assert (found.failed, found.gone) == (failed, gone)


def test_complaints_and_other_machines() -> None:
    arf = (
        b"Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n"
        b"--b\r\n\r\nThis is spam.\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\n"
        b"Feedback-Type: abuse\r\nUser-Agent: x/1\r\n\r\n--b--\r\n"
    )
    assert machine_of(open_mail(arf), "", "d") == Complaint("abuse")
    out = b"Auto-Submitted: auto-replied\r\nSubject: Abwesend\r\n\r\nJa\r\n"
    assert machine_of(open_mail(out), "ada@example.com", "d") == Automatic("Auto-Submitted")
    person = (
        b"Auto-Submitted: no\r\nX-Auto-Response-Suppress: All\r\nFrom: a@b.example\r\n\r\nyes\r\n"
    )
    assert machine_of(open_mail(person), "a@b.example", "d") is None
    own = f"Message-ID: {message_id('b.example', 'asked')}\r\nFrom: a@b.example\r\n\r\nyes\r\n"
    assert machine_of(open_mail(own.encode()), "a@b.example", "b.example") is not None
    colleague = b"Message-ID: <8b1f-22@b.example>\r\nFrom: a@b.example\r\n\r\nyes\r\n"
    assert machine_of(open_mail(colleague), "a@b.example", "b.example") is None
