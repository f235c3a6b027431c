"""The raw bytes of a mail -> what it is and what it says. Pure, and bounded in bytes, parts and time.

Two opinions have to agree before a reply is taken for a decision: the cut by what we sent, on the plain
text, and what mail programs are known to write; and the HTML has to say the same as the plain text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from adapters.email.inbound import clients, commands
from adapters.email.inbound.body import Body, body_of
from adapters.email.inbound.bounds import Budget
from adapters.email.inbound.head import Head
from adapters.email.inbound.mime import Part, parse
from adapters.email.inbound.quotes import Sent, cut
from adapters.email.inbound.words import Decision

MAX_SAID: Final = 20_000
"""Characters of a reply that are kept."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail that could be read."""

    raw: bytes
    root: Part
    body: Body

    @property
    def head(self) -> Head:
        return self.root.head

    @property
    def message_id(self) -> str:
        """The one Message-ID, "" when there is none or more than one."""
        ids = self.head.ids("message-id")
        return ids[0] if len(ids) == 1 else ""

    @property
    def date(self) -> datetime | None:
        """When it says that it was written, in UTC."""
        text = self.head.first("date").decode("ascii", "replace")[:100]
        try:
            found = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """`text` is what the person wrote. `command` is what it decides, if anything; `doubt` says why what
    looked like a decision is none."""

    text: str
    command: commands.Command | None = None
    doubt: str = ""


def open_mail(raw: bytes, budget: Budget | None = None) -> Mail:
    """Raises `Unreadable` beyond the bounds, and nothing else."""
    return Mail(raw, *taken_apart(raw, budget))


def taken_apart(raw: bytes, budget: Budget | None = None) -> tuple[Part, Body]:
    """What `open_mail` computes. Raises `Unreadable`."""
    budget = budget or Budget()
    root = parse(raw, budget)
    return root, body_of(root, budget)


def read(body: Body, sent: Sent, locale: str, codes: dict[str, Decision]) -> Reading:
    """What a reply says and decides. `codes` are the short codes of the mail that it answers."""
    text = cut(body.text, sent)[:MAX_SAID]
    command = commands.read(text, locale, codes)
    if command is None:
        return Reading(text)
    if body.plain.strip() and body.html.strip():
        other = commands.read(cut(body.html, sent), locale, codes)
        if other is None or other.decision != command.decision:
            return Reading(text, doubt="its plain text and its HTML say different things")
    line = commands.first_line("\n".join(clients.own_lines(body.text)))
    if commands.line_decides(line, locale, codes) != command.decision:
        return Reading(text, doubt="it isn't clear which of its lines are new")
    return Reading(text, command)
