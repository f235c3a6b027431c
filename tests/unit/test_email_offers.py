"""What a mail says a reply can do: never more than receiving takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.channel import Delivery
from adapters.email import render
from adapters.email.codes import short_codes
from adapters.email.inbound.commands import line_decides
from adapters.email.offers import offer_of
from adapters.languages.catalogue import locales, words_of
from adapters.views import Action, Card, Field, Form, Reader

HANDLE = "r" + "a" * 26
APPROVAL = Card(
    interrupt_id="intr-1",
    kind="approval",
    state="open",
    version=1,
    title="Refund 4411",
    actions=(
        Action("accept", "Approve"),
        Action("refine", "Ask for changes", needs="refinement"),
        Action("reject", "Reject", needs="reason"),
    ),
)
QUESTIONS = replace(
    APPROVAL,
    kind="clarification",
    title="2 questions",
    actions=(Action("answer", "Answer", needs="answers"),),
    form=Form(
        "2 questions",
        (
            Field("f0", ("answers", "a"), "Which city?", "text", required=True),
            Field("f1", ("answers", "b"), "How many?", "integer"),
        ),
    ),
)
ONE = Form("1", QUESTIONS.form.fields[:1]) if QUESTIONS.form else None
TURN = replace(
    QUESTIONS, kind="conversation.exchange", form=Form("", (Field("f0", (), "R", "longtext"),))
)


@pytest.mark.parametrize("locale", locales())
def test_each_line_that_is_offered_decides(locale: str) -> None:
    card = replace(APPROVAL, reader=Reader(locale))
    offer = offer_of(card, HANDLE, "decide")
    assert offer is not None
    codes = short_codes(HANDLE)
    assert len(offer.lines) == len(codes) == 2
    for line, (code, decision) in zip(offer.lines, codes.items(), strict=True):
        assert code in line
        assert line_decides(code, locale, codes) == decision
        word = words_of(locale).all_of(f"reply.{decision}")[0]
        assert word in line
        assert line_decides(word, locale, codes) == decision
        # Quoted whole, the line itself decides nothing.
        assert line_decides(line, locale, codes) is None


def test_what_needs_more_than_a_word_is_not_offered() -> None:
    risky = replace(
        APPROVAL, actions=(Action("accept", "Approve", confirm="Sure?"), *APPROVAL.actions[1:])
    )
    offer = offer_of(risky, HANDLE, "decide")
    assert offer is not None
    assert [line[0] for line in offer.lines] == ["R"]
    only = replace(APPROVAL, actions=APPROVAL.actions[1:2])
    assert "comment" in offer_of(only, HANDLE, "decide").sentence  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("card", "policy", "says"),
    [
        (QUESTIONS, "decide", "with its number"),
        (replace(QUESTIONS, form=ONE), "decide", "by replying to this mail."),
        (TURN, "decide", "by replying to this mail."),
        (replace(QUESTIONS, form=None), "decide", "to comment"),
        (replace(QUESTIONS, kind="custom"), "decide", "to comment"),
        (QUESTIONS, "comment", "to comment"),
        (APPROVAL, "comment", "to comment"),
    ],
)
def test_the_sentence(card: Card, policy: str, says: str) -> None:
    offer = offer_of(card, HANDLE, policy)  # type: ignore[arg-type]
    assert offer is not None
    assert says in offer.sentence
    assert offer.lines == ()


def test_where_replies_aren_t_read_nothing_is_offered() -> None:
    assert offer_of(APPROVAL, HANDLE, "off") is None
    assert offer_of(APPROVAL, "", "decide") is None
    assert offer_of(replace(APPROVAL, state="resolved"), HANDLE, "decide") is None


@pytest.mark.parametrize("part", ["text", "html"])
def test_the_mail_shows_it_under_a_line_that_is_cut_at(part: str) -> None:
    delivery = Delivery("ada@example.com", APPROVAL, link="https://s.example/a/h")
    shown = getattr(render.question(delivery, "", offer_of(APPROVAL, HANDLE, "decide")), part)
    assert "--- Reply above this line ---" in shown
    for code in short_codes(HANDLE):
        assert code in shown
    assert "are not read" not in shown
    ended = replace(delivery, card=replace(APPROVAL, state="resolved"))
    late = getattr(render.ending(ended, replies=True), part)
    assert "no longer taken as answers" in late
    assert not any(code in late for code in short_codes(HANDLE))
