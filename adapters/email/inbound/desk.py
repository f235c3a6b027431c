"""What receiving is given and what it gives back: mails that arrived, what became of them, what is said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from adapters.channel import Intake, Links, Visitor
from adapters.email.handles import Handle
from adapters.email.inbound.machines import Machine
from adapters.email.inbound.meaning import Policy
from adapters.email.inbound.quotes import Sent
from adapters.email.inbound.sender import Trust
from adapters.views import Card, Person

Became = Literal[
    "answered",  # it counts: a decision, an answer, a turn
    "commented",  # it was passed on to the requester
    "noted",  # it decided nothing and is on the interrupt's record
    "refused",  # it meant to answer, and may not, or doesn't fit
    "over",  # the interrupt had ended
    "gone",  # there is no such interrupt (any more)
    "replayed",  # it was here before
    "automatic",  # a machine wrote it
    "bounced",
    "complained",
    "unreadable",
    "off",  # replies are not read here
]

SayKind = Literal[
    "unclear", "unsure", "refused", "counted", "wrong", "over", "earlier", "off", "unreadable"
]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A mail at one address. `handle` is from the envelope; `mail_from` is the envelope's sender, "" the
    null one, None where the way in doesn't know it."""

    raw: bytes
    handle: Handle
    mail_from: str | None = None
    trust: Trust = field(default_factory=Trust)


@dataclass(frozen=True, slots=True)
class Saying:
    """An acknowledgement: what to tell the person whose address it was. `detail` is one sentence."""

    kind: SayKind
    detail: str = ""
    card: Card | None = None
    in_reply_to: str = ""
    references: tuple[str, ...] = ()


class Post(Protocol):
    """What the outgoing half of the channel knows."""

    async def issued(self, card: Card, address: str) -> frozenset[str]:
        """The ids of all mails that were sent about this card to this address, or would have been."""

    def sent(self, card: Card, address: str, handle: str) -> Sent:
        """What stands in the mail that asked."""

    async def say(self, address: str, saying: Saying) -> None:
        """Mail it, automatic and unanswerable. Never raises."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn of a conversation that waits now. `asked_at` is when it was asked, in ms since 1970."""

    interrupt_id: str
    asked_at: int


@dataclass(frozen=True, slots=True)
class Desk:
    """What the gateway lends. `policy` is that of an interrupt; `same` tells whether an address belongs
    to a person; `turn` is the one open turn of an interrupt's conversation whose mail this address got,
    None when there is none; `clock` gives milliseconds since 1970."""

    intake: Intake
    links: Links
    policy: Callable[[str], Awaitable[Policy]]
    same: Callable[[Person, str], bool]
    turn: Callable[[str, str], Awaitable[Turn | None]]
    clock: Callable[[], int]


Report = Callable[[Visitor, Machine], Awaitable[Became]]
