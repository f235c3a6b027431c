"""A delivery -> the subject and the two bodies of a mail. Pure.

The plain text is complete on its own. The HTML is one column without images, scripts or links other
than the recipient's own answer page, and stays below the size at which large providers cut mails.
No link in a mail decides anything: link scanners open all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

from adapters.channel import Delivery
from adapters.email.offers import Offer
from adapters.languages.catalogue import Words, words_of
from adapters.texts import moment_words, utc_iso, visible
from adapters.views import Card, Reader

MAX_HTML: Final = 60_000
"""Bytes of HTML: Gmail cuts a mail near 102 000, earlier when much of it is not ASCII."""

MAX_SUBJECT: Final = 140
"""Characters of a subject."""

_MAX_TEXT: Final = 6000  # characters of the description, of the evidence, of a reason
_MAX_FACTS: Final = 30
_MAX_QUESTIONS: Final = 50
_MAX_FACT: Final = 1000
_MAX_LINE: Final = 300  # characters of a title, a label or an outcome


@dataclass(frozen=True, slots=True)
class Mail:
    """What a person reads. The subject is one line, fit for a header."""

    subject: str
    text: str
    html: str


def breaks(value: str) -> Markup:
    """Text with its line breaks kept: Outlook knows no `white-space: pre-wrap`."""
    return Markup("<br>\n").join(escape(line) for line in str(visible(value)).split("\n"))


def indented(value: str) -> str:
    """Text of others inside a plain mail, moved in, so that it can't pass for ours."""
    return "\n".join(f"  {line}".rstrip() for line in str(visible(value)).split("\n"))


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("adapters.email", "templates"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=visible,
        auto_reload=False,
    )
    made.filters.update(breaks=breaks, indented=indented, utc_iso=utc_iso, line=_one_line)
    return made


def question(delivery: Delivery, home: str = "", offer: Offer | None = None) -> Mail:
    """The mail that asks. `home` is our public address, named at the foot; `offer` what a reply
    can do, None where replies aren't read."""
    return _mail("question", delivery, home, offer)


def ending(delivery: Delivery, home: str = "", *, replies: bool = False) -> Mail:
    """The short mail that says how it ended, for the same thread. `replies`: the mail before it
    took some."""
    return _mail("ending", delivery, home, replies=replies)


def code(code: str, reader: Reader) -> Mail:
    """The mail with a code that proves a link. No link in it: who asked for it has the page open."""
    words = words_of(reader.locale)
    subject, text = words("mail.code_subject", code=code), words("mail.code_text", code=code)
    html = (
        f'<!doctype html>\n<html lang="{words.locale}" dir="{words("language.direction")}"><head>'
        f'<meta charset="utf-8"><title>{escape(subject)}</title></head>'
        f"<body><p>{escape(text)}</p></body></html>\n"
    )
    return Mail(subject, f"{text}\n", html)


def subject_of(delivery: Delivery) -> str:
    """The subject of every mail about this delivery: threads hold together by it.

    One line without control characters; `=?` is pulled apart, because a header that holds the text
    of an encoded word with a line break in it becomes two headers in some mail libraries.
    """
    card = delivery.card
    title = delivery.thread.title if delivery.thread is not None else card.title
    subject = _one_line(title, MAX_SUBJECT).replace("=?", "= ?").replace("?=", "? =")
    reference = "" if delivery.thread is not None else _one_line(card.reference, 20)
    subject = subject or words_of(card.reader.locale)("mail.a_question")
    return f"{subject} [{reference}]" if reference else subject


def _mail(
    name: str,
    delivery: Delivery,
    home: str,
    offer: Offer | None = None,
    *,
    replies: bool = False,
) -> Mail:
    limit = _MAX_TEXT
    while True:
        shown = {
            **_shown(delivery, limit),
            "offer": offer,
            "foot": _foot(delivery, home, offered=offer is not None, replies=replies),
        }
        html = _ENVIRONMENT.get_template(f"{name}.html").render(shown)
        if len(html.encode()) <= MAX_HTML or limit == 0:
            break
        limit //= 2
    text = _ENVIRONMENT.get_template(f"{name}.txt").render(shown)
    return Mail(
        subject=subject_of(delivery),
        text=re.sub(r"\n{3,}", "\n\n", text).strip() + "\n",
        html=html,
    )


