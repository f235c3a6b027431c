"""What the rules look at: a run's head, one interrupt, one conversation. Frozen, and made of JSON.

Theory of operation. The event log of a run is the truth. These three are folds over it (`evolve`),
kept as projections in the same transaction, so that a decision needs two rows and not the whole log. A
decision function takes them, a command and the time, and returns events, or raises `Refusal`; nothing
in this package reads a clock, a database or the network. Times are integers, milliseconds since 1970 in
UTC; they become ISO text only in what goes over the wire.

An interrupt is `open` until exactly one of: `resolved` (a value came), `expired` (its deadline passed),
`cancelled` (by its run or by a caller). None of the three is ever left again.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Literal

from host.decisions.copies import quick
from host.decisions.session import Session

InterruptStatus = Literal["open", "resolved", "cancelled", "expired"]
Json = Any


def iso(ms: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, with milliseconds: `2026-09-11T12:00:00.000Z`."""
    whole, rest = divmod(ms, 1000)
    return f"{_second(whole)}.{rest:03d}Z"


@lru_cache(4096)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


SOMEBODY: Final = "somebody with the link"
"""The name of whoever holds a link that was made for nobody in particular; channels translate it."""


@quick
@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody as the host knows them: one person or program, whatever channel they came through.

    `names` are all spellings that an approvers list may use for them, `id` included. `groups`, `roles`
    and `override` were looked up just now, at decision time. `known` tells a person of the directory (or
    an authenticated program) from a stranger whom only a channel vouches for; `asked` is true when this
    very person was sent the question or holds a link of their own; `outsider` tells a stranger who is a
    guest in the channel, or of another organisation.
    """

    id: str
    tenant: str
    name: str = ""
    kind: Literal["user", "workload", "bearer"] = "user"
    names: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    override: bool = False
    known: bool = True
    asked: bool = False
    outsider: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator chose. The defaults are the strict ones.

    `open_gates`: who may answer a request that lists nobody: `known` people and programs, or `anyone`
    a channel lets in. `ref_kinds`: which approver references are resolved and enforced here. Without
    `enforce_lists` (a declared relaxation for test stages) anybody may answer. The last two are test
    seams: an event must repeat its wait's correlation, a caller may name the voter. `capture_requests`
    and `capture_answers`: whether events show what was asked and what was said.
    """

    open_gates: Literal["known", "anyone"] = "known"
    ref_kinds: frozenset[str] = frozenset({"principal", "group", "role"})
    self_approval: bool = True
    aliases: bool = True
    enforce_lists: bool = True
    check_correlation: bool = False
    named_voters: bool = False
    capture_requests: bool = True
    capture_answers: bool = True


