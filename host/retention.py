"""Which runs are over for good, and what goes with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from host.decisions.session_thread import thread_name
from host.decisions.state import Run
from host.store.records import StoredEvent
from schemas.runs import EXTERNAL_WORKFLOW, TERMINAL

REMOVED: Final = "removed"
"""What the audit trail says of a run whose log is gone."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A run and what belongs to it alone. `version` is the one that it was decided on."""

    run_id: str
    version: int
    interrupts: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()
    match_keys: tuple[str, ...] = field(default=())


def is_over(run: Run) -> bool:
    """Whether nothing of it waits: it has ended, or is a program's own run, which nobody ends, and has
    nothing open."""
    if run.open or run.wake_at is not None:
        return False
    return run.status in TERMINAL or run.workflow_id == EXTERNAL_WORKFLOW


def ends_with(run: Run, events: Iterable[StoredEvent]) -> bool:
    """Whether this commit is the last of the run."""
    return max((event.sequence for event in events), default=-1) + 1 == run.version


def opened(events: Iterable[StoredEvent]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of all interrupts and conversations of a run, from its events: also of what a session's
    thread was told, and of that thread."""
    interrupts, conversations = [], []
    for event in events:
        if event.type == "sayso.thread-told" and event.payload["kind"] in ("message", "branch"):
            interrupts.append(str(event.payload["id"]))
        if event.type == "sayso.session-started" and "thread" in event.payload:
            conversations.append(thread_name(event.run_id))
        if "opens" in (event.record or {}):
            interrupts.append(str((event.record or {})["opens"]))
        if event.type == "conversation.opened":
            conversations.append(str(event.payload["conversationId"]))
    return tuple(interrupts), tuple(conversations)