def _shown(delivery: Delivery, limit: int) -> dict[str, Any]:
    """What the templates write, each text cut to what a mail may hold."""
    card, thread = delivery.card, delivery.thread
    words = words_of(card.reader.locale)
    share = max(limit, 1) / _MAX_TEXT
    body = _cut((thread.prompt if thread is not None else "") or card.body, limit, words)
    facts = card.facts[: max(1, int(_MAX_FACTS * share))]
    return {
        "card": card,
        "words": words,
        "deadline": "" if card.deadline is None else moment_words(card.deadline, card.reader),
        "decided_at": "" if card.decided_at is None else moment_words(card.decided_at, card.reader),
        "title": _one_line(card.title, _MAX_LINE),
        "questions": _questions(card, limit, words),
        "body": "" if card.kind == "clarification" and card.form is not None else body,
        "evidence": _cut(card.evidence, limit, words),
        "facts": [
            (_one_line(one.label, _MAX_LINE), _cut(one.value, int(_MAX_FACT * share), words))
            for one in facts
        ],
        # "Answer" alone is no choice: the questions say it.
        "choices": [_one_line(one.label, 80) for one in card.actions[:10] if one.id != "answer"],
        "progress": _one_line(card.progress, _MAX_LINE),
        "at_deadline": _one_line(card.at_deadline, _MAX_LINE),
        "outcome": _outcome(delivery, words),
        "decided_by": _one_line(card.decided_by, 120),
        "reason": _cut(card.reason, limit, words),
        "link": delivery.link or card.link,
    }


def _foot(delivery: Delivery, home: str, *, offered: bool, replies: bool) -> str:
    """The reference, whose mail it is, and what becomes of a reply where none is offered."""
    words = words_of(delivery.card.reader.locale)
    reference, home = _one_line(delivery.card.reference, 40), _one_line(home)
    parts = [
        words("mail.reference", reference=reference) if reference else "",
        words("mail.sent_by_home", home=home) if home else words("mail.sent_by"),
        "" if offered else words("mail.no_reply_now" if replies else "mail.not_read"),
    ]
    return " ".join(part for part in parts if part)


def _questions(card: Card, limit: int, words: Words) -> list[tuple[str, str]]:
    """The questions of a clarification with their options, in the order of their numbers: a mail
    stands on its own, and a reply answers by number. A single one is the title already, so that
    only its options are left to say."""
    form = card.form
    if card.kind != "clarification" or form is None or card.state != "open":
        return []
    most = max(1, _MAX_QUESTIONS * limit // _MAX_TEXT)
    asked = [one for one in form.fields if one.kind != "constant"][:most]
    found = []
    for number, one in enumerate(asked, start=1):
        options = words.join(_one_line(choice.label, 80) for choice in one.choices[:30])
        label = "" if len(asked) == 1 else f"{number}. {_one_line(one.label, _MAX_LINE)}"
        if label or options:
            found.append((label, options))
    return found


def _outcome(delivery: Delivery, words: Words) -> str:
    card, thread = delivery.card, delivery.thread
    fallback = "" if card.state == "open" else words(f"mail.{card.state}")
    closed = words("mail.closed", reason=thread.closed) if thread and thread.closed else ""
    return _one_line(card.outcome or closed or fallback, _MAX_LINE)


def _cut(text: str, limit: int, words: Words) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…\n{words('mail.cut')}"


def _one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Text on one line: every control, separator and run of spaces is one space."""
    flat = " ".join(str(visible(text)).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


_ENVIRONMENT: Final = _environment()
