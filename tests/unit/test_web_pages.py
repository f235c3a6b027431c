"""What stands on the answer page, for every state and every kind of field."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.views import Action, Card, Choice, Fact, Field, Form
from adapters.web import render
from adapters.web.pages import Typed, card_page, problem_page
from adapters.web.press import SCRIPT
from host.decisions.state import SOMEBODY
from schemas.errors import STATUS
from tests.fakes.answer_doors import APPROVAL, CLARIFICATION, FORMS, PICKED

CHOICES = (Choice(1, "One", "the first"), Choice(True, "Yes"))


class Elements(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [
            attrs
            for name, attrs in self.tags
            if name == tag and all(attrs.get(key) == value for key, value in wanted.items())
        ]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def drawn(card: Card, nonce: str = "NONCE", **page: Any) -> Elements:
    return Elements(render.card_html(card_page(card, **page), nonce))


def of_field(field: Field, **page: Any) -> Elements:
    card = replace(APPROVAL, actions=(Action("answer", "Send", needs="answers"),))
    return drawn(card, forms={"answer": Form("t", (field,))}, **page)


def test_an_open_card_shows_all_that_a_decision_needs() -> None:
    card = replace(
        APPROVAL,
        body="Billed twice.",
        facts=(Fact("Asked by", "billing-agent"),),
        evidence='{"amount": 4411}',
        progress="1 of 2 approvals",
        deadline=datetime(2026, 12, 3, 21, 30, tzinfo=timezone(timedelta(hours=2))),
        at_deadline="Then it is rejected.",
    )
    page = drawn(card, forms=FORMS)
    for part in (
        "Refund 4411",
        "Billed twice.",
        "Asked by billing-agent",
        '{"amount": 4411}',
        "1 of 2 approvals",
        "Then it is rejected.",
        "3 December 2026, 19:30 UTC",
        "A1B2C3D4",
    ):
        assert part in page.text
    assert page.all("time", datetime="2026-12-03T19:30:00Z")


def test_each_choice_is_its_own_form_and_none_is_chosen() -> None:
    page = drawn(APPROVAL, forms=FORMS)
    assert [one["value"] for one in page.all("input", name="action")] == ["accept", "reject", "ask"]
    assert len(page.all("input", name="nonce", value="NONCE")) == 3
    assert len(page.all("form", method="post")) == len(page.all("form")) == 3
    for _, attrs in page.tags:
        assert not {"autofocus", "checked", "selected", "open", "onclick"} & set(attrs)


def test_no_page_loads_runs_or_refreshes_anything() -> None:
    for html in (
        render.card_html(card_page(APPROVAL, forms=FORMS), "n"),
        render.problem_html(problem_page("forbidden", 403)),
    ):
        page = Elements(html)
        assert not {"img", "link", "iframe", "object"} & {name for name, _ in page.tags}
        assert html.count("<script") == html.count(f"<script>{SCRIPT}</script>") <= 1
        assert not page.all("meta", **{"http-equiv": "refresh"})
        assert not any("src" in attrs or "href" in attrs for _, attrs in page.tags)
        assert page.all("html", lang="en")
        assert page.all("meta", name="color-scheme", content="light dark")


def test_the_policy_allows_exactly_our_style() -> None:
    html = render.problem_html(problem_page("forbidden", 403))
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in render.CONTENT_SECURITY_POLICY
    own = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{own}'" in render.CONTENT_SECURITY_POLICY
    assert "unsafe" not in render.CONTENT_SECURITY_POLICY


def test_a_page_with_a_picker_runs_one_more_script_of_ours_that_asks_us_alone() -> None:
    plain, searched = (
        card_page(APPROVAL, forms=FORMS),
        card_page(PICKED, forms={"answer": PICKED.form}),
    )
    assert "Content-Security-Policy" in render.headers_of(plain)
    assert render.headers_of(plain) == render.HEADERS
    assert "connect-src" not in render.CONTENT_SECURITY_POLICY
    html = render.card_html(searched, "n")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert scripts == [SCRIPT, render.SEARCH]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in scripts
    ]
    policy = render.headers_of(searched)["Content-Security-Policy"]
    assert f"script-src {' '.join(hashes)};" in policy
    assert "connect-src 'self';" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("state", "status", "words"),
    [("resolved", 200, "Answered"), ("cancelled", 200, "Withdrawn"), ("expired", 410, "Expired")],
)
def test_an_ended_card_says_how_and_offers_nothing(state: Any, status: int, words: str) -> None:
    card = replace(
        APPROVAL,
        state=state,
        outcome="This is how it ended",
        decided_by="grace",
        decided_at=datetime(2026, 12, 1, 8, 5, tzinfo=UTC),
        reason="Checked.",
    )
    made = card_page(card, forms=FORMS)
    page = Elements(render.card_html(made, ""))
    assert made.status == status
    for part in (words, "This is how it ended", "grace", "1 December 2026, 08:05 UTC", "Checked."):
        assert part in page.text
    assert not page.all("form")


def test_who_may_not_answer_sees_no_buttons() -> None:
    page = drawn(APPROVAL, may_answer=False, forms=FORMS)
    assert not page.all("form")
    assert "this link can't answer it" in page.text


def test_the_reader_is_named() -> None:
    page = drawn(APPROVAL, reader="Ada <b>")
    assert "This link was made for Ada <b> alone" in page.text
    assert not page.all("b")


def test_a_link_for_nobody_in_particular_claims_no_reader() -> None:
    page = drawn(APPROVAL, reader=SOMEBODY)
    assert "Whoever has this link can answer with it." in page.text
    assert SOMEBODY not in page.text


def test_a_form_is_not_preceded_by_its_own_questions() -> None:
    card = replace(CLARIFICATION, title="2 questions", body="• Street\n• How many")
    page = drawn(card, forms={"answer": card.form})
    assert "• Street" not in page.text
    assert "• Street" in drawn(card, may_answer=False).text  # there is no form then
    assert drawn(replace(card, title="Hi", body="Hi"), may_answer=False).text.count("Hi") == 2


def test_what_was_asked_about_it_is_shown() -> None:
    said = (Fact("Grace", "Which account?"),)
    assert (
        "Questions so far Grace: Which account?" in drawn(replace(APPROVAL, discussion=said)).text
    )


def test_a_risky_choice_asks_first() -> None:
    card = replace(APPROVAL, actions=(Action("accept", "Approve", confirm="I checked it."),))
    page = drawn(card)
    assert len(page.all("details")) == 1
    assert len(page.all("input", name="confirmed", value="yes", type="checkbox")) == 1
    assert "I checked it." in page.text


@pytest.mark.parametrize(
    ("kind", "tag", "wanted"),
    [
        ("text", "input", {"type": "text"}),
        ("longtext", "textarea", {}),
        ("list", "textarea", {}),
        ("json", "textarea", {"class": "code"}),
        ("email", "input", {"type": "email"}),
        ("url", "input", {"type": "url"}),
        ("date", "input", {"type": "date"}),
        ("time", "input", {"type": "time"}),
        ("datetime", "input", {"type": "datetime-local"}),
        ("integer", "input", {"type": "text"}),
        ("number", "input", {"type": "text"}),
    ],
)
def test_every_kind_has_its_labelled_control(kind: Any, tag: str, wanted: dict[str, str]) -> None:
    page = of_field(Field("f0", ("a",), "The label", kind, required=True, hint="A hint"))
    assert page.all(tag, id="answer-f0", name="v.f0", **wanted)
    assert page.all("label", **{"for": "answer-f0"})
    assert page.all(tag, **{"aria-describedby": "answer-f0-hint"})


@pytest.mark.parametrize(
    ("kind", "minimum", "mode"),
    [
        ("integer", 0, "numeric"),
        ("number", 0.5, "decimal"),
        ("integer", None, None),  # a phone's keypad of digits has no minus
        ("number", -1, None),
    ],
)
def test_a_keypad_of_digits_where_no_minus_fits(
    kind: Any, minimum: float | None, mode: str | None
) -> None:
    page = of_field(Field("f0", ("a",), "The label", kind, minimum=minimum))
    [control] = page.all("input", name="v.f0")
    assert control.get("inputmode") == mode


@pytest.mark.parametrize(
    ("kind", "count", "tag", "wanted", "values"),
    [
        ("boolean", 0, "input", {"type": "radio"}, ["true", "false"]),
        ("choice", 2, "input", {"type": "radio"}, ["0", "1"]),
        ("choice", 9, "option", {}, ["", *map(str, range(9))]),
        ("choices", 2, "input", {"type": "checkbox"}, ["0", "1"]),
    ],
)
def test_choices_post_their_index(
    kind: Any, count: int, tag: str, wanted: dict[str, str], values: list[str]
) -> None:
    choices = tuple(Choice(at, f"Choice {at}") for at in range(count))
    page = of_field(Field("f0", ("a",), "L", kind, required=True, choices=choices))
    found = [o["value"] for o in page.all(tag, **wanted) if o.get("name") != "press"]
    assert found == values


def test_an_optional_choice_can_be_taken_back() -> None:
    page = of_field(Field("f0", ("a",), "L", "boolean"))
    assert page.all("input", type="radio", value="")


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("text", "a", "a"),
        ("integer", 12, "12"),
        ("datetime", "2026-11-29T21:30:00+02:00", "2026-11-29T19:30:00"),
        ("date", "2026-11-29", "2026-11-29"),
        ("constant", {"a": 1}, '{"a": 1}'),
        ("constant", "fixed", "fixed"),
    ],
)
def test_defaults_stand_in_their_controls(kind: Any, default: Any, expected: str) -> None:
    field = Field("f0", ("a",), "L", kind, default=default, has_default=True)
    page = card_page(
        replace(APPROVAL, actions=(Action("answer", "Send", needs="answers"),)),
        forms={"answer": Form("t", (field,))},
    )
    assert page.sections[0].controls[0].text == expected


def test_a_default_choice_is_told_from_its_look_alike() -> None:
    field = Field(
        "f0", ("a",), "L", "choice", True, choices=CHOICES, default=True, has_default=True
    )
    page = of_field(field)
    assert [one["value"] for one in page.all("input", type="radio") if "checked" in one] == ["1"]


def test_a_refused_value_comes_back_beside_its_field() -> None:
    typed = Typed("answer", {"f0": ['<"twelve">']}, {"f0": "Write a number.", "zz": "Also this."})
    page = of_field(
        Field("f0", ("a",), "L", "integer", default=3, has_default=True), typed=typed, alert=True
    )
    (box,) = page.all("input", name="v.f0")
    assert box["value"] == '<"twelve">'
    assert box["aria-invalid"] == "true"
    assert box["aria-describedby"] == "answer-f0-error"
    assert "Write a number." in page.text
    assert page.all("div", role="alert")
    assert "Also this." in page.text  # no field of that name: said at the top


def test_what_was_unticked_stays_unticked() -> None:
    field = Field("f0", ("a",), "L", "choices", choices=CHOICES, default=[1], has_default=True)
    assert [one for one in of_field(field).all("input", type="checkbox") if "checked" in one]
    again = of_field(field, typed=Typed("answer", {}, {"f0": "Choose one."}))
    assert not [one for one in again.all("input", type="checkbox") if "checked" in one]


def test_only_the_section_that_was_sent_comes_back_open() -> None:
    page = drawn(APPROVAL, forms=FORMS, typed=Typed("ask", {"f0": ["why?"]}, {}))
    assert ["open" in one for one in page.all("details")] == [False, True]


def test_a_leading_line_break_survives_the_textarea() -> None:
    card = replace(APPROVAL, actions=(Action("ask", "Ask", needs="question"),))
    html = render.card_html(card_page(card, forms=FORMS, typed=Typed("ask", {"f0": ["\nx"]})), "n")
    # HTML drops the first line break after the tag, so there are two.
    assert re.search(r"<textarea[^>]*>\n\nx</textarea>", html)


def test_a_long_artifact_is_cut() -> None:
    made = card_page(replace(APPROVAL, evidence="x" * 60_000))
    assert len(made.evidence) == 50_000
    assert "too long to show" in Elements(render.card_html(made, "")).text


@given(st.text(max_size=200))
def test_no_text_of_others_becomes_markup(text: str) -> None:
    card = replace(
        APPROVAL,
        title=f"<script>{text}",
        body=f"<img src=x>{text}",
        facts=(Fact(f"</dl>{text}", f'"onclick={text}'),),
        evidence=f"</pre><script>{text}",
        progress=f"<b>{text}",
    )
    page = drawn(card, forms=FORMS)
    assert not {"img", "b"} & {name for name, _ in page.tags}
    assert [name for name, _ in page.tags].count("script") == 1  # our own
    assert [name for name, _ in page.tags] == [
        name for name, _ in drawn(replace(card, title="t"), forms=FORMS).tags
    ]


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\x00", "\x1b", "\x9b"])
def test_marks_that_deceive_are_made_visible(mark: str) -> None:
    html = render.card_html(card_page(replace(APPROVAL, title=f"pay{mark}eve")), "n")
    assert mark not in html
    assert "pay\ufffdeve" in html


def test_every_code_has_a_page_with_its_status() -> None:
    for code, status in STATUS.items():
        page = problem_page(code, status)
        shown = Elements(render.problem_html(page)).text
        assert page.title in shown
        assert page.advice in shown
        if code != "interrupt_token_invalid":  # for a person a damaged token is a broken link
            assert page.status == status
