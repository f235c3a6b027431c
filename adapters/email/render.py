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
from adapters.texts import utc_iso, utc_words, visible

MAX_HTML: Final = 60_000
"""Bytes of HTML: Gmail cuts a mail near 102 000, earlier when much of it is not ASCII."""

MAX_SUBJECT: Final = 140
"""Characters of a subject."""

_MAX_TEXT: Final = 6000  # characters of the description, of the evidence, of a reason
_MAX_FACTS: Final = 30
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
    made.filters.update(
        breaks=breaks, indented=indented, utc_iso=utc_iso, utc_words=utc_words, line=_one_line
    )
    return made


def question(delivery: Delivery, home: str = "") -> Mail:
    """The mail that asks. `home` is our public address, named at the foot."""
    return _mail("question", delivery, home)


def ending(delivery: Delivery, home: str = "") -> Mail:
    """The short mail that says how it ended, for the same thread."""
    return _mail("ending", delivery, home)


def subject_of(delivery: Delivery) -> str:
    """The subject of every mail about this delivery: threads hold together by it.

    One line without control characters; `=?` is pulled apart, because a header that holds the text
    of an encoded word with a line break in it becomes two headers in some mail libraries.
    """
    card = delivery.card
    title = delivery.thread.title if delivery.thread is not None else card.title
    subject = _one_line(title, MAX_SUBJECT).replace("=?", "= ?").replace("?=", "? =")
    reference = "" if delivery.thread is not None else _one_line(card.reference, 20)
    return f"{subject or 'A question for you'}{f' [{reference}]' if reference else ''}"


def _mail(name: str, delivery: Delivery, home: str) -> Mail:
    limit = _MAX_TEXT
    while True:
        shown = _shown(delivery, limit, home)
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


def _shown(delivery: Delivery, limit: int, home: str) -> dict[str, Any]:
    """What the templates write, each text cut to what a mail may hold."""
    card, thread = delivery.card, delivery.thread
    share = max(limit, 1) / _MAX_TEXT
    facts = card.facts[: max(1, int(_MAX_FACTS * share))]
    return {
        "card": card,
        "title": _one_line(card.title, _MAX_LINE),
        "body": _cut((thread.prompt if thread is not None else "") or card.body, limit),
        "evidence": _cut(card.evidence, limit),
        "facts": [
            (_one_line(one.label, _MAX_LINE), _cut(one.value, int(_MAX_FACT * share)))
            for one in facts
        ],
        "choices": [_one_line(one.label, 80) for one in card.actions[:10]],
        "progress": _one_line(card.progress, _MAX_LINE),
        "at_deadline": _one_line(card.at_deadline, _MAX_LINE),
        "outcome": _outcome(delivery),
        "decided_by": _one_line(card.decided_by, 120),
        "reason": _cut(card.reason, limit),
        "reference": _one_line(card.reference, 40),
        "link": delivery.link or card.link,
        "home": _one_line(home),
    }


def _outcome(delivery: Delivery) -> str:
    card, thread = delivery.card, delivery.thread
    fallback = {
        "resolved": "This question has been answered.",
        "cancelled": "This question has been withdrawn.",
        "expired": "The time to answer this question is over.",
        "open": "",
    }[card.state]
    closed = f"The conversation is closed: {thread.closed}" if thread and thread.closed else ""
    return _one_line(card.outcome or closed or fallback, _MAX_LINE)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…\n(cut: the page shows the rest)"


def _one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Text on one line: every control, separator and run of spaces is one space."""
    flat = " ".join(str(visible(text)).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


_ENVIRONMENT: Final = _environment()
