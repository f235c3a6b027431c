"""Which events a stream shows, and as which frames."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from gateway.streams.frames import Batch, Snapshots, event_frame
from gateway.streams.modes import MODES, admitting, parse_modes
from host.decisions.state import Run
from host.store.records import StoredEvent
from schemas.errors import Refusal

RUN = "acme/0123456789abcdef"
OWNER: dict[str, Any] = {"tenant": "acme"}


def event(sequence: int, type_: str, **payload: Any) -> StoredEvent:
    return StoredEvent(RUN, sequence, 1_789_128_000_000, type_, payload, payload.get("nodeId"))


@pytest.mark.parametrize(
    ("text", "modes"),
    [
        ("updates", ("updates",)),
        ("values", ("values",)),
        ("debug,updates", ("updates", "debug")),
        ("messages,messages", ("messages",)),
        ("debug,messages,updates", ("updates", "messages", "debug")),
    ],
)
def test_modes(text: str, modes: tuple[str, ...]) -> None:
    assert parse_modes(text) == modes


@pytest.mark.parametrize(
    "text", ["", "all", "values,updates", "updates,values", "updates,", "Updates", "updates\n"]
)
def test_refused_modes_name_the_single_ones(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_modes(text)
    assert caught.value.code == "unsupported_stream_mode"
    assert caught.value.details["supported"] == list(MODES)


@pytest.mark.parametrize(
    ("kind", "tier"),
    [
        ("run.started", True),
        ("run.paused", True),
        ("node.suspended", True),
        ("node.dispatched", True),
        ("interrupt.resolved", True),
        ("approval.granted", True),
        ("clarification.requested", True),
        ("eval.scored", True),
        ("node.started", False),
        ("conversation.opened", False),
        ("agent.decided", False),
        ("output.chunk", False),
        ("sayso.vote-recorded", False),
    ],
)
def test_the_updates_tier(kind: str, tier: bool) -> None:
    assert (admitting(("updates",), kind) is not None) is tier
    assert admitting(("debug",), kind) == "debug"


def test_frames_are_named_by_type_alone_and_by_mode_in_a_mixture() -> None:
    suspended = event(4, "node.suspended", nodeId="n")
    chunk = event(5, "output.chunk", text="a")
    alone = event_frame(suspended, ("updates",), "2.1")
    mixed = event_frame(suspended, ("updates", "debug"), "2.1")
    assert alone is not None
    assert mixed is not None
    assert (alone.event, mixed.event) == ("node.suspended", "updates")
    only = event_frame(chunk, ("messages",), "2.1")
    assert only is not None
    assert (only.event, only.data) == ("ai.message.chunk", {"text": "a"})
    both = event_frame(chunk, ("updates", "messages"), "2.1")
    assert both is not None
    assert (both.event, both.data["type"]) == ("messages", "output.chunk")
    assert event_frame(chunk, ("updates",), "2.1") is None


def test_a_frame_is_one_line_of_data_whatever_is_in_it() -> None:
    frame = event_frame(event(1, "run.failed", error="a\r\nb\u2028\n\nid: 9"), ("debug",), "2.1")
    assert frame is not None
    lines = frame.encode().split(b"\n")
    assert lines[0] == b"id: 1"
    assert lines[1] == b"event: run.failed"
    assert orjson.loads(lines[2].removeprefix(b"data: "))["sequence"] == 1
    assert lines[3:] == [b"", b""]


def test_a_batch_has_the_highest_id_and_is_empty_after_it_is_taken() -> None:
    batch = Batch()
    batch.add(event(3, "run.paused"), "2.1")
    batch.add(event(7, "run.resumed"), "2.1")
    frame = batch.take()
    assert (frame.id, frame.event) == (7, "batch")
    assert [d["sequence"] for d in frame.data] == [3, 7]
    assert batch.docs == []


def test_snapshots_fold_the_log_as_the_host_does() -> None:
    ids = itertools.count()
    log = [
        event(next(ids), "run.started", workflowId="w"),
        event(next(ids), "node.suspended", nodeId="n", interruptId="acme/i", kind="approval"),
        event(next(ids), "run.cancelled"),
    ]
    head = Run(RUN, "w", status="cancelled", version=3, owner=OWNER, tags=("t",))
    snapshots = Snapshots(head)
    seen = []
    for one in log:
        snapshots.fold(one)
        frame = snapshots.frame()
        seen.append((frame.id, frame.data["status"], frame.data.get("currentNodeId")))
    assert seen == [(0, "running", None), (1, "waiting-approval", "n"), (2, "cancelled", None)]
    assert snapshots.frame().data["tags"] == ["t"]
