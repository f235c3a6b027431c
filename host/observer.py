"""What may watch the host at work, and the trace that an asking request belongs to.

The host knows no metrics and no tracing: whoever composes it hands in an `Observer`, and sets
`asking_trace` for the request that is being served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from host.decisions.copies import replace
from host.decisions.resolve import Answer
from host.decisions.state import Interrupt, NewEvent, State

asking_trace: Final[ContextVar[str]] = ContextVar("asking_trace", default="")
"""The W3C `traceparent` of the request that is being served, or ""."""

Settled = Callable[[State], None]


class Observer(Protocol):
    """Watches answers. It decides nothing, and what it does must not fail."""

    def resolving(self, interrupt: Interrupt, answer: Answer) -> AbstractContextManager[Settled]:
        """Around one answer. What it yields is called with the state once that is durable; a refusal
        leaves the block as an exception."""


class Unwatched:
    """The observer of a host that nobody watches."""

    @contextmanager
    def resolving(self, interrupt: Interrupt, answer: Answer) -> Iterator[Settled]:
        yield lambda state: None


def traced(events: list[NewEvent]) -> list[NewEvent]:
    """The events, with the trace of their request in the record of what they ask."""
    trace = asking_trace.get()
    if not trace:
        return events
    return [
        replace(event, record={**(event.record or {}), "trace": trace})
        if event.type == "interrupt.requested"
        else event
        for event in events
    ]
