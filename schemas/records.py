"""Interrupts as our own operations show them: record, detail, page, minted token."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from schemas.event_names import TIMESTAMP
from schemas.ids import BoundId, NodeId
from schemas.model import Exact
from schemas.payloads import ApprovalAction, InterruptPayload, Kind, Text

Timestamp = Annotated[
    str, StringConstraints(pattern=TIMESTAMP), Field(json_schema_extra={"format": "date-time"})
]
InterruptStatus = Literal["open", "resolved", "cancelled", "expired"]


class InterruptRecord(Exact):
    """One interrupt. `resumeValue` is there once it is resolved."""

    interrupt_id: BoundId
    run_id: BoundId
    node_id: NodeId
    key: Annotated[str, Field(min_length=1, max_length=256)]
    kind: Kind
    status: InterruptStatus
    expires_at: Timestamp | None = None
    resume_value: Any = None


class VoteRecord(Exact):
    """A standing vote."""

    principal: str
    name: str
    action: ApprovalAction
    at: Timestamp


class QuestionRecord(Exact):
    """Something that was asked about an open request."""

    principal: str
    name: str
    text: str
    at: Timestamp


class OutcomeRecord(Exact):
    """How it ended: when, by whom, through which channel, and why if no person did."""

    at: Timestamp | None = None
    by: Text | None = None
    name: Text | None = None
    via: Text | None = None
    action: Text | None = None
    decision: Text | None = None
    reason: Text | None = None


class MessageRecord(Exact):
    """Where it was shown, or was to be shown."""

    channel: str
    address: str
    state: Literal["due", "shown", "dead"]
    attempts: Annotated[int, Field(ge=0)]
    error: Text | None = None


class NoteRecord(Exact):
    """What came in about it and was no answer: a reply that nobody could vouch for, a bounce."""

    at: Timestamp
    via: str
    reason: str
    by: Text | None = None
    text: Text | None = None


class InterruptDetail(InterruptRecord):
    """The record, and what an operator asks next."""

    payload: InterruptPayload
    requested_at: Timestamp
    requested_by: str
    votes: list[VoteRecord] | None = None
    questions: list[QuestionRecord] | None = None
    outcome: OutcomeRecord | None = None
    messages: list[MessageRecord]
    notes: list[NoteRecord] | None = None


class InterruptPage(Exact):
    """A page of a listing, newest first. `nextCursor` is missing on the last one."""

    interrupts: list[InterruptRecord]
    next_cursor: str | None = None


class MintedToken(Exact):
    """A token, the page that it opens, and until when. It is kept nowhere."""

    token: Text
    url: Text
    expires_at: Timestamp


class DecisionNoted(Exact):
    """An agent's decision that nobody has to ratify."""

    run_id: BoundId
    escalated: Literal[False]


class EscalatedDecision(InterruptRecord):
    """An agent's decision that a person was asked to ratify."""

    escalated: Literal[True]
