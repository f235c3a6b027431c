"""What a run's log says about its past: all of it, and the recorded end of one interrupt."""

from __future__ import annotations

from host.decisions import forking
from host.decisions.state import NewEvent, Run
from host.store.port import Log
from host.store.records import StoredEvent
from schemas.errors import Refusal

_PAGE = 1000


async def all_events(log: Log, run_id: str) -> list[StoredEvent]:
    """The whole log of a run, read page by page."""
    found: list[StoredEvent] = []
    while page := await log.events(run_id, len(found) - 1, _PAGE):
        found += page
    return found


def told(event: StoredEvent) -> NewEvent:
    """A stored event as the rules know it."""
    return NewEvent(event.type, event.payload, event.node_id, event.record)


async def recorded_end(log: Log, run: Run, key: str) -> NewEvent:
    """How the interrupt of this key ended in the source of a replay.

    Raises `Refusal` (`replay_source_missing`): a replay asks nobody.
    """
    assert run.replay_of is not None
    found = await log.by_key(run.replay_of, key)
    if found is not None and found.status in ("resolved", "expired"):
        events = [told(e) for e in await all_events(log, run.replay_of)]
        end = forking.recorded_end(events, found.interrupt_id)
        if end is not None:
            return forking.copy_of(end, run.replay_of)
    raise Refusal(
        "replay_source_missing", "The source of this replay has no recorded answer to this key."
    )
