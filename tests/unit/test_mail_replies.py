"""What replies say and decide, for every style of `mail_replies`."""

from __future__ import annotations

import pytest

from adapters.email.codes import short_codes
from adapters.email.inbound import words
from adapters.email.inbound.commands import numbered
from adapters.email.inbound.quotes import Sent
from adapters.email.inbound.reading import open_mail, read
from tests.unit.mail_replies import CODES, NAMES, OURS, REPLIES, Reply
from tests.unit.mail_replies_more import MORE

SENT = Sent.of(NAMES, OURS)


@pytest.mark.parametrize("reply", [*REPLIES, *MORE], ids=lambda r: r.name)
def test_a_reply_is_read_as_a_person_reads_it(reply: Reply) -> None:
    mail = open_mail(reply.raw())
    found = read(mail.body, SENT, reply.locale, CODES)  # type: ignore[arg-type]
    assert found.text == reply.text
    assert (found.command.decision if found.command else None) == reply.decides


def test_no_word_means_two_things_in_any_language() -> None:
    assert {w: m for w, m in words.spellings().items() if len(m) > 1} == {}


def test_what_was_said_below_the_word_is_kept_as_its_reason() -> None:
    (reply,) = [r for r in MORE if r.name.startswith("28")]
    found = read(open_mail(reply.raw()).body, SENT, "en", {})
    assert found.command is not None
    assert found.command.rest == "The goods never came."


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("1. Oslo\n2) two nights\n3: yes", {1: "Oslo", 2: "two nights", 3: "yes"}),
        ("Hello,\n\n1: a\n   b\n2. c\n\nBye", {1: "a\n   b", 2: "c\n\nBye"}),
        ("#1) x\n(2) y", {1: "x", 2: "y"}),
        ("１．東京\n２．はい", {1: "東京", 2: "はい"}),
        ("1. a\n1. b\n2. c", {2: "c"}),
        ("4. beyond\n2026. a year\nnothing", {}),
    ],
)
def test_numbered_answers(text: str, answers: dict[int, str]) -> None:
    assert numbered(text, 3) == answers


def test_short_codes_are_the_mails_own() -> None:
    mine, other = short_codes("r" + "a" * 26), short_codes("r" + "b" * 26)
    assert sorted(mine.values()) == ["accept", "reject"]
    assert mine != other
