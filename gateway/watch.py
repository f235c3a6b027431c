"""Watches requests, answers and deliveries: counts them, times them, and traces them.

One trace holds the life of a question: the request that asked, each delivery, each answer, and the wait that
ends with it. The asking request's traceparent is kept with the interrupt; what happens later is a span below
it, linked to the request in which it happened.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from adapters.channel import NotYet
from gateway.metrics import Metrics
from gateway.tracing import Span, Tracing
from host.decisions.resolve import Answer
from host.decisions.state import Interrupt, State
from host.journal import AlreadyReplied
from host.observer import Settled, asking_trace
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

received_at: Final[ContextVar[float | None]] = ContextVar("received_at", default=None)
"""When the request that is being served arrived, by `time.perf_counter`."""

PEOPLE: Final = frozenset({"slack", "email", "web"})


class Watch:
    """Implements `host.observer.Observer`, and watches the doors of the gateway."""

    def __init__(self, metrics: Metrics | None = None, tracing: Tracing | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.tracing = tracing or Tracing()

    @contextmanager
    def resolving(self, interrupt: Interrupt, answer: Answer) -> Iterator[Settled]:
        begun = received_at.get() or time.perf_counter()
        here = asking_trace.get()
        with self.tracing.span(
            "resolve",
            interrupt.trace or here,
            here if interrupt.trace else "",
            channel=answer.via,
            kind=interrupt.kind,
            interrupt_id=interrupt.interrupt_id,
        ) as span:

            def settled(state: State) -> None:
                outcome = _outcome(interrupt, state)
                span.note(outcome=outcome)
                self.metrics.resolved(answer.via, outcome)
                if answer.via in PEOPLE:
                    self.metrics.durable(answer.via, time.perf_counter() - begun)

            # What a workflow asks next belongs to the trace of the question before.
            before = asking_trace.set(span.traceparent)
            try:
                yield settled
            except Refusal as refusal:
                self.metrics.resolved(answer.via, "refused", refusal.code)
                raise
            except AlreadyReplied:
                raise  # counted by who sends the kept answer
            except StoreUnavailable:
                self.metrics.resolved(answer.via, "unavailable")
                raise
            finally:
                asking_trace.reset(before)

    @contextmanager
    def clicking(self, channel: str, interrupt_id: str) -> Iterator[Span]:
        """Around what a person said in a channel."""
        with self.tracing.span(
            "click", asking_trace.get(), channel=channel, interrupt_id=interrupt_id
        ) as span:
            before = asking_trace.set(span.traceparent)
            # Over a socket of our own (Slack's Socket Mode) there is no request that it came with.
            received = received_at.set(received_at.get() or time.perf_counter())
            try:
                yield span
            finally:
                received_at.reset(received)
                asking_trace.reset(before)

    @contextmanager
    def delivering(self, channel: str, interrupt: Interrupt | None) -> Iterator[None]:
        """Around one attempt to show a message: of an interrupt, or a post of a thread."""
        with self.tracing.span(
            "deliver",
            interrupt.trace if interrupt is not None else "",
            channel=channel,
            kind=interrupt.kind if interrupt is not None else "post",
            interrupt_id=interrupt.interrupt_id if interrupt is not None else "",
        ):
            try:
                yield
            except NotYet:
                self.metrics.delivered(channel, "postponed")
                raise
            except Exception:
                self.metrics.delivered(channel, "failed")
                raise

    def shown(self, channel: str, interrupt: Interrupt | None, now: int) -> None:
        """A message shows this state of an interrupt at `now` (ms), or a post is there."""
        self.metrics.delivered(channel, "shown")
        if interrupt is not None:
            self.metrics.converged(channel, max(now - last_change(interrupt), 0) / 1000)

    def resumed(self, interrupt: Interrupt) -> None:
        """A program that waited has got the end of what it asked."""
        with self.tracing.span(
            "resume",
            interrupt.trace,
            asking_trace.get() if interrupt.trace else "",
            kind=interrupt.kind,
            status=interrupt.status,
            interrupt_id=interrupt.interrupt_id,
        ):
            pass


def last_change(interrupt: Interrupt) -> int:
    """When an interrupt changed last (ms)."""
    times = [interrupt.requested_at, *(v.at for v in interrupt.votes)]
    times += [q.at for q in interrupt.questions]
    return max(*times, interrupt.outcome.at if interrupt.outcome else 0)


def _outcome(before: Interrupt, state: State) -> str:
    now = next(i for i in state.interrupts if i.interrupt_id == before.interrupt_id)
    if now.status != "open":
        return "decided"
    return "noted" if len(now.questions) > len(before.questions) else "vote"
