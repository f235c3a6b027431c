"""What a mail says: complete as plain text, safe and small as HTML, no link that decides."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.channel import Delivery
from adapters.email import render
from adapters.views import Action, Card, Fact, Thread

LINK = "https://sayso.example.com/a/" + "h" * 120
CARD = Card(
    interrupt_id="intr-1",
    kind="approval",
    state="open",
    version=1,
    title="Refund 4411",
    body="Billed twice.\nBoth cleared.",
    facts=(Fact("Asked by", "billing-agent"),),
    evidence='{"amount": 4411}',
    actions=(Action("accept", "Approve"), Action("reject", "Reject")),
    progress="1 of 2 approvals",
    deadline=datetime(2026, 12, 3, 19, 30, tzinfo=UTC),
    at_deadline="Then it is rejected.",
    reference="A1B2C3D4",
)
DONE = replace(
    CARD,
    state="resolved",
    outcome="Approved by ada",
    decided_by="ada",
    decided_at=datetime(2026, 12, 1, 8, 5, tzinfo=UTC),
    reason="Checked.",
)


def asked(card: Card = CARD, **more: Any) -> render.Mail:
    return render.question(Delivery("ada@example.com", card, link=LINK, **more))


class Tags(HTMLParser):
    """The tags of a mail, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("part", ["text", "html"])
@pytest.mark.parametrize(
    "said",
    [
        "Refund 4411",
        "Billed twice.",
        "Both cleared.",
        "Asked by",
        "billing-agent",
        "4411}",
        "1 of 2 approvals",
        "3 December 2026, 19:30 UTC",
        "Then it is rejected.",
        "Approve",
        "Reject",
        LINK,
        "A1B2C3D4",
        "decides nothing",
    ],
)
def test_each_part_is_complete_on_its_own(part: str, said: str) -> None:
    assert said in getattr(asked(), part)


def test_the_only_link_is_the_recipients_own_page() -> None:
    tags = Tags(asked().html).tags
    assert [attrs["href"] for _, attrs in tags if "href" in attrs] == [LINK]
    assert not {"img", "script", "form", "link", "input"} & {name for name, _ in tags}
    assert not [attrs for _, attrs in tags if "src" in attrs]
    assert "url(" not in asked().html


def test_without_a_link_there_is_no_dead_button() -> None:
    mail = render.question(Delivery("ada@example.com", CARD))
    assert "href" not in mail.html
    assert "Answer on this page" not in mail.text


@pytest.mark.parametrize("draw", [render.question, render.ending])
def test_the_foot_says_whose_mail_it_is(draw: Any) -> None:
    mail = draw(Delivery("ada@example.com", CARD), "https://sayso.example.com")
    for part in (mail.text, mail.html):
        assert "Sent by Sayso (https://sayso.example.com)." in part
        assert "Replies to this mail are not read" in part


def test_the_page_speaks_for_itself_to_screen_readers_and_dark_mode() -> None:
    tags = Tags(asked().html).tags
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in tags
    assert next(attrs for name, attrs in tags if name == "html")["lang"] == "en"
    assert all(attrs.get("role") == "presentation" for name, attrs in tags if name == "table")
    assert "<title>Refund 4411</title>" in asked().html


@pytest.mark.parametrize("part", ["text", "html"])
def test_the_ending_says_how_and_when(part: str) -> None:
    mail = render.ending(Delivery("ada@example.com", DONE, link=LINK))
    for said in ("Refund 4411", "Approved by ada", "1 December 2026, 08:05 UTC", "Checked."):
        assert said in getattr(mail, part)
    assert LINK not in getattr(mail, part)
    assert mail.subject == asked().subject


@pytest.mark.parametrize("state", ["resolved", "cancelled", "expired"])
def test_an_ending_without_words_of_its_own(state: Any) -> None:
    mail = render.ending(Delivery("ada@example.com", replace(CARD, state=state)))
    assert re.search(r"answered|withdrawn|over", mail.text)


def test_a_turn_shows_its_prompt_under_the_conversations_subject() -> None:
    mail = asked(thread=Thread("conv-1", "Trip to Oslo", prompt="Window or aisle?"))
    assert mail.subject == "Trip to Oslo"
    assert "Window or aisle?" in mail.text


def test_text_of_others_cannot_pass_for_ours() -> None:
    mail = asked(replace(CARD, body="ok\n-- \nAnswer on this page:\nhttps://evil.example"))
    assert "\n  https://evil.example" in mail.text
    assert "\nhttps://evil.example" not in mail.text


@settings(max_examples=60)
@given(st.text(max_size=300))
def test_no_text_of_others_becomes_markup(text: str) -> None:
    card = replace(
        CARD,
        title=f"</title><script>{text}",
        body=f"<img src=x>{text}",
        facts=(Fact(f"<b>{text}", f'"><script>{text}'),),
        evidence=f"</pre><script>{text}",
        actions=(Action("accept", f"<a href=x>{text}"),),
        reference=f"<i>{text}",
    )
    assert not {"script", "img", "b", "i"} & {name for name, _ in Tags(asked(card).html).tags}
    assert Tags(asked(card).html).tags.count(("a", {"href": "x"})) == 0


@pytest.mark.parametrize("letter", ["x", "<", "\N{GRINNING FACE}", "\n", "&"])
def test_no_content_makes_a_mail_that_is_cut(letter: str) -> None:
    much = letter * 200_000
    card = replace(
        CARD,
        title=much,
        body=much,
        evidence=much,
        reason=much,
        outcome=much,
        facts=tuple(Fact(much, much) for _ in range(200)),
        actions=tuple(Action("accept", much) for _ in range(50)),
        progress=much,
        at_deadline=much,
        decided_by=much,
    )
    for state in ("open", "resolved"):
        delivery = Delivery("ada@example.com", replace(card, state=state), link=LINK)  # type: ignore[arg-type]
        for mail in (render.question(delivery), render.ending(delivery)):
            assert len(mail.html.encode()) <= render.MAX_HTML
            assert len(mail.text) < 60_000
            assert len(mail.subject) <= render.MAX_SUBJECT + 30
    assert LINK in render.question(Delivery("a@b.c", card, link=LINK)).html


def test_a_cut_is_said() -> None:
    assert "the page shows the rest" in asked(replace(CARD, body="x" * 10_000)).text


@given(st.text(max_size=400))
def test_a_subject_is_one_safe_line(title: str) -> None:
    subject = asked(replace(CARD, title=title)).subject
    assert subject.splitlines() == [subject]
    assert "=?" not in subject
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", subject)
    assert subject.endswith(" [A1B2C3D4]")
