"""What stands on each page: a card as it is now for one visitor, or a page without one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from adapters.forms import initial_values
from adapters.texts import utc_iso, utc_words
from adapters.views import Action, Card, Form
from adapters.web.fields import Control, as_posted, control
from adapters.web.receive import CONFIRMED

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
    reader: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A page without a card."""

    status: int
    title: str
    text: str
    advice: str


_STATES: Final[dict[str, tuple[str, Tone]]] = {
    "open": ("Waiting for an answer", "plain"),
    "resolved": ("Answered", "good"),
    "cancelled": ("Withdrawn", "stop"),
    "expired": ("Expired", "stop"),
}

_LINK: Final = "Open it once more from the message that you got, and make sure that it is whole."
_RETRY: Final = "Nothing was recorded. Go back and press the button again in a minute."

PROBLEMS: Final[dict[str, Problem]] = {
    "interrupt_not_found": Problem(
        404, "This link doesn't work", "No question is behind it.", _LINK
    ),
    "interrupt_expired": Problem(
        410,
        "This link has expired",
        "The time to answer with it is over, and nothing was recorded.",
        "If the question still matters, ask whoever sent it to ask again.",
    ),
    "interrupt_token_invalid": Problem(404, "This link doesn't work", "It is damaged.", _LINK),
    "forbidden": Problem(
        403,
        "You can't answer this one",
        "This link shows the question to you, but somebody else has to answer it.",
        "Nothing was recorded. You need not do anything.",
    ),
    "foreign_page": Problem(
        403,
        "This answer didn't come from our page",
        "Your browser says that another site sent it, or it doesn't say where it came from, "
        "so nothing was recorded.",
        "Open the link from your message in an up-to-date browser and press the button there. "
        "If this stays so, tell the people who run this service: the address that "
        "you use may be missing from their settings.",
    ),
    "validation_error": Problem(
        400,
        "We couldn't read that",
        "The form arrived damaged, and nothing was recorded.",
        "Open the link from your message again and fill in the form there.",
    ),
    "payload_too_large": Problem(
        413,
        "That is too much text",
        "An answer may have 256 KiB, and nothing was recorded.",
        "Go back, shorten it, and send it again; put large things somewhere and add a link.",
    ),
    "unsupported_media_type": Problem(
        415,
        "We couldn't read that",
        "Only the form on the answer page can be sent here.",
        "Open the link from your message and press a button there.",
    ),
    "rate_limited": Problem(429, "That was a lot at once", "Please wait a moment.", _RETRY),
    "sayso.unavailable": Problem(
        503, "We can't reach our records", "This is our fault and will pass.", _RETRY
    ),
}


def problem_page(code: str, status: int) -> Problem:
    """The page for a code of ours. `status` serves for one that no page is written for."""
    known = PROBLEMS.get(code)
    return known or Problem(status, "That didn't work", "Nothing was recorded.", _LINK)


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
) -> CardPage:
    """The page that shows `card`.

    `reader` is the name that the link was made for. `forms` holds what each action asks first, by
    action id. A notice about a problem has
    `alert`. Without a `status` the page has the one of its card: 410 once it has expired, else 200.
    """
    state, tone = _STATES[card.state]
    sections: tuple[Section, ...] = ()
    if card.state == "open" and may_answer:
        sections = tuple(_section(one, (forms or {}).get(one.id), typed) for one in card.actions)
    if card.state == "open" and not may_answer and not notice:
        notice = "You can read this question here, but this link can't answer it."
    lost = _lost_errors(sections, typed)
    return CardPage(
        card=card,
        status=status or (410 if card.state == "expired" else 200),
        tone="problem" if alert else tone,
        state=state,
        notice=" ".join([notice, *lost]).strip(),
        alert=alert,
        sections=sections,
        evidence=card.evidence[:MAX_EVIDENCE],
        evidence_cut=len(card.evidence) > MAX_EVIDENCE,
        deadline=moment(card.deadline),
        decided_at=moment(card.decided_at),
        reader=reader,
    )


def moment(at: datetime | None) -> Moment | None:
    """A time in UTC, for people and machines."""
    return None if at is None else Moment(iso=utc_iso(at), text=utc_words(at))


def _section(action: Action, form: Form | None, typed: Typed | None) -> Section:
    back = typed if typed is not None and typed.action == action.id else None
    controls = () if form is None else _controls(form, action.id, back)
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


def _controls(form: Form, scope: str, back: Typed | None) -> tuple[Control, ...]:
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
            error="" if back is None else back.errors.get(each.id, ""),
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
