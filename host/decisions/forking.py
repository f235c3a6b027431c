"""decide: a fork of a run. Recorded answers are returned; nobody is asked, told or looked up again.

Events below the fork point are history and are copied, with new interrupt ids. From there on a `replay` takes
every answer from the source's log, by key, and never from a person; a `branch` runs on for real, and what is
pending at the fork point is asked anew (OpenWOP: replay and fork).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import orjson

from host.decisions.state import Interrupt, NewEvent
from schemas.errors import Refusal

_ENDS = frozenset({"interrupt.resolved", "node.failed"})


def check_fork_point(mode: str, from_seq: int | None, version: int) -> int:
    """The fork point. Raises `Refusal`: `validation_error`, `fork_point_invalid`."""
    if from_seq is None:
        if mode == "branch":
            raise Refusal("validation_error", "A branch needs fromSeq: where it leaves its source.")
        return 0
    if from_seq > version:
        raise Refusal(
            "fork_point_invalid", f"The run has no event {from_seq}: its next one is {version}."
        )
    return from_seq


def copy_of(event: NewEvent, run_id: str) -> NewEvent:
    """An event of the run `run_id`, for another run's log: its record says where it was first, so that the
    audit trail doesn't show it as something that people did now."""
    if event.record is None:
        return event
    return replace(event, record={"copied": run_id, **event.record})


def history(
    events: Iterable[NewEvent], mint: Callable[[], str], mode: str, now: int
) -> tuple[list[NewEvent], dict[str, str]]:
    """The copied events, and the new interrupt ids by the old ones.

    Nobody is told again of what is history: addresses are dropped, but for what is open in a branch. The
    time of an open question begins anew in a branch.
    """
    copied = list(events)
    renamed = {
        e.record["opens"]: mint() for e in copied if e.record is not None and "opens" in e.record
    }
    ended = {(e.record or {}).get("interruptId") for e in copied if (e.record or {}).get("ends")}
    result = []
    for event in copied:
        record = event.record
        if record is not None and ("notify" in record or "deadline" in record):
            live = mode == "branch" and record.get("opens") not in ended
            record = _fresh(event, record, live, now)
        result.append(_rename(replace(event, record=record), renamed))
    return result, renamed


def _fresh(event: NewEvent, record: dict[str, Any], live: bool, now: int) -> dict[str, Any]:
    kept = {k: v for k, v in record.items() if live or k not in ("notify", "fallback", "deadline")}
    if live and "deadline" in kept:
        kept["deadline"] = now + event.payload["timeoutMs"]
    return kept


def _rename(event: NewEvent, renamed: dict[str, str]) -> NewEvent:
    raw = orjson.dumps([event.payload, event.record])
    for old, new in renamed.items():
        raw = raw.replace(old.encode(), new.encode())
    payload, record = orjson.loads(raw)
    return NewEvent(event.type, payload, event.node_id, record)


def recorded_end(events: Iterable[NewEvent], interrupt_id: str) -> NewEvent | None:
    """The event by which an interrupt ended in the source, or None if it has not."""
    for event in events:
        record = event.record or {}
        if event.type in _ENDS and record.get("interruptId") == interrupt_id and record.get("ends"):
            return event
    return None


def replayed(event: NewEvent, interrupt: Interrupt) -> list[NewEvent]:
    """The recorded end, for the interrupt of a replay: the same value, decision and decider."""
    payload = dict(event.payload)
    if "interruptId" in payload:
        payload["interruptId"] = interrupt.interrupt_id
    record = {**(event.record or {}), "interruptId": interrupt.interrupt_id, "replayed": True}
    events = [NewEvent(event.type, payload, event.node_id, record)]
    if event.type == "interrupt.resolved":
        resumed = {"nodeId": interrupt.node_id, "interruptId": interrupt.interrupt_id}
        events.append(NewEvent("node.resumed", resumed, interrupt.node_id))
    return events


def short_circuit(
    end: NewEvent, interrupt_id: str, node_id: str, payload: dict[str, Any]
) -> list[NewEvent]:
    """An interrupt that a replay would raise and whose end is recorded: opened and ended in silence.

    No `interrupt.requested`: nobody is asked. `sayso.interrupt-replayed` says that it was met.
    """
    told = {"nodeId": node_id, "interruptId": interrupt_id, "kind": payload["kind"]}
    told["key"] = payload["key"]
    record = {"opens": interrupt_id, "asked": payload}
    opened = NewEvent("sayso.interrupt-replayed", told, node_id, record)
    ended_payload = dict(end.payload)
    if "interruptId" in ended_payload:
        ended_payload["interruptId"] = interrupt_id
    ended = {**(end.record or {}), "interruptId": interrupt_id, "replayed": True}
    return [opened, NewEvent(end.type, ended_payload, node_id, ended)]
