"""What stands on each page: a card as it is now for one visitor, or a page without one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from adapters.forms import initial_values
from adapters.languages.catalogue import ENGLISH, Words, words_of
from adapters.texts import moment_words, utc_iso
from adapters.views import Action, Card, Form, Reader
from adapters.web.fields import Control, as_posted, control
from adapters.web.offers import Offers
from adapters.web.receive import CONFIRMED
from host.decisions.state import SOMEBODY

MAX_EVIDENCE: Final = 50_000
"""Characters of an artifact that the page shows; the rest is for the system that asked."""

Tone = Literal["plain", "good", "stop", "problem"]


@dataclass(frozen=True, slots=True)
class Typed:
    """What was posted and did not count: shown again, in the section that it came from."""

    action: str
    values: Mapping[str, list[str]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """One action on the page.

    `layout`: a bare button, a button that opens what is asked first, or a form that stands open
    because answering it is what the page is for.
    """

    action: Action
    layout: Literal["button", "fold", "form"]
    intro: str
    controls: tuple[Control, ...]
    submit: str
    opened: bool
    confirm_error: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A time for people and for machines, always with its zone."""

    iso: str
    text: str


@dataclass(frozen=True, slots=True)
class CardPage:
    """The page of a card."""

    card: Card
    status: int
    tone: Tone
    state: str
    notice: str
    alert: bool  # the notice is about something that did not work
    sections: tuple[Section, ...]
    evidence: str
    evidence_cut: bool
    deadline: Moment | None
    decided_at: Moment | None
    footer: str
    words: Words
    login: bool = False  # the link has to be proven before anything is offered

    @property
    def searches(self) -> bool:
        """Whether it has a picker, whose choices are searched while words are typed."""
        return any(c.widget == "picker" for one in self.sections for c in one.controls)

    @property
    def body(self) -> str:
        """The card's text, unless it only says again what the title or the open form says."""
        asked = self.card.kind == "clarification" and bool(self.sections)
        return "" if asked or self.card.body == self.card.title else self.card.body

    @property
    def faults(self) -> tuple[Control, ...]:
        """The controls whose answers did not fit, for the list at the top."""
        return tuple(c for one in self.sections for c in one.controls if c.error)


@dataclass(frozen=True, slots=True)
class Problem:
    """A page without a card."""

    status: int
    title: str
    text: str
    advice: str
    words: Words


_TONES: Final[dict[str, Tone]] = {
    "open": "plain",
    "resolved": "good",
    "cancelled": "stop",
    "expired": "stop",
}

PROBLEMS: Final = {
    "interrupt_not_found": 404,
    "interrupt_token_invalid": 404,
    "interrupt_expired": 410,
    "forbidden": 403,
    "foreign_page": 403,
    "validation_error": 400,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "rate_limited": 429,
    "sayso.unavailable": 503,
}
"""Codes that have a page of their own (`problem.<code>` in the catalogues). A bad token is a broken
link to a person: 404."""


def problem_page(code: str, status: int, words: Words = ENGLISH) -> Problem:
    """The page for a code of ours. `status` serves for one that no page is written for."""
    key = f"problem.{code if code in PROBLEMS else 'other'}"
    return Problem(
        PROBLEMS.get(code, status),
        words(f"{key}.title"),
        words(f"{key}.text"),
        words(f"{key}.advice"),
        words,
    )


_NO_OFFERS: Final = Offers()


def card_page(
    card: Card,
    *,
    reader: str = "",
    may_answer: bool = True,
    forms: Mapping[str, Form | None] | None = None,
    notice: str = "",
    alert: bool = False,
    typed: Typed | None = None,
    status: int | None = None,
    offers: Offers = _NO_OFFERS,
) -> CardPage:
    """The page that shows `card`.

    `reader` is the name that the link was made for, `SOMEBODY` for nobody in particular. `forms`
    holds what each action asks first, by action id. A notice about a problem has `alert`. Without a
    `status` the page has the one of its card: 410 once it has expired, else 200.
    """
    words, tone = words_of(card.reader.locale), _TONES[card.state]
    sections: tuple[Section, ...] = ()
    if card.state == "open" and may_answer:
        sections = tuple(
            _section(one, (forms or {}).get(one.id), typed, words, offers) for one in card.actions
        )
    if card.state == "open" and not may_answer and not notice:
        notice = words("page.read_only")
    lost = _lost_errors(sections, typed)
    return CardPage(
        card=card,
        status=status or (410 if card.state == "expired" else 200),
        tone="problem" if alert else tone,
        state=words(f"page.{card.state}"),
        notice=" ".join([notice, *lost]).strip(),
        alert=alert,
        sections=sections,
        evidence=card.evidence[:MAX_EVIDENCE],
        evidence_cut=len(card.evidence) > MAX_EVIDENCE,
        deadline=moment(card.deadline, card.reader),
        decided_at=moment(card.decided_at, card.reader),
        footer=_footer(reader, words),
        words=words,
    )


def _footer(reader: str, words: Words) -> str:
    if reader == SOMEBODY:
        return words("page.footer_anybody")
    return words("page.footer", name=reader) if reader else words("page.footer_you")


def moment(at: datetime | None, reader: Reader) -> Moment | None:
    """A time, for the reader in their zone and for machines in UTC."""
    return None if at is None else Moment(iso=utc_iso(at), text=moment_words(at, reader))


def _section(
    action: Action, form: Form | None, typed: Typed | None, words: Words, offers: Offers
) -> Section:
    back = typed if typed is not None and typed.action == action.id else None
    controls = () if form is None else _controls(form, action.id, back, words, offers)
    layout: Literal["button", "fold", "form"] = "fold"
    if action.needs == "answers":
        layout = "form"
    elif form is None and not action.confirm:
        layout = "button"
    return Section(
        action=action,
        layout=layout,
        intro=form.intro if form is not None else "",
        controls=controls,
        submit=form.submit if form is not None else action.label,
        opened=back is not None,
        confirm_error="" if back is None else back.errors.get(CONFIRMED, ""),
    )


def _controls(
    form: Form, scope: str, back: Typed | None, words: Words, offers: Offers
) -> tuple[Control, ...]:
    """The form's controls with what was typed in them, else with their defaults."""
    defaults = initial_values(form)
    return tuple(
        control(
            each,
            scope=scope,
            posted=(
                as_posted(each, defaults.get(each.id, []))
                if back is None
                else list(back.values.get(each.id, []))
            ),
            words=words,
            error="" if back is None else back.errors.get(each.id, ""),
            offered=offers.of(scope, each.id),
        )
        for each in form.fields
    )


def _lost_errors(sections: tuple[Section, ...], typed: Typed | None) -> list[str]:
    """Errors that stand beside no control: they go into the notice, so that none is lost."""
    if typed is None:
        return []
    shown = {
        each.name.removeprefix("v.")
        for one in sections
        if one.action.id == typed.action
        for each in one.controls
    } | {CONFIRMED}
    return [text for name, text in typed.errors.items() if name not in shown]
