"""External events as operators see them: the listing, and what matching and replaying answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.ids import BoundId
from schemas.model import Exact
from schemas.payloads import Text
from schemas.records import Timestamp

EventStanding = Literal["due", "unmatched", "late", "expired", "parked", "failed", "applied"]


class MatchEvent(Exact):
    """Body of a match by hand: the interrupt that the event answers."""

    interrupt_id: BoundId


class HookEventRecord(Exact):
    """An external event, without what it says. `duplicates`: how often it came again.

    `state`: `due` is being worked on; `unmatched` waits for its wait; `late` came when its wait had ended;
    `expired` is too old to match; `parked` needs an operator; `failed` has its `error`; `applied` ended
    what `matched` lists.
    """

    source: str
    event_id: str
    event_type: Text
    state: EventStanding
    received_at: Timestamp
    expires_at: Timestamp | None = None
    correlation: dict[str, Any]
    matched: list[BoundId]
    duplicates: Annotated[int, Field(ge=0)]
    error: Text | None = None


class HookEventPage(Exact):
    """A page of events, newest first. `nextCursor` is missing on the last one."""

    events: list[HookEventRecord]
    next_cursor: str | None = None


class EventMatched(Exact):
    """Answer of a match by hand: the event ended this wait."""

    source: str
    event_id: str
    interrupt_id: BoundId


class EventReplayed(Exact):
    """Answer of a replay. `eventId` is another one when the mapping now finds the provider's own id."""

    source: str
    event_id: str
    state: Literal["due", "duplicate"]
