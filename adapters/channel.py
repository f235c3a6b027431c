"""The small protocol that each channel implements, and the two doors it is given.

Out: the delivery pump calls `Channel.show` with the state that is wanted; the channel makes its message
equal to it and answers where the message is. In: the channel turns its own payload into a `Response`
and hands it to `Intake.answer`, which is the same function for every channel.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from adapters.views import Card, Choice, Form, Person, Receipt, Thread

Ref = dict[str, Any]
"""Where a message is, in the channel's own terms (`{"channel": "D01", "ts": "1.2"}`). JSON."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Make the message of one interrupt at one address equal to `card`.

    `ref` is None when nothing has been posted yet. `thread_ref` is the root message of the
    conversation at this address when `thread` is set and a root exists already. `link` is the answer
    page for this address alone.

    `note(ref)` keeps a ref before anything is shown, for a channel that can't post twice harmlessly: what
    comes next may crash, and whoever claims the message then gets that ref. False: somebody else has
    claimed it meanwhile, and nothing may be sent.
    """

    address: str
    card: Card
    ref: Ref | None = None
    thread: Thread | None = None
    thread_ref: Ref | None = None
    link: str = ""
    note: Callable[[Ref | None], Awaitable[bool]] | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The message now shows the card. `thread_ref` is set when a thread's root was posted on the way."""

    ref: Ref
    thread_ref: Ref | None = None


class DeliveryFailed(Exception):
    """The channel could not show it.

    `permanent` means that trying again will not help (no such channel, token revoked): an operator has
    to act. Otherwise it is tried again, after `retry_after` seconds where the channel said so. The text
    goes to the log and the operator, so it holds no secret; `code` is one of a small fixed set of words
    (it labels a metric). `thread_ref` is set when a thread's root was posted before it failed.
    """

    def __init__(
        self,
        reason: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        code: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent
        self.retry_after = retry_after
        self.code = code
        self.thread_ref: Ref | None = None


class NotYet(DeliveryFailed):
    """Nothing failed: a rate limit says 'not before `seconds` from now'. Not counted as an attempt."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason, retry_after=seconds)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Response:
    """What a person said about one interrupt, in no channel's terms.

    Exactly one of the two is meant: `action` with its members for an approval (`value` holds them:
    feedback, refineFeedback, editedArtifactData, question), or `action="answer"` with `value` as the
    answer itself (clarification, conversation turn, custom, low-confidence).
    `dedupe` names this very act (a click, a submission, a reply): the same text twice has one effect.
    `version` is the card version that the person saw, or None when the channel can't know.
    """

    interrupt_id: str
    person: Person
    action: Literal["accept", "reject", "refine", "edit-accept", "ask", "answer"]
    value: Any
    dedupe: str
    version: int | None = None
    token: str = field(default="", repr=False)


class Intake(Protocol):
    """The door in. Given to each channel at start; implemented once, in the gateway."""

    async def answer(self, response: Response) -> Receipt:
        """Decide and append. Returns only when the answer is durable, or says why it isn't.

        Never raises for anything a person did: every refusal is a `Receipt` with a code. Raises
        `schemas.errors.Refusal("sayso.unavailable")` when the store is away.
        """

    async def look(self, interrupt_id: str, person: Person) -> Card | None:
        """The card as it is now for this person, or None when there is no such interrupt."""

    async def barred(self, interrupt_id: str, person: Person) -> str:
        """Why this person may not answer, as they are told it, or "" when they may. Asked before a form is
        shown; what is answered is decided anew. Raises `Refusal` (`sayso.unavailable`).
        """

    async def turn(self, channel: str, thread_ref: Ref) -> str | None:
        """The interrupt that waits for the next reply in this thread, or None.

        `thread_ref` needs only the members that identify the root (`{"channel", "ts"}`).
        """

    async def counted(self, channel: str, dedupe: str) -> bool:
        """Whether the act of this key (`Response.dedupe`) was recorded, in the last day."""

    def form(self, card: Card, action: str) -> Form | None:
        """What has to be asked before `action` counts: the card's own form, a reason, an edit."""

    async def options(
        self, interrupt_id: str, person: Person, action: str, field_id: str, query: str
    ) -> tuple[Choice, ...]:
        """What a search finds in the picker of one field of the form that `action` asks, 100 at most.

        Each choice's value is the text that the answer holds. Empty when there is nothing, or when this
        person may not answer. Raises `Refusal` (`sayso.unavailable`).
        """

    async def event(self, source: str, event: InboundEvent) -> str:
        """File a verified external event. Returns "stored" or "duplicate" once that is durable."""


@dataclass(frozen=True, slots=True)
class InboundEvent:
    """A verified event of a provider, mapped. `event_id` is the provider's own, for telling duplicates.

    `correlation` is compared with an external-event interrupt's `data.correlation`; `payload` becomes
    its resume value. `raw` and `headers` are what a later attempt to map it needs.
    """

    event_id: str
    event_type: str
    correlation: dict[str, Any]
    payload: Any
    raw: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Channel(Protocol):
    """A place where people are. `name` is the word before the colon in `notify`."""

    name: str

    def routes(self) -> Sequence[Any]:
        """aiohttp route definitions of this channel's ingress. May be empty."""

    async def start(self) -> None:
        """Open sessions and sockets. Returns when ready to show and to receive, or raises."""

    async def stop(self) -> None:
        """Drain what has been acknowledged, then close."""

    async def show(self, delivery: Delivery) -> Shown:
        """Post or update. Idempotent: the same delivery twice leaves one message.

        Raises `DeliveryFailed`.
        """

    def check_address(self, address: str) -> str:
        """The canonical spelling of an address in `notify`.

        Raises `ValueError` with a sentence that says what a right one looks like.
        """


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who holds an answer link, and for which interrupt. `handle` is what the URL carries."""

    interrupt_id: str
    person: Person
    handle: str = field(repr=False)
    may_answer: bool = True  # False: the link shows the question and decides nothing


class Links(Protocol):
    """Answer links: `<public url>/a/<handle>`. The handle is opaque, bound to one interrupt and one
    person, kept only as a hash, and lives as long as the interrupt."""

    async def open(self, handle: str) -> Visitor | None:
        """Who holds this handle (or this `ow2.` token), or None when the link is broken.

        Changes nothing. Raises `schemas.errors.Refusal` with `interrupt_expired` for a token whose
        time is over.
        """

    async def mail_handle(
        self, use: Literal["reply", "bounce"], interrupt_id: str, person: Person
    ) -> str:
        """The handle of the address at which this person's replies, or the bounces of what they
        are sent, arrive. Always the same for the same three; see `adapters.email.handles`."""

    async def by_mail_handle(self, handle: str) -> Visitor | None:
        """Whose reply or bounce handle this is, or None when it is nobody's. Changes nothing."""
