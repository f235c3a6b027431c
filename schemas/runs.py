"""Runs as the protocol shows them: the create body, the snapshot, the statuses."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from schemas.ids import AgentId, NodeId, WorkflowId
from schemas.model import Exact

RunStatus = Literal[
    "pending",
    "running",
    "paused",
    "waiting-approval",
    "waiting-input",
    "waiting-external",
    "completed",
    "failed",
    "cancelling",
    "cancelled",
]
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
WAITING: Final[dict[str, RunStatus]] = {
    "approval": "waiting-approval",
    "clarification": "waiting-input",
    "external-event": "waiting-external",
    "custom": "waiting-approval",
    "conversation.exchange": "waiting-input",
    "low-confidence": "waiting-approval",
}
EXTERNAL_WORKFLOW: Final = "sayso.external"
"""A run of this workflow is driven by an outside program, over HTTP."""


class RunSection(Exact):
    escalation_threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class Configurable(Exact):
    """Settings of one run. `run.escalationThreshold` decides when low confidence asks a person."""

    version: Literal[1] | None = None
    run: RunSection | None = None
    ai: dict[str, Any] | None = None
    distillation: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None


class CreateRun(Exact):
    """Body of `POST /runs`."""

    workflow_id: WorkflowId | None = None
    inputs: dict[str, Any] | None = None
    residency: str | None = None
    tenant_id: str | None = None
    scope_id: str | None = None
    callback_url: str | None = None
    mode: str | None = None
    eval_suite_ref: str | None = None
    agent_id: AgentId | None = None
    configurable: Configurable | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=100)] | None = (
        None
    )
    metadata: dict[str, Any] | None = None


class CancelBody(Exact):
    """Body of `POST /runs/{runId}/cancel` and of our own interrupt cancel."""

    reason: Annotated[str, Field(max_length=512)] | None = None


class FinishBody(Exact):
    """Body of `POST /host/sayso/runs/{runId}/complete`: how an outside program ends its run."""

    outputs: dict[str, Any] | None = None


class ForkBody(Exact):
    """Body of `POST /runs/{runId}:fork`."""

    mode: Literal["replay", "branch"]
    from_seq: Annotated[int, Field(ge=0, strict=True)] | None = None
    run_options_overlay: dict[str, Any] | None = None


class AgentDecision(Exact):
    """Body of `POST /host/sayso/runs/{runId}/agent-decisions`: what an agent decided, and how sure."""

    node_id: NodeId
    agent_id: AgentId
    decision: Any
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    key: Annotated[str, Field(min_length=1, max_length=256)]
    notify: Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=50)] | None = (
        None
    )


class RequestInterrupt(Exact):
    """Body of `POST /host/sayso/runs/{runId}/interrupts`. `payload` is checked on its own.

    `fallback` are addresses like those of `notify`, asked one after the other when none of `notify` can
    be reached. `replies` says how far a reply by mail may go, where the gateway allows as much: no
    further than a comment, or not at all.
    """

    node_id: NodeId
    payload: dict[str, Any]
    notify: Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=50)] | None = (
        None
    )
    fallback: (
        Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=20)] | None
    ) = None
    self_approval: bool | None = None
    replies: Literal["off", "comment", "decide"] | None = None


class AskBody(RequestInterrupt):
    """Body of `POST /host/sayso/interrupts`: a first question, and the run that it begins."""

    inputs: dict[str, Any] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=100)] | None = (
        None
    )
    metadata: dict[str, Any] | None = None
    callback_url: str | None = None


class MintToken(Exact):
    """Body of `POST /host/sayso/interrupts/{interruptId}/tokens`. `ttlSeconds` counts from now."""

    intent: Literal["resolve", "inspect"]
    principal: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    ttl_seconds: Annotated[int, Field(ge=1, le=90 * 86_400, strict=True)] | None = None
