"""What the protocol's run operations answer: snapshot, created run, event page (OpenWOP: runs)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.events import RunEventDoc
from schemas.ids import BoundId, NodeId, WorkflowId
from schemas.model import Exact
from schemas.payloads import Text
from schemas.runs import Configurable, RunStatus
from schemas.subjects import Owner


class RunError(Exact):
    """Why a run failed."""

    code: Text
    message: Text
    details: dict[str, Any] | None = None
    retryable: bool | None = None


class RunSnapshot(Exact):
    """A run as it is now. Closed, with no interrupt and no token in it."""

    run_id: BoundId
    workflow_id: WorkflowId
    status: RunStatus
    owner: Owner
    event_log_schema_version: Literal[3]
    engine_version: Annotated[int, Field(ge=0)] | None = None
    current_node_id: NodeId | None = None
    error: RunError | None = None
    configurable: Configurable | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None


class CreatedRun(Exact):
    """Answer of `POST /runs`. The links are relative: they stay on the request's origin."""

    run_id: BoundId
    status: RunStatus
    events_url: Text
    status_url: Text | None = None


class RunEnded(Exact):
    """Answer of cancelling or completing a run."""

    run_id: BoundId
    status: Literal["cancelling", "cancelled", "completed"]


class EventPage(Exact):
    """Answer of the poll. `lastSequence` is the highest in the log now, -1 when it is empty."""

    run_id: BoundId
    events: list[RunEventDoc]
    last_sequence: Annotated[int, Field(ge=-1)]
    status: RunStatus
    is_terminal: bool


class NodeResolved(Exact):
    """Answer of both resolve operations: where the run stands after it."""

    run_id: BoundId
    node_id: NodeId
    status: RunStatus


class ForkedRun(Exact):
    """Answer of a fork: the new run, and where it left its source."""

    run_id: BoundId
    source_run_id: BoundId
    mode: Literal["replay", "branch"]
    status: RunStatus
    events_url: Text
    from_seq: Annotated[int, Field(ge=0)]


class EffectSeam(Exact):
    """One way out of this host, and what keeps a replay from taking it."""

    seam: Text
    kind: Literal["message", "webhook"]
    guarded: Literal[True]
    guarded_by: Text


class EffectHost(Exact):
    """Which build the manifest is of."""

    name: Text
    build: Text


class EffectSeams(Exact):
    """Every way out of this host."""

    manifest_version: Literal["1"]
    host: EffectHost
    seams: list[EffectSeam]
