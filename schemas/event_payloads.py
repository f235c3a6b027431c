"""The payloads of run, node, conversation and agent events, each closed (OpenWOP).

Only what this host emits is here: a producer must not emit a type that is not registered, so a type
without a model can't leave the gateway. Interrupt events are in `schemas.interrupt_events`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from schemas.ids import AgentId, BoundId, NodeId, WorkflowId
from schemas.model import Exact
from schemas.payloads import ApprovalAction, ConversationId, Kind, Share, Text
from schemas.subjects import Owner

Milliseconds = Annotated[int, Field(ge=0)]
TypeId = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z][a-z0-9_-]*(\.[a-z][a-zA-Z0-9_-]*)+$", min_length=1, max_length=256
    ),
]


class EventError(Exact):
    """Why a node or a run failed. `code` is a registered error code or a vendor's."""

    code: Text
    message: Text
    details: dict[str, Any] | None = None
    retryable: bool | None = None


# --- runs ---------------------------------------------------------------------------------------------


class RunStarted(Exact):
    """`run.started`: the first event of every run. Echoes the owner of the snapshot."""

    workflow_id: WorkflowId
    inputs: dict[str, Any] | None = None
    transport: Literal["rest", "mcp", "a2a", "ui"] | None = None
    engine_version: Annotated[int, Field(ge=0)] | None = None
    owner: Owner | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=100)] | None = (
        None
    )
    metadata: dict[str, Any] | None = None


class RunCompleted(Exact):
    """`run.completed`. `outputs` is an object, `{}` when there are none."""

    outputs: dict[str, Any]
    duration_ms: Milliseconds | None = None


class RunFailed(Exact):
    """`run.failed`."""

    error: EventError
    failed_node_id: NodeId | None = None
    duration_ms: Milliseconds | None = None


class RunCancelled(Exact):
    """`run.cancelled`. `parentRunId` comes with the reason `parent-cancelled`."""

    reason: str | None = None
    cancelled_by: str | None = None
    duration_ms: Milliseconds | None = None
    parent_run_id: BoundId | None = None


class RunPaused(Exact):
    """`run.paused` and `run.resumed`."""

    reason: str | None = None


# --- nodes --------------------------------------------------------------------------------------------


class NodeStarted(Exact):
    """`node.started`. `attempt` counts from 0."""

    node_id: NodeId
    type_id: TypeId
    attempt: Annotated[int, Field(ge=0)] | None = None


class NodeCompleted(Exact):
    """`node.completed`."""

    node_id: NodeId
    outputs: dict[str, Any] | None = None
    duration_ms: Milliseconds | None = None


class NodeFailed(Exact):
    """`node.failed`."""

    node_id: NodeId
    error: EventError
    attempts: Annotated[int, Field(ge=1)] | None = None


class NodeSuspendFailed(Exact):
    """`node.suspend-failed`: the node asked and could not."""

    node_id: NodeId
    error: EventError


class NodeResumed(Exact):
    """`node.resumed`."""

    node_id: NodeId
    interrupt_id: BoundId | None = None
    resume_value: Any = None


class NodeCancelled(Exact):
    """`node.cancelled`: its question was taken back."""

    node_id: NodeId
    reason: str | None = None


# --- conversations and agents -------------------------------------------------------------------------


class TurnModel(Exact):
    """Which model spoke."""

    provider: Annotated[str, Field(max_length=128)]
    model: Annotated[str, Field(max_length=256)]


class TurnAgent(Exact):
    """Which agent spoke."""

    agent_id: AgentId | None = None
    agent_sharing: str | None = None
    memory_ref: str | None = None
    model: TurnModel | None = None


class Turn(Exact):
    """One turn. `messageId` is deterministic, so that a turn is appended once; `ts` is ms since 1970."""

    message_id: Annotated[str, Field(min_length=1, max_length=256)]
    from_: Annotated[str, Field(alias="from", min_length=1, max_length=256)]
    content: Any
    ts: Annotated[int, Field(ge=0)]
    role: Literal["user", "agent", "system"]
    turn_index: Annotated[int, Field(ge=0)]
    to: Annotated[str, Field(max_length=256)] | None = None
    group_id: Annotated[str, Field(max_length=256)] | None = None
    agent: TurnAgent | None = None
    speaker_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    parts: Annotated[list[dict[str, Any]], Field(min_length=1)] | None = None


class Participant(Exact):
    """An agent of a conversation's roster."""

    agent_id: AgentId
    name: Annotated[str, Field(max_length=256)] | None = None


class ConversationOpened(Exact):
    """`conversation.opened`."""

    conversation_id: ConversationId
    opened_by: str | None = None
    agent_id: AgentId | None = None
    participants: list[Participant] | None = None
    initial_turn: Turn | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    capabilities: list[Literal["multi-turn", "streaming"]] | None = None


class ConversationExchanged(Exact):
    """`conversation.exchanged`: one turn, appended."""

    conversation_id: ConversationId
    turn_index: Annotated[int, Field(ge=0)]
    turn: Turn | None = None
    outcome: Any = None


class ConversationClosed(Exact):
    """`conversation.closed`."""

    conversation_id: ConversationId
    reason: str | None = None
    turn_count: Annotated[int, Field(ge=0)] | None = None


class AgentDecided(Exact):
    """`agent.decided`. Without a confidence nothing is escalated."""

    agent_id: AgentId
    decision: Any
    confidence: Share | None = None
    causation_host_id: str | None = None


# --- ours ---------------------------------------------------------------------------------------------


class VoteRecorded(Exact):
    """`sayso.vote-recorded`: a vote on an approval that needs several."""

    node_id: NodeId
    interrupt_id: BoundId
    action: ApprovalAction


class QuestionAsked(Exact):
    """`sayso.question-asked`: somebody asked about an open approval (action `ask`)."""

    node_id: NodeId
    interrupt_id: BoundId
    text: str


class InterruptReplayed(Exact):
    """`sayso.interrupt-replayed`: a replay met a question whose answer is recorded. Nobody was asked."""

    node_id: NodeId
    interrupt_id: BoundId
    kind: Kind
    key: Annotated[str, Field(min_length=1, max_length=256)]
