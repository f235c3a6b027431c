"""What the client does, as generators that do no I/O.

Theory of operation. An operation yields a `Call` (an HTTP request to make) or a `Pause` (seconds to
let pass) and is sent back what came of it: a `Reply`, or `Lost` when nothing answered. So each rule
(what is retried and until when, how a wait goes on over a restart of the gateway, what an answer
means) is written once. `client.py` drives operations with blocking calls, `aio.py` with awaited
ones, and both do nothing else.

Every call here may be repeated without harm: a run by its Idempotency-Key, an interrupt by its key,
a report by an Idempotency-Key made of that, a cancel because it can only take effect once.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from sayso import answers, keys
from sayso.answers import Interrupt
from sayso.errors import SaysoError, StillOpen, Unreachable
from sayso.plans import Plan, RunState
from sayso.shapes import Ask, Report

T = TypeVar("T")

LONG_POLL: Final = 30.0
"""Seconds that one request waits for an answer. Proxies commonly cut a silent connection at 60."""
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 15.0
"""Seconds between two tries; they double from the first to the longest."""
LONGEST_RETRY_AFTER: Final = 300.0
PARTING: Final = 5.0
"""Seconds that leaving a run's block may take, to tell the gateway that the run is over."""
RETRIED: Final = frozenset({429, 502, 503, 504})

_log = logging.getLogger("sayso")


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request. `timeout` is how many seconds of silence break it off."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 15.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Seconds to let pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer. `body` is its JSON, or None; `retry_after` in seconds, or None."""

    status: int
    body: Any = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing answered: no connection, or one that broke."""


Operation = Generator[Call | Pause, Reply | Lost | None, T]


@dataclass(slots=True)
class Patience:
    """How long a client keeps trying. `clock` gives seconds and never goes back.

    A gateway that has never answered is given `first` seconds: most likely its address is wrong.
    One that has answered before is restarting, and is waited for until the deadline of the
    operation.
    """

    clock: Callable[[], float]
    first: float
    where: str
    reached: bool = False

    def deadline(self, wait: float | None) -> float:
        """The moment at which `wait` seconds from now are over; None is for ever."""
        return float("inf") if wait is None else self.clock() + wait

    def give_up_at(self, deadline: float) -> float:
        """The moment at which a gateway that doesn't answer is given up."""
        return deadline if self.reached else min(deadline, self.clock() + self.first)


def send(patience: Patience, call: Call, deadline: float) -> Operation[Any]:
    """Make one call, again and again while the gateway is away, and answer its JSON.

    Raises `SaysoError` for a refusal, `Unreachable` when the gateway is still away at the deadline.
    """
    give_up = patience.give_up_at(deadline)
    pause = FIRST_PAUSE
    while True:
        reply = yield call
        if isinstance(reply, Reply):
            patience.reached = True
            give_up = deadline
            if reply.status < 300:
                return reply.body
            if not _passing(reply):
                raise answers.read_error(reply.status, reply.body)
        asked = reply.retry_after if isinstance(reply, Reply) else None
        # Jittered, so that a thousand waiting programs don't come back as one.
        seconds = pause * random.uniform(0.5, 1.0)  # noqa: S311
        if asked is not None:
            seconds = max(seconds, min(asked, LONGEST_RETRY_AFTER))
        left = give_up - patience.clock()
        if left <= 0 or (asked is not None and asked > left):
            raise _away(patience, reply)
        if pause == FIRST_PAUSE:
            _log.warning("the Sayso gateway at %s is away; trying again", patience.where)
        yield Pause(min(seconds, left))  # the last try comes at the deadline, not before it
        pause = min(pause * 2, LONGEST_PAUSE)


def open_run(patience: Patience, run: RunState, deadline: float) -> Operation[str]:
    """Create the run, or find the one that its key made before. Answers its id."""
    if run.id is None:
        headers = {"Idempotency-Key": run.idempotency_key}
        if "scopeId" in run.body:
            headers["OpenWOP-Dedup"] = "enforce"
        call = Call("POST", "/runs", run.body, headers)
        run.id = answers.read_run((yield from send(patience, call, deadline)))
    return run.id


def carry_out(patience: Patience, run: RunState, plan: Plan[T], wait: float | None) -> Operation[T]:
    """Ask a planned question of a run, wait at most `wait` seconds, and read its answer."""
    deadline = patience.deadline(wait)
    key = run.name(plan.ask)
    run_id = yield from open_run(patience, run, deadline)
    interrupt = yield from ask(patience, run_id, plan.ask, key, deadline)
    run.consumed(plan.ask)
    return plan.read(interrupt)


