"""A mail -> the bytes that go over SMTP. Pure.

The header lines are written here and not by `email.policy`, which turns any word that does not fit
into 78 columns into encoded words: long message ids and URLs don't survive that. Bytes are handed
to the SMTP client, which would otherwise fold an `EmailMessage` once more in that very way.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr
from typing import Final, Literal

from adapters.email.render import Mail
from adapters.texts import as_utc

MAX_HEADER_LINE: Final = 998
"""RFC 5322 2.1.1, without the line end."""

_LINE: Final = re.compile(r"[\x20-\x7e]*")
_FOLD: Final = "\r\n "


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who writes to whom, and where the mail stands in its thread.

    `reply_to` is where a reply goes, when not to the sender. `bounces_to` is the envelope's sender
    (VERP: it says of which mail a bounce speaks), when not the sender; an acknowledgement has the
    null sender `<>` and is `auto-replied` (RFC 3834 3.1.7).
    """

    sender_name: str
    sender: str
    recipient: str
    message_id: str
    references: tuple[str, ...] = ()
    in_reply_to: str = ""
    reply_to: str = ""
    bounces_to: str = ""
    automatic: Literal["auto-generated", "auto-replied"] = "auto-generated"
    language: str = ""

    @property
    def mail_from(self) -> str:
        """What is said after MAIL FROM."""
        if self.automatic == "auto-replied":
            return ""
        return self.bounces_to or self.sender

    @property
    def mark(self) -> str:
        """The handle of `bounces_to` alone: what a mail is known by in the delivery reports of a
        provider that takes no envelope sender of ours. "" where bounces arrive nowhere."""
        return self.bounces_to.partition("@")[0].rpartition("+")[2]


def message_id(domain: str, *parts: str) -> str:
    """The id of one mail: the same for the same parts, so a mail that a crash sent twice is known
    to be one. Below 77 columns with any sensible domain; says nothing about the parts."""
    digest = hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]
    return f"<{digest}@{domain}>"


def headers(mail: Mail, envelope: Envelope, date: datetime) -> list[tuple[str, str]]:
    """The header fields, folded where they are long. Raises `ValueError` for one that can't be
    written: what is no text of one line never gets into a header."""
    found = [
        ("From", _sender(envelope)),
        ("To", envelope.recipient),
        ("Reply-To", envelope.reply_to),
        ("Subject", _subject(mail.subject)),
        ("Date", format_datetime(as_utc(date))),
        ("Message-ID", envelope.message_id),
        ("In-Reply-To", envelope.in_reply_to),
        ("References", _FOLD.join(envelope.references)),
        ("Content-Language", envelope.language),
        # RFC 3834: no holiday notice answers this. The second one says it to Exchange; never `All`,
        # which would silence the bounces too.
        ("Auto-Submitted", envelope.automatic),
        ("X-Auto-Response-Suppress", "OOF, AutoReply"),
    ]
    for name, value in found:
        _check(name, value)
    return [(name, value) for name, value in found if value]


def serialise(mail: Mail, envelope: Envelope, date: datetime) -> bytes:
    """The whole message, CRLF line ends. Raises `ValueError` for a header that can't be written."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers(mail, envelope, date))
    return head.encode("ascii") + _content(mail, envelope.message_id)


def _sender(envelope: Envelope) -> str:
    name = envelope.sender_name
    if name.isascii():
        return formataddr((name, envelope.sender))
    return f"{_words(name, 'From')} <{envelope.sender}>"


def _subject(text: str) -> str:
    """The subject as a header value: ASCII as it is, else encoded words of at most 75 columns."""
    if text.isascii() and len(text) < 200:
        return text
    return _words(text, "Subject")


def _words(text: str, name: str) -> str:
    return Header(text, "utf-8", maxlinelen=76, header_name=name).encode(linesep="\r\n")


def _check(name: str, value: str) -> None:
    """The only line break in a header is a fold that was made here: CRLF and a space."""
    for line in f"{name}: {value}".split(_FOLD):
        if not _LINE.fullmatch(line) or len(line) >= MAX_HEADER_LINE:
            raise ValueError(
                f"the {name} header can't be written: it is too long or not plain text"
            )


def _content(mail: Mail, seed: str) -> bytes:
    """The MIME headers and the bodies: plain text first, then what is preferred."""
    content = EmailMessage(policy=SMTP)
    content.set_content(mail.text, cte=_encoding(mail.text))
    content.add_alternative(mail.html, subtype="html", cte=_encoding(mail.html))
    # "=_" can stand in neither encoding, so no body can hold the boundary.
    content.set_boundary(f"=_{hashlib.sha256(seed.encode()).hexdigest()[:24]}")
    return content.as_bytes()


def _encoding(text: str) -> str:
    """Whichever is shorter. Both keep every line below 77 columns and survive every relay."""
    foreign = sum(len(each.encode()) for each in text if not each.isascii())
    return "base64" if foreign * 6 > len(text) else "quoted-printable"
