"""What a branching session is: a tree of messages with a head, what parks it, and what is in flight.

Theory of operation. A session is a run whose log has `sayso.session-started` after `run.started`. Messages
form a tree; the *head* is the leaf that is talked to, and the path from the root to it is what a worker
reads. A *pause* (an interrupt raised in the session) is anchored to the message that was the head when it
was raised, and parks every leaf that has the anchor on its path; without an anchor it parks all of them.
Parked is always computed from the tree (`parking`), and stored nowhere.

A *call* is work in flight (a tool, a model call, a child session), a *decision* is a question to the
worker ("this happened, what now?"). At most one decision is live, the others queue; what would land on a
parked leaf is held there. `fold` gives the state from the log; `inputs`, `answers` and `raising` decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Json = Any
Level = Literal["frontend", "machine", "operator", "system"]
RANK: Final[dict[str, int]] = {"frontend": 0, "machine": 1, "operator": 2, "system": 3}
"""Who may clear what: a pause is cleared by its own level or a higher one."""

CallKind = Literal["tool_call", "llm_call", "sub_agent"]
WORKFLOW: Final = "sayso.session"
"""The workflow id of runs that are sessions. Only `host.branches` starts them."""


@dataclass(frozen=True, slots=True)
class Node:
    """One message and the one that it follows; `parent` None is a root."""

    message: dict[str, Any]
    parent: str | None


@dataclass(frozen=True, slots=True)
class Pause:
    """An open interrupt of the session. `host_id` names the interrupt that people see and answer."""

    interrupt_id: str
    host_id: str
    origin: Level
    reason: str
    payload: Json
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """Work in flight. `data` is what its kind needs: name and arguments, a model request, a child's id."""

    id: str
    kind: CallKind
    handler: Literal["worker", "client", "engine"]
    anchor: str | None
    data: dict[str, Any]
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Decision:
    """A question to the worker. `anchor` is the leaf that it was queued on, and of a live or answered
    one the leaf that its answer lands on. `until` (ms) is set while it is live: its lease.

    `answer` is set when the worker has answered and the leaf was parked meanwhile: what it still wants
    to do, to be done after the resume.
    """

    id: str
    trigger: dict[str, Any]
    anchor: str | None
    turn: str | None
    attempts: int = 0
    until: int | None = None
    not_before: int = 0
    answer: dict[str, Any] | None = None

    @property
    def passes(self) -> bool:
        """A named action of a client is delivered also while parked: a click may be the answer."""
        return bool(self.trigger["type"] == "client.action")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A turn that waits for the running one to end."""

    turn: str
    trigger: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Errand:
    """Something to be done in another session, at least once: `spawn`, `send` or `report`."""

    id: str
    kind: Literal["spawn", "send", "report"]
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """One entry of a session's thread, in the order of the thread.

    `message`: a message of the tree is posted; `heard`: it was said in the thread itself, and stands there;
    `card`: an interrupt is asked there; `branch`: the head moved to another branch. `id` names the post
    (an interrupt's own for `card`, "" for `heard`). `left` and `waits` are interrupts that people see: those
    that the head went away from, and those that park where it is now.
    """

    kind: Literal["message", "heard", "card", "branch"]
    id: str = ""
    message: str | None = None
    head: str | None = None
    left: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """A session as its log has it. `thread` (`channel:address`) is where it has a thread, or ""."""

    session_id: str
    agent_id: str
    owner: dict[str, Any]
    several: bool = True
    ancestry: tuple[str, ...] = ()
    parent_call: str = ""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    head: str | None = None
    pauses: tuple[Pause, ...] = ()
    calls: tuple[Call, ...] = ()
    ended: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    errands: tuple[Errand, ...] = ()
    turn: str | None = None
    turns: Mapping[str, str] = field(default_factory=dict)
    waiting: tuple[Waiting, ...] = ()
    status: Literal["idle", "done", "cancelled"] = "idle"
    state: Json = None
    agent: dict[str, Any] | None = None
    thread: str = ""
    told: tuple[Told, ...] = ()

    def pause(self, interrupt_id: str) -> Pause | None:
        """The open interrupt of this id."""
        return next((p for p in self.pauses if p.interrupt_id == interrupt_id), None)

    def call(self, call_id: str) -> Call | None:
        """The open call of this id."""
        return next((c for c in self.calls if c.id == call_id), None)

    def decision(self, decision_id: str) -> Decision | None:
        """The decision of this id, if it is not over."""
        return next((d for d in self.decisions if d.id == decision_id), None)

    @property
    def live(self) -> Decision | None:
        """The decision that a worker has right now."""
        return next((d for d in self.decisions if d.until is not None), None)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation from the root to the head."""
        return [self.nodes[name].message for name in path(self, self.head)]


def path(session: Session, leaf: str | None) -> list[str]:
    """The ids from the root to `leaf`, both included; [] for the root itself (None)."""
    found: list[str] = []
    while leaf is not None:
        found.append(leaf)
        leaf = session.nodes[leaf].parent
    found.reverse()
    return found


def parking(session: Session, leaf: str | None) -> tuple[Pause, ...]:
    """The pauses that park `leaf`: those without an anchor, and those anchored on its path."""
    if not session.pauses:
        return ()
    on = set(path(session, leaf))
    return tuple(p for p in session.pauses if p.anchor is None or p.anchor in on)


def on_path(session: Session, anchor: str | None, leaf: str | None) -> bool:
    """Whether `anchor` is an ancestor of `leaf`, or `leaf` itself. The root (None) always is."""
    return anchor is None or anchor in path(session, leaf)


def kept(session: Session, anchor: str | None) -> bool:
    """Whether work anchored here outlives that it is not on the head's path.

    It does while a pause parks its branch: that branch can be entered again, and is then whole.
    """
    return any(
        p.anchor is None or on_path(session, p.anchor, anchor) or on_path(session, anchor, p.anchor)
        for p in session.pauses
    )


def deliverable(session: Session, decision: Decision) -> bool:
    """Whether a queued decision may go to the worker now: it lands on the head, and that isn't parked."""
    if decision.answer is not None:
        return False
    if decision.passes:
        return True
    return on_path(session, decision.anchor, session.head) and not parking(session, session.head)


def next_decision(session: Session) -> Decision | None:
    """The decision that the free slot is for; None while one is live or everything is held."""
    if session.live is not None or session.status == "cancelled":
        return None
    return next((d for d in session.decisions if deliverable(session, d)), None)


def wake_at(session: Session) -> int | None:
    """When somebody has to look at this session (ms): 0 for now, a lease's end, a retry; None: nobody.

    This is the one thing about a session that the store's index knows (`Run.due`).
    """
    if session.status == "cancelled":
        return None
    if session.errands:
        return 0
    live = session.live
    if live is not None:
        return live.until
    ready = next_decision(session)
    return ready.not_before if ready is not None else None


def waits_for(session: Session, decision: Decision) -> list[str]:
    """Why a decision is not with the worker yet: `interrupt:<id>`, `decision:<id>`; [] if nothing holds
    it."""
    if decision.until is not None:
        return []
    held = [] if decision.passes else [p.interrupt_id for p in parking(session, decision.anchor)]
    if not held and not decision.passes:
        held = [p.interrupt_id for p in parking(session, session.head)]
    labels = [f"interrupt:{name}" for name in held]
    live = session.live
    return labels + ([f"decision:{live.id}"] if live is not None else [])


def turn_waits_for(session: Session, number: int) -> list[str]:
    """Why the turn at this place of the queue has not begun."""
    labels = [f"interrupt:{p.interrupt_id}" for p in parking(session, session.head)]
    if session.turn is not None:
        labels.append(f"turn:{session.turn}")
    if number > 0:
        labels.append(f"queued_behind:turn:{session.waiting[number - 1].turn}")
    return labels
