"""Server-sent frames: events, batches of them, message chunks and snapshots (OpenWOP: event stream). Pure.

Three frame names are no event types: `batch`, `ai.message.chunk` and `state.snapshot`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from gateway import wire
from gateway.streams.modes import Mode, admitting
from host.decisions.evolve import evolve
from host.decisions.state import Run, State
from host.history import told
from host.store.records import StoredEvent
from schemas.versions import ProtocolVersion


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. `id` is the sequence that a reader resumes after."""

    id: int
    event: str
    data: Any

    def encode(self) -> bytes:
        return b"id: %d\nevent: %b\ndata: %b\n\n" % (
            self.id,
            self.event.encode(),
            orjson.dumps(self.data),
        )


def event_frame(
    event: StoredEvent, modes: tuple[Mode, ...], version: ProtocolVersion
) -> Frame | None:
    """The frame of an event, or None when no mode admits it.

    A single mode names its frames by the event's type; in a mixed stream a frame is named by the mode
    that admitted it.
    """
    mode = admitting(modes, event.type)
    if mode is None:
        return None
    if modes == ("messages",):
        return Frame(event.sequence, "ai.message.chunk", event.payload)
    name = event.type if len(modes) == 1 else mode
    return Frame(event.sequence, name, wire.event_doc(event, version))


@dataclass(slots=True)
class Batch:
    """Events that wait to be shown in one frame."""

    docs: list[dict[str, Any]] = field(default_factory=list)
    last: int = -1

    def add(self, event: StoredEvent, version: ProtocolVersion) -> None:
        self.docs.append(wire.event_doc(event, version))
        self.last = event.sequence

    def take(self) -> Frame:
        """The frame of what waits; its id is the highest sequence. The batch is empty afterwards."""
        frame = Frame(self.last, "batch", self.docs)
        self.docs = []
        return frame


class Snapshots:
    """The state of a run after each of its events, folded from the log as the host folds it."""

    def __init__(self, run: Run) -> None:
        self._run = replace(
            run, status="running", version=0, open=(), nodes=(), error=None, outputs=None
        )

    def fold(self, event: StoredEvent) -> None:
        """Take the next event in."""
        self._run = evolve(State(self._run), [told(event)], event.at).run

    def frame(self) -> Frame:
        """`state.snapshot`, as of the event that was folded last."""
        return Frame(self._run.version - 1, "state.snapshot", wire.snapshot(self._run))