@quick
@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that a decision wants appended.

    `payload` is what consumers may read, in its widest registered shape. `record` is ours alone: what
    the fold needs and the closed payload has no room for.
    """

    type: str
    payload: dict[str, Any]
    node_id: str | None = None
    record: dict[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True)
class Vote:
    """One person's standing vote. A later one of the same person replaces it.

    `names` are the other spellings of whoever voted, as they were then. Who a channel's account belongs
    to may be told differently later (a changed address, a new directory), and that is no second vote.
    """

    principal: str
    name: str
    action: str
    at: int
    names: tuple[str, ...] = ()

    def is_of(self, names: Set[str]) -> bool:
        """Whether whoever has these names cast it."""
        return self.principal in names or not names.isdisjoint(self.names)


@dataclass(frozen=True, slots=True)
class Question:
    """Something asked about an open request (`ask`): it never decides."""

    principal: str
    name: str
    text: str
    at: int


@quick
@dataclass(frozen=True, slots=True)
class Outcome:
    """How an interrupt ended. `by` is a principal id, `name` what people call them."""

    value: Json = None
    action: str = ""
    decision: str = ""
    reason: str = ""
    by: str = ""
    name: str = ""
    via: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Interrupt:
    """One durable pause. `version` rises with each change; `payload` never changes."""

    interrupt_id: str
    run_id: str
    node_id: str
    key: str
    kind: str
    payload: dict[str, Any]
    requested_at: int
    requested_by: str = ""
    deadline: int | None = None
    notify: tuple[str, ...] = ()
    match_key: str | None = None
    self_approval: bool | None = None
    replies: str = (
        ""  # how far an answer in plain words may go: off, comment, decide; "" as is usual
    )
    trace: str = ""  # the W3C traceparent of the request that asked
    fallback: tuple[str, ...] = ()  # asked one after the other when none of `notify` is reached
    status: InterruptStatus = "open"
    version: int = 1
    votes: tuple[Vote, ...] = ()
    questions: tuple[Question, ...] = ()
    outcome: Outcome | None = None

    def is_open(self, now: int) -> bool:
        """Whether an answer may still count at `now` (ms): a deadline needs no timer to have passed."""
        return self.status == "open" and (self.deadline is None or now < self.deadline)

    @property
    def tenant(self) -> str:
        return self.run_id.partition("/")[0]

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.payload["data"]
        return data


@quick
@dataclass(frozen=True, slots=True)
class OpenWait:
    """An interrupt that a run waits on, as its head remembers it."""

    interrupt_id: str
    node_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node of a workflow run. `visits` counts how often it was started; `until` is a delay's end."""

    node_id: str
    status: Literal["running", "completed", "failed"]
    visits: int = 1
    until: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Run:
    """The head of a run. `version` is the sequence that its next event gets.

    `nodes` is empty for a run that an outside program drives. `replay_of` names the run whose recorded
    answers this one takes; `root` is the run that its keys are derived from (itself, or the origin of
    a fork). `due` is when a session has to be looked at (ms).
    """

    run_id: str
    workflow_id: str
    status: str = "running"
    version: int = 0
    created_at: int = 0
    owner: dict[str, Any] = field(default_factory=dict)
    open: tuple[OpenWait, ...] = ()
    error: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    configurable: dict[str, Any] | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    nodes: tuple[NodeState, ...] = ()
    replay_of: str | None = None
    root: str = ""
    due: int | None = None
    callback: str | None = None

    @property
    def tenant(self) -> str:
        return self.run_id.partition("/")[0]

    @property
    def wake_at(self) -> int | None:
        """When the next delay of this run is over, or its session is due (ms), or None."""
        if self.status in ("completed", "failed", "cancelled"):
            return None
        delays = min((n.until for n in self.nodes if n.until is not None), default=None)
        return self.due if delays is None else delays

    def node(self, node_id: str) -> NodeState | None:
        """The state of a workflow node that was started."""
        return next((n for n in self.nodes if n.node_id == node_id), None)

    @property
    def current_node(self) -> str | None:
        """The node that the run is suspended at: the one that asked last."""
        return self.open[-1].node_id if self.open else None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of one tenant. `turns` counts its exchanges; the next one gets that index + 1.

    `notify` is where its start was posted: later turns go there unless they say otherwise.
    """

    conversation_id: str
    run_id: str
    title: str = ""
    open: bool = True
    turns: int = 0
    notify: tuple[str, ...] = ()

    @property
    def tenant(self) -> str:
        return self.run_id.partition("/")[0]


@quick
@dataclass(frozen=True, slots=True)
class State:
    """What one decision looks at and what it leaves: the run, and those of its parts that it touches."""

    run: Run
    interrupts: tuple[Interrupt, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    session: Session | None = None

    @property
    def interrupt(self) -> Interrupt:
        """The interrupt that the command is about, or that was asked last."""
        return self.interrupts[0]

    def conversation(self, conversation_id: str) -> Conversation | None:
        """The conversation of this id, if it exists."""
        found = (c for c in self.conversations if c.conversation_id == conversation_id)
        return next(found, None)
