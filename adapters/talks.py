"""What is said in a session's thread, in no channel's terms. Implemented once, in the gateway."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from adapters.channel import Ref
from adapters.views import Person, Receipt


@dataclass(frozen=True, slots=True)
class Utterance:
    """A person wrote in a thread, or edited what they had written there.

    `message` is what the channel calls that message for ever, and `dedupe` names this very act: of an edit
    the one is the old message's, the other is new.
    """

    channel: str
    thread_ref: Ref
    person: Person
    text: str = field(repr=False)
    message: str
    dedupe: str
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """A question that has to be answered first, and where this channel shows it, if it does."""

    title: str
    ref: Ref | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of it. With `waits` it was refused because of those, which everybody in the thread may
    know; any other refusal is for the person alone."""

    receipt: Receipt
    waits: tuple[Waits, ...] = ()


class Talks(Protocol):
    """The door in for what is said in threads of sessions. Both raise `schemas.errors.Refusal`
    (`sayso.unavailable`) when the store is away."""

    async def holds(self, channel: str, thread_ref: Ref) -> bool:
        """Whether a session has this thread."""

    async def said(self, utterance: Utterance) -> Heard | None:
        """Put it into the session. Returns only when that is durable, or says why it isn't; None when no
        session has this thread, or what was edited was never taken.

        Never raises for anything a person did.
        """
