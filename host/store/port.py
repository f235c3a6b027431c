"""The store port: the event log, the projections written with it, and the work queues beside it.

`Log.append` commits everything of one decision, or answers that somebody was first; then the caller
loads and decides again. Exactly-one-resolve is the condition in that transaction (the run's version),
never a lock. An implementation never holds a lock while Python thinks.

Two real implementations, SQLite and PostgreSQL, pass one contract suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from host.decisions.state import Conversation, Interrupt, Run
from host.retention import Removal
from host.store.audit import AuditTrail, Feed
from host.store.census import Statistics
from host.store.documents import Documents
from host.store.keys import ApiKeys
from host.store.records import Commit, Page, Reply, StoredEvent
from host.store.shelf import Shelf
from host.store.webhooks import Outbox, Subscriptions


class Log(Protocol):
    """Events and the projections of runs, interrupts and conversations."""

    async def append(self, commit: Commit) -> None:
        """Commit all of it durably. Raises `Conflict`, `StoreUnavailable`."""

    async def run(self, run_id: str) -> Run | None: ...

    async def interrupt(self, interrupt_id: str) -> Interrupt | None: ...

    async def by_key(self, run_id: str, key: str) -> Interrupt | None:
        """The interrupt of this key in this run, in whatever state."""

    async def by_node(self, run_id: str, node_id: str) -> Interrupt | None:
        """The open interrupt of this node, else the one that it asked last."""

    async def conversation(self, tenant: str, conversation_id: str) -> Conversation | None: ...

    async def events(self, run_id: str, after: int, limit: int) -> list[StoredEvent]:
        """Events with a sequence above `after` (-1: all), in order; `limit` is met up to the size of
        one commit."""

    async def interrupts(
        self, tenant: str, status: str | None, limit: int, cursor: str | None
    ) -> Page:
        """Newest first."""

    async def due(self, now: int, limit: int) -> list[str]:
        """Open interrupts whose deadline has passed."""

    async def to_wake(self, now: int, limit: int) -> list[str]:
        """Runs whose `wake_at` has passed."""

    async def remove(self, removal: Removal) -> bool:
        """Remove a run with all that belongs to it alone, in one transaction. False when it has moved on."""


class Replies(Protocol):
    """Remembered answers to idempotency keys (kept at least 24 h)."""

    async def find(self, scope: str) -> Reply | None: ...

    async def remember(self, reply: Reply, now: int) -> None:
        """Keep an answer that changed nothing (a 404, a 409). The first one stays."""

    async def forget(self, before: int) -> int:
        """Drop those older than `before` (ms). Returns how many."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message claimed by this replica for sending. `wanted` is the interrupt's version to show."""

    interrupt_id: str
    channel: str
    address: str
    thread: str
    wanted: int
    shown: int
    ref: dict[str, Any] | None
    attempts: int
    fence: int


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """Where a message stands, for operators."""

    channel: str
    address: str
    state: Literal["due", "shown", "dead"]
    wanted: int
    shown: int
    attempts: int
    error: str
    ref: dict[str, Any] | None


class Deliveries(Protocol):
    """Level-triggered messages: a version shown and a version wanted (marked by `Log.append`)."""

    async def claim(self, now: int, owner: str, lease_ms: int, limit: int) -> list[Message]:
        """Take stale messages that nobody else holds. `fence` rises with each claim of a message."""

    async def renew(self, messages: Sequence[Message], now: int, lease_ms: int) -> list[Message]:
        """Hold on to what was claimed for another `lease_ms` from `now`. Those that are still held: the
        others were settled, or somebody else has claimed them since."""

    async def shown(self, message: Message, ref: dict[str, Any], now: int) -> bool:
        """The message shows `message.wanted`. False when a newer claim exists: the write was refused."""

    async def failed(self, message: Message, error: str, retry_at: int | None, now: int) -> None:
        """Try again at `retry_at` (ms), or never (None): a dead letter."""

    async def postpone(self, message: Message, until: int, now: int) -> None:
        """Hand it back, to be claimed at `until` (ms): its turn has not come. Counts as no attempt."""

    async def note(self, message: Message, ref: dict[str, Any] | None) -> bool:
        """Keep `ref` while the message is still being sent: what is about to be done, should this
        process end meanwhile. False when a newer claim exists."""

    async def add(self, message: Message, channel: str, address: str, now: int) -> bool:
        """The same interrupt at one more address, due now. False when it has a message there."""

    async def recall(self, interrupt_id: str, channel: str, address: str, now: int) -> bool:
        """What was shown there never arrived: due once more. False when nothing was sent there."""

    async def revive(self, now: int) -> int:
        """Make the dead letters of open interrupts due once more. Returns how many."""

    async def of(self, interrupt_id: str) -> list[MessageStatus]: ...

    async def thread(self, tenant: str, thread: str, channel: str, address: str) -> Any | None:
        """The ref of a conversation's root message at an address."""

    async def put_thread(
        self, tenant: str, thread: str, channel: str, address: str, ref: dict[str, Any]
    ) -> None:
        """Remember a root. The first one stays."""

    async def find_thread(self, channel: str, ref: dict[str, Any]) -> tuple[str, str] | None:
        """(tenant, conversation id) of the root message that is at `ref`."""


class LinkStore(Protocol):
    """Answer links by the hash of their handle."""

    async def put(self, digest: str, interrupt_id: str, person: dict[str, str]) -> None:
        """Idempotent: the same digest keeps its first row."""

    async def find(self, digest: str) -> tuple[str, dict[str, str]] | None: ...


class Store(Protocol):
    """A database, opened. Its parts share one connection pool and its transactions."""

    @property
    def log(self) -> Log: ...

    @property
    def replies(self) -> Replies: ...

    @property
    def deliveries(self) -> Deliveries: ...

    @property
    def shelf(self) -> Shelf: ...

    @property
    def links(self) -> LinkStore: ...

    @property
    def subscriptions(self) -> Subscriptions: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def api_keys(self) -> ApiKeys: ...

    @property
    def feed(self) -> Feed: ...

    @property
    def audit(self) -> AuditTrail: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def statistics(self) -> Statistics: ...

    async def start(self) -> None:
        """Open, and bring the schema up to date. Raises with a sentence that says what is wrong."""

    async def stop(self) -> None: ...

    async def healthy(self) -> bool:
        """Whether it answers."""

    async def takes_changes(self) -> bool:
        """Whether it has refused none since it was last asked, or takes one now. Full disks refuse."""
