"""The payloads of a branching session's events, each closed. All types are ours (`sayso.`).

What a session holds for its program (messages, arguments, payloads, results) is any JSON: bounded by the
size of a request, and drawn by nobody here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from schemas.ids import BoundId
from schemas.model import Exact

Id = Annotated[str, Field(min_length=1, max_length=512)]
Name = Annotated[str, Field(min_length=1, max_length=256)]
Level = Literal["frontend", "machine", "operator", "system"]
CallKind = Literal["tool_call", "llm_call", "sub_agent"]
Milliseconds = Annotated[int, Field(ge=0)]


class SessionStarted(Exact):
    """`sayso.session-started`: this run is a session. `several`: more than one interrupt may park a
    branch. A child session names its ancestors and the call of its parent. `thread` is the place
    (`channel:address`) where it has a thread."""

    session_id: Id
    agent_id: Name
    owner: dict[str, Any]
    several: bool
    ancestry: list[Id] | None = None
    parent_call: Id | None = None
    thread: Annotated[str, Field(min_length=1, max_length=512)] | None = None


class SessionDone(Exact):
    """`sayso.session-done`: its worker has no more to do until something new comes."""


class MessageAdded(Exact):
    """`sayso.message-added`: a message joined the tree below `parentId`. `head`: the head moved on to it."""

    message: dict[str, Any]
    head: bool
    parent_id: Id | None = None


class HeadMoved(Exact):
    """`sayso.head-moved`: another branch is talked to. Without `headId` it is the root."""

    head_id: Id | None = None


class BranchParked(Exact):
    """`sayso.branch-parked`: an interrupt, anchored to the head; without an anchor it parks all."""

    interrupt_id: Id
    host_interrupt_id: BoundId
    origin: Level
    reason: str
    payload: Any = None
    anchor: Id | None = None


class BranchResumed(Exact):
    """`sayso.branch-resumed`: the interrupt has its answer, `raw` or as people gave it to what was
    `asked`."""

    interrupt_id: Id
    answer: dict[str, Any]
    asked: Any = None


class CallOpened(Exact):
    """`sayso.call-opened`: work is in flight."""

    id: Id
    kind: CallKind
    handler: Literal["worker", "client", "engine"]
    data: dict[str, Any]
    anchor: Id | None = None


class CallRetried(Exact):
    """`sayso.call-retried`: it failed and is tried again."""

    id: Id
    attempt: Annotated[int, Field(ge=2)]
    error: str


class CallSettled(Exact):
    """`sayso.call-settled`: it has ended, with a result, a message or an error."""

    id: Id
    kind: CallKind
    ok: bool
    result: Any = None
    message: Any = None
    truncated: bool | None = None
    usage: Any = None
    cost: Any = None
    error: str | None = None
    code: str | None = None
    detail: Any = None


class CallVoided(Exact):
    """`sayso.call-voided`: nobody waits for it any more; what comes of it is passed over."""

    kind: CallKind
    id: Id


class DecisionQueued(Exact):
    """`sayso.decision-queued`: the worker is to be asked, at this place of the queue (else the end)."""

    decision_id: Id
    trigger: dict[str, Any]
    anchor: Id | None = None
    turn_id: Id | None = None
    place: Annotated[int, Field(ge=0)] | None = None
    not_before: Milliseconds | None = None


class DecisionDispatched(Exact):
    """`sayso.decision-dispatched`: it is with the worker; `until` (ms) its answer is waited for."""

    decision_id: Id
    attempt: Annotated[int, Field(ge=1)]
    until: Milliseconds
    anchor: Id | None = None


class DecisionErrored(Exact):
    """`sayso.decision-errored`: a delivery failed; it is tried again at `notBefore` (ms)."""

    decision_id: Id
    error: str
    not_before: Milliseconds


class DecisionAnswered(Exact):
    """`sayso.decision-answered`: the worker answered on a branch that is parked: `rest` waits."""

    decision_id: Id
    rest: dict[str, Any]


class DecisionCompleted(Exact):
    """`sayso.decision-completed`: answered, and carried out."""

    decision_id: Id


class DecisionDropped(Exact):
    """`sayso.decision-dropped`: it is asked no more."""

    decision_id: Id
    reason: str


class TurnStarted(Exact):
    """`sayso.turn-started`."""

    turn_id: Id


class TurnEnded(Exact):
    """`sayso.turn-ended`: `left` when the user walked away from it to another branch."""

    turn_id: Id
    how: Literal["completed", "failed", "left"]
    data: Any = None


class TurnQueued(Exact):
    """`sayso.turn-queued`: it begins when the running one has ended."""

    turn_id: Id
    trigger: dict[str, Any]


class WorkerState(Exact):
    """`sayso.worker-state`: what the worker keeps, and its agent's configuration."""

    state: Any = None
    agent: dict[str, Any] | None = None


class ErrandAsked(Exact):
    """`sayso.errand-asked`: something is to be done in another session."""

    id: Id
    kind: Literal["spawn", "send", "report"]
    data: dict[str, Any]


class ErrandDone(Exact):
    """`sayso.errand-done`."""

    id: Id


class ThreadTold(Exact):
    """`sayso.thread-told`: the next entry of the session's thread. `id` names the post; what was `heard` in
    the thread has none. `left` and `waits` are interrupts on the branch that was left, and on this one."""

    kind: Literal["message", "heard", "card", "branch"]
    id: BoundId | None = None
    message_id: Id | None = None
    head_id: Id | None = None
    left: list[BoundId] | None = None
    waits: list[BoundId] | None = None


SESSION_EVENTS: Final[dict[str, type[Exact]]] = {
    "sayso.session-started": SessionStarted,
    "sayso.session-done": SessionDone,
    "sayso.message-added": MessageAdded,
    "sayso.head-moved": HeadMoved,
    "sayso.branch-parked": BranchParked,
    "sayso.branch-resumed": BranchResumed,
    "sayso.call-opened": CallOpened,
    "sayso.call-retried": CallRetried,
    "sayso.call-settled": CallSettled,
    "sayso.call-voided": CallVoided,
    "sayso.decision-queued": DecisionQueued,
    "sayso.decision-dispatched": DecisionDispatched,
    "sayso.decision-errored": DecisionErrored,
    "sayso.decision-answered": DecisionAnswered,
    "sayso.decision-completed": DecisionCompleted,
    "sayso.decision-dropped": DecisionDropped,
    "sayso.turn-started": TurnStarted,
    "sayso.turn-ended": TurnEnded,
    "sayso.turn-queued": TurnQueued,
    "sayso.worker-state": WorkerState,
    "sayso.errand-asked": ErrandAsked,
    "sayso.errand-done": ErrandDone,
    "sayso.thread-told": ThreadTold,
}
