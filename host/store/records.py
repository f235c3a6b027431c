"""What goes into a store and comes out of it: commits, stored events, remembered replies, refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host.decisions.copies import quick
from host.decisions.state import Conversation, Interrupt, NewEvent, Run


class Conflict(Exception):
    """Somebody was first: the run has moved on, or a unique name is taken. Load and decide again."""


class StoreUnavailable(Exception):
    """The store did not answer. Nothing was acknowledged; the same call may be made again."""


@quick
@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as it stands in the log. `event_id` is derived from the run and the sequence."""

    run_id: str
    sequence: int
    at: int
    type: str
    payload: dict[str, Any]
    node_id: str | None = None
    record: dict[str, Any] | None = None

    @property
    def event_id(self) -> str:
        return f"{self.run_id.partition('/')[2]}.{self.sequence}"


@quick
@dataclass(frozen=True, slots=True)
class Reply:
    """A remembered answer to one idempotency key. `scope` is a digest, never the key itself."""

    scope: str
    digest: str
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that an interrupt wants to have at an address. `thread` is a conversation's id or ""."""

    interrupt_id: str
    channel: str
    address: str
    thread: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Commit:
    """All that one decision changes. `expected` is the run version it was decided on; 0 for a new run."""

    run: Run
    expected: int
    events: tuple[NewEvent, ...]
    at: int
    interrupts: tuple[Interrupt, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    messages: tuple[NewMessage, ...] = ()
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a listing, and where the next one starts; None at the end."""

    interrupts: tuple[Interrupt, ...]
    cursor: str | None = None