def ask(
    patience: Patience, run_id: str, question: Ask | Report, key: str, deadline: float
) -> Operation[Interrupt]:
    """Ask, and wait until the question is closed. Asks nobody twice: the key names the question.

    Raises `StillOpen` at the deadline, `SaysoError` otherwise.
    """
    path = f"/host/sayso/runs/{keys.path_id(run_id)}/{question.route}"
    once = {"Idempotency-Key": keys.report_idempotency_key(run_id, key)}
    headers = once if isinstance(question, Report) else {}
    call = Call("POST", path, question.body(key), headers)
    interrupt = question.asked((yield from send(patience, call, deadline)))
    pause = FIRST_PAUSE
    while not interrupt.closed:
        left = deadline - patience.clock()
        if left <= 0:
            raise StillOpen(interrupt.id)
        seconds = max(1, int(min(LONG_POLL, left)))
        began = patience.clock()
        call = Call(
            "GET",
            f"/host/sayso/interrupts/{keys.path_id(interrupt.id)}?wait={seconds}",
            timeout=seconds + 15.0,
        )
        try:
            interrupt = answers.read_interrupt((yield from send(patience, call, deadline)))
        except Unreachable as away:
            raise StillOpen(interrupt.id) from away
        if not interrupt.closed and patience.clock() - began < seconds / 2:
            # A gateway that is draining answers at once: don't turn the wait into a busy loop.
            yield Pause(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        else:
            pause = FIRST_PAUSE
    return interrupt


def cancel_run(
    patience: Patience, run: RunState, wait: float | None, reason: str | None = None
) -> Operation[None]:
    """Withdraw all that the run asks. Nothing happens to a run that was never opened."""
    if run.id is not None:
        call = Call("POST", f"/runs/{keys.path_id(run.id)}/cancel", _because(reason))
        yield from send(patience, call, patience.deadline(wait))


def complete_run(
    patience: Patience, run: RunState, outputs: Mapping[str, Any], wait: float | None
) -> Operation[None]:
    """Record that the run is done. Its answers stay."""
    deadline = patience.deadline(wait)
    run_id = yield from open_run(patience, run, deadline)
    path = f"/host/sayso/runs/{keys.path_id(run_id)}/complete"
    yield from send(patience, Call("POST", path, {"outputs": dict(outputs)}), deadline)


def leave_run(patience: Patience, run: RunState, *, failed: bool) -> Operation[None]:
    """What the end of a run's block does: nothing to a lasting run, or one that was never opened.

    Another can't be come back to, so it's completed, or what it asks is withdrawn. A gateway that is
    away doesn't make a program fail that was done.
    """
    if run.lasting or run.id is None:
        return
    with contextlib.suppress(SaysoError):
        if failed:
            yield from cancel_run(patience, run, PARTING)
        else:
            yield from complete_run(patience, run, {}, PARTING)


def cancel_interrupt(
    patience: Patience, interrupt_id: str, wait: float | None, reason: str | None
) -> Operation[None]:
    """Withdraw one question."""
    path = f"/host/sayso/interrupts/{keys.path_id(interrupt_id)}/cancel"
    call = Call("POST", path, _because(reason))
    yield from send(patience, call, patience.deadline(wait))


def resolve(
    patience: Patience, run_id: str, node: str, value: Any, wait: float | None
) -> Operation[None]:
    """Answer what `node` of a run asks, as the principal of the API key."""
    path = f"/runs/{keys.path_id(run_id)}/interrupts/{keys.path_id(node)}"
    call = Call("POST", path, {"resumeValue": value})
    yield from send(patience, call, patience.deadline(wait))


def _because(reason: str | None) -> dict[str, str]:
    return {} if reason is None else {"reason": reason}


def _passing(reply: Reply) -> bool:
    """Whether this refusal is about the moment, so that trying again is right."""
    if reply.status == 409 and isinstance(reply.body, dict):
        # Our own first try, whose answer got lost, is still being processed.
        return reply.body.get("error") == "idempotency_in_flight"
    return reply.status in RETRIED


def _away(patience: Patience, reply: Reply | Lost | None) -> Unreachable:
    if isinstance(reply, Reply):
        error = answers.read_error(reply.status, reply.body)
        return Unreachable(error.code, error.message, error.details, status=error.status)
    return Unreachable(
        "unreachable",
        f"no Sayso gateway answers at {patience.where}; "
        "start one with `sayso dev`, or set SAYSO_URL",
    )
