"""Untrusted text in Slack: it pings nobody, links nowhere it doesn't show, and breaks no card or modal."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adapters.inbox import Listing
from adapters.languages.catalogue import ENGLISH
from adapters.reminders import Reminder
from adapters.slack import blocks, changes, listing, markdown, modal, reminding, render, review
from adapters.slack.modal import Binding
from adapters.views import Action, Card, Choice, Fact, Field, Form, Thread
from tests.fakes.slack_blocks import (
    MESSAGE_TEXT,
    check_home,
    check_message,
    check_view,
    message_text_length,
)

# Without shrinking: a card has many texts, and a failure is readable as it is.
QUICK = settings(
    max_examples=25, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)
AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
NASTY = (
    "<!channel>", "<!here>", "<!subteam^S0123>", "<@U0ADA>", "<#C0OPS>", "<https://evil.example|safe>",
    "<mailto:a@evil.example|b>", "<!date^1^{date}^https://evil.example|x>", "@here", "@channel", "`",
    "```", "*", "_", "~", "&", "&lt;", "&lt;!channel&gt;", "[bank](https://evil.example)",
    "![x](https://evil.example/x.png)", "[a]: https://evil.example", "[a][a]", "](", "\u202e", "\u2066",
    "\u200b", "\u200d", "\ufeff", "\x00", "\ud800", "\u2028", "\u3164", "\n", "\r\n", " ", "😀",
    "https://evil.example", "> quoted", "# heading", "x" * 200, "<" * 100,
)  # fmt: skip
text = st.lists(st.one_of(st.sampled_from(NASTY), st.characters()), max_size=6).map("".join)
long_text = st.one_of(text, text.map(lambda one: one * 15))
facts = st.lists(st.builds(Fact, text, long_text), max_size=3).map(tuple)
choices = st.lists(st.builds(Choice, st.integers(), text, text), min_size=1, max_size=6)
fields = st.builds(
    Field,
    st.just("f0"),
    st.just(("answers", "q")),
    text,
    st.sampled_from(
        ["text", "longtext", "choice", "choices", "boolean", "list", "json", "constant"]
    ),
    st.booleans(),
    text,
    text,
    choices.map(tuple),
)
forms = st.builds(Form, text, st.tuples(fields), text, text)
ACTIONS = (
    Action("accept", "Approve", "primary", confirm="Sure?"),
    Action("edit-accept", "Edit and approve", needs="edit"),
    Action("refine", "Ask for changes", needs="refinement"),
    Action("ask", "Ask a question", needs="question"),
    Action("reject", "Reject", "danger", needs="reason"),
)
cards = st.builds(
    Card,
    st.just("acme/01K4W7Q8X9T3B6"),
    st.just("approval"),
    st.sampled_from(["open", "resolved", "expired", "cancelled"]),
    st.integers(1, 99),
    long_text,
    body=long_text,
    facts=facts.map(lambda some: some * 4),
    evidence=long_text,
    actions=st.just(ACTIONS),
    form=st.one_of(st.none(), forms),
    asked=st.integers(0, 9),
    discussion=st.lists(st.builds(Fact, text, long_text), max_size=2).map(
        lambda one: tuple(one * 3)[:5]
    ),
    progress=text,
    deadline=st.one_of(st.none(), st.just(AT)),
    at_deadline=text,
    outcome=text,
    decided_by=text,
    reason=long_text,
    link=st.sampled_from(["", "https://sayso.example/a/x"]),
)
OURS = re.compile(r"<!date\^\d+\^\{date_short_pretty\} \{time\}\|[0-9: -]+ UTC>|<@U0ADA>")


def spoken(value: Any, kind: str = "") -> Iterator[tuple[str, str]]:
    """All texts of blocks, with the kind of object that they stand in."""
    if isinstance(value, dict):
        inner = str(value.get("type", kind))
        if isinstance(value.get("text"), str):
            yield inner, value["text"]
        for one in value.values():
            yield from spoken(one, inner)
    elif isinstance(value, list):
        for one in value:
            yield from spoken(one, kind)


def check_harmless(found: Any) -> None:
    """No text that Slack reads for tokens holds one that is not ours."""
    for kind, words in spoken(found):
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x00\ud800-\udfff]", words)
        if kind in ("mrkdwn", "markdown"):
            left = OURS.sub("", words)
            assert "<" not in left
            assert ">" not in left
        if kind == "markdown":
            assert "](" not in words
            assert not re.search(r"@(here|channel|everyone)\b", words, re.IGNORECASE)
    for one in objects(found):
        assert one.get("type") != "mrkdwn" or one["verbatim"] is True


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in blocks."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from objects(one)


def check_spoken(words: str) -> None:
    """The top-level text: no token, no ping, short enough for an update."""
    left = OURS.sub("", words)
    assert "<" not in left
    assert ">" not in left
    assert not re.search(r"@(here|channel|everyone)\b", left, re.IGNORECASE)
    assert 0 < len(words) <= 4000


@QUICK
@given(card=cards)
def test_no_card_is_refused_or_does_anything(card: Card) -> None:
    for message in (render.card(card, card.link), render.minimal(card, card.link)):
        assert check_message(message.blocks) == []
        assert message_text_length(message.blocks) <= MESSAGE_TEXT
        check_harmless(message.blocks)
        check_spoken(message.text)


@QUICK
@given(card=cards, title=text, prompt=long_text, closed=st.one_of(st.just(""), text))
def test_no_turn_is_refused_or_does_anything(
    card: Card, title: str, prompt: str, closed: str
) -> None:
    thread = Thread("c1", title, prompt, closed)
    for message in (render.turn(card, thread, card.link), render.root(card, thread, card.link)):
        assert check_message(message.blocks) == []
        assert message_text_length(message.blocks) <= MESSAGE_TEXT
        check_harmless(message.blocks)
        check_spoken(message.text)


@QUICK
@given(
    waiting=st.lists(cards, max_size=25),
    decided=st.lists(cards, max_size=6),
    page=st.integers(0, 3),
)
def test_no_list_is_refused_or_does_anything(
    waiting: list[Card], decided: list[Card], page: int
) -> None:
    found = Listing(tuple(waiting * 8), more=True)  # more than a page
    home = listing.home(found, decided, ENGLISH, page)
    assert check_home(home) == []
    check_harmless(home["blocks"])
    view = listing.modal(found, ENGLISH, page)
    assert check_view(view) == []
    check_harmless(view["blocks"])
    message = listing.message(found, ENGLISH)
    assert check_message(message.blocks) == []
    assert message_text_length(message.blocks) <= MESSAGE_TEXT
    check_harmless(message.blocks)
    check_spoken(message.text)


@QUICK
@given(card=cards, words=long_text)
def test_no_review_is_refused_or_does_anything(card: Card, words: str) -> None:
    binding = Binding(card.interrupt_id, review.ACTION, card.version)
    for view in (review.view(card, binding, ENGLISH), review.ask_view((card,), words, ENGLISH)):
        assert check_view(view) == []
        check_harmless(view["blocks"])
    details = listing.details(card, ENGLISH)
    assert check_message(details.blocks) == []
    check_spoken(details.text)


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), long_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=40)),
    max_leaves=40,
)


@QUICK
@given(before=values, after=values)
def test_no_list_of_changes_is_refused(before: Any, after: Any) -> None:
    found = changes.differences(before, after)
    if found:
        drawn = changes.blocks(found)
        view = {"type": "modal", "title": blocks.plain("x", 24), "blocks": drawn}
        assert check_view(view) == []
        check_harmless(drawn)
    assert changes.differences(after, after) == []


@QUICK
@given(card=cards)
def test_no_reminder_pings_more_than_those_who_are_named(card: Card) -> None:
    accounts = ("T1/U0ADA", "T1/<!channel>", "T1/u", "nonsense")
    message = reminding.message(Reminder(card, accounts))
    assert check_message(message.blocks) == []
    check_harmless(message.blocks)
    check_spoken(message.text)
    assert message.text.count("<@") == 1


@QUICK
@given(sentence=long_text, kept=long_text, title=text)
def test_no_sentence_in_a_modal_is_refused(sentence: str, kept: str, title: str) -> None:
    view = modal.notice_view(title, sentence, Binding("", "", 0), kept=kept)
    assert check_view(view) == []
    check_harmless(view["blocks"])


@QUICK
@given(words=long_text, limit=st.integers(10, 9000))
def test_markdown_keeps_within_its_limit_after_it_is_escaped(words: str, limit: int) -> None:
    assert len(markdown.safe(words, limit).encode("utf-16-le")) // 2 <= limit


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("**bold** and _more_", "**bold** and _more_"),
        ("- a\n- b\n```\ncode\n```", "- a\n- b\n```\ncode\n```"),
        ("<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"),
        ("&lt;!channel&gt;", "&amp;lt;!channel&amp;gt;"),
        ("[bank](https://evil.example)", "[bank] (https://evil.example)"),
        ("[a][b]\n\n[b]: https://evil.example", "[a] [b]\n\n[b] : https://evil.example"),
        ("![x](https://evil.example/p.png)", "![x] (https://evil.example/p.png)"),
        (
            "@here @Channel @everyone @heres ada@here.example",
            "＠here ＠Channel ＠everyone @heres ada＠here.example",
        ),
        ("https://example.com", "https://example.com"),
    ],
)
def test_markdown_keeps_its_form_and_loses_its_teeth(given_text: str, shown: str) -> None:
    assert markdown.safe(given_text) == shown


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain", "plain"),
        ("a\u202eb", "a\ufffdb"),
        ("a\u200b\u200b\u2066b", "a\ufffdb"),
        ("pay\u200dpal", "pay\ufffdpal"),
        ("\u200dx", "\ufffdx"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u3164b\u2800", "a\ufffdb\ufffd"),
        ("a\r\nb\rc\u2028d\te", "a\nb\nc\nd\te"),
        ("\ud800", "\ufffd"),
        ("so\xadft", "so\ufffdft"),
        ("naïve café 日本語", "naïve café 日本語"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(given_text: str, shown: str) -> None:
    assert blocks.clean(given_text) == shown


@QUICK
@given(text)
def test_cleaning_once_is_enough(words: str) -> None:
    once = blocks.clean(words)
    assert blocks.clean(once) == once


def test_what_is_pushed_out_of_sight_is_told_of() -> None:
    words = "Approve 1 EUR" + " " * 100_000 + "and all the rest"
    assert blocks.plain(words)["text"] == "Approve 1 EUR…"
    assert blocks.header(words)["text"]["text"].endswith("…")
    assert "…" in markdown.safe(words)
    assert "…" in blocks.spoken(words, 300)


def test_a_long_argument_is_cut_with_a_digest_of_all_of_it() -> None:
    evidence = json.dumps({"n": "x" * 5000})
    card = Card("t/1", "approval", "open", 1, "T", evidence=evidence, link="https://x.example/a")
    message = render.card(card, card.link)
    shown = json.dumps(message.blocks, ensure_ascii=False)
    assert hashlib.sha256(evidence.encode()).hexdigest()[:16] in shown
    assert f"{len(evidence):,} characters" in shown
    assert "https://x.example/a" in shown
    short = render.card(Card("t/1", "approval", "open", 1, "T", evidence="{}"))
    assert "SHA-256" not in json.dumps(short.blocks)
