"""What every channel shows, in no channel's terms.

The host has interrupts; a channel has blocks, MIME parts or HTML. Between them stand these few frozen
shapes. A rule of the domain never depends on them, and no channel's word occurs in them. A channel
that can't show something links to `Card.link`, the web page that can show everything.

All text here is untrusted (titles, arguments and names come from agents and people): each channel
escapes it in its own way, when it draws, and never before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

FieldKind = Literal[
    "text",  # one line
    "longtext",  # several lines
    "choice",  # one of `choices`
    "choices",  # any of `choices`
    "boolean",  # yes or no
    "integer",
    "number",
    "date",  # YYYY-MM-DD
    "time",  # HH:MM
    "datetime",  # RFC 3339
    "email",
    "url",
    "list",  # free strings, one a line
    "json",  # anything else: JSON text
    "constant",  # nothing to ask: `default` is the only value
]


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a field. `value` is any JSON constant; `label` is what a person reads."""

    value: Any
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to ask. `path` is where its value goes in the answer (`("answers", "q1")`)."""

    id: str  # short, opaque and stable within its form: f0, f1, …
    path: tuple[str, ...]
    label: str
    kind: FieldKind
    required: bool = False
    hint: str = ""
    placeholder: str = ""
    choices: tuple[Choice, ...] = ()
    default: Any = None
    has_default: bool = False
    min_length: int | None = None
    max_length: int | None = None
    minimum: float | int | None = None
    maximum: float | int | None = None
    max_items: int | None = None
    group: str = ""  # heading of the nested object that it belongs to
    picker: str = ""  # a text or list whose values are options of this picker
    schema: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an answer, and why some channel may not be able to show it.

    `web_only` is empty or a sentence: what makes this form one that only the web page can hold.
    """

    title: str
    fields: tuple[Field, ...]
    intro: str = ""
    submit: str = "Send"
    web_only: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a person may do on a card: a button where the channel has buttons.

    `needs` says what must be asked first: nothing, a reason in words, the scope of a refinement, an
    edited artifact, the answers of `Card.form`, a question to the requester.
    """

    id: Literal["accept", "reject", "refine", "edit-accept", "ask", "answer"]
    label: str
    style: Literal["primary", "danger", "plain"] = "plain"
    needs: Literal["nothing", "reason", "refinement", "edit", "answers", "question"] = "nothing"
    confirm: str = ""  # non-empty: ask this before it counts (a request of high risk)


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled value on a card ("Requested by": "ada")."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Reader:
    """How somebody is spoken to: a language that there is a catalogue of, and an IANA time zone."""

    locale: str = "en"
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody as a channel knows them, never as the host does.

    `id` is the channel's own key: `T01/U01` for Slack, an address for email, a handle's holder for
    the web. `locale` (a tag or an Accept-Language header) and `zone` are what the channel knows of
    how they like to be spoken to; what the people directory says goes before them.
    """

    channel: str
    id: str
    name: str = ""
    locale: str = ""
    zone: str = ""


CardState = Literal["open", "resolved", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class Card:
    """One interrupt as a person sees it now. Drawn again whenever its state changes.

    `outcome` is empty while the card is open, and then one sentence in words ("Approved by ada").
    `version` rises with every change of the interrupt: a click that carries an older one is stale.
    `reader` is whom its own words (labels, outcomes) are for; times are drawn in their zone.
    """

    interrupt_id: str
    kind: str
    state: CardState
    version: int
    title: str
    body: str = ""
    facts: tuple[Fact, ...] = ()
    evidence: str = ""  # pretty-printed artifact or payload, cut by the channel
    actions: tuple[Action, ...] = ()
    form: Form | None = None  # the answers of a question
    edit_form: Form | None = None  # the artifact of an approval that may be edited, prefilled
    refine_form: Form | None = None  # what should change, and where
    asked: int = 0  # how many questions were asked about it
    discussion: tuple[Fact, ...] = ()  # what was asked about it lately: who, and their words
    progress: str = ""  # "1 of 2 approvals"
    deadline: datetime | None = None
    at_deadline: str = ""  # what happens then
    outcome: str = ""
    decided_by: str = ""  # display name
    decided_at: datetime | None = None
    reason: str = ""  # what the decider added in words
    link: str = ""  # the web page of this card
    reference: str = ""  # short id for people: last 8 of the interrupt id
    reader: Reader = Reader()
    replies: str = (
        ""  # how far an answer in plain words may go: off, comment, decide; "" as is usual
    )
    listed: bool = False  # the request names who may decide
    proposal: Any = None  # what a question proposes, where saying yes to it as it is answers it


@dataclass(frozen=True, slots=True)
class Thread:
    """The conversation that a card belongs to: all its turns go into one thread of the channel.

    With an `intro`, which opens the thread, it is a session's: people may write in it at any time, and its
    cards are shown there whole.
    """

    conversation_id: str
    title: str
    prompt: str = ""  # this turn's question; empty for start and close
    closed: str = ""  # the reason, when this turn closes the conversation
    intro: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a response, for the person who gave it and nobody else.

    `code` is "" when it counted, else the protocol's error code. `field_errors` maps `Field.id` to a
    sentence, for a channel that can show an error beside its field.
    """

    ok: bool
    message: str
    code: str = ""
    field_errors: dict[str, str] = field(default_factory=dict)
    card: Card | None = None
