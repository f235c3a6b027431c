"""The blocking client. `aio.py` is its twin: the same names and arguments, awaited."""

from __future__ import annotations

import time
from typing import Any, TypeVar, Unpack

import httpx

from sayso import operations, settings, transport
from sayso.operations import Call, Lost, Operation, Patience, Pause, Reply
from sayso.options import Beginning
from sayso.plans import RunState
from sayso.run import Run

T = TypeVar("T")


class Sayso:
    """A gateway, as one program sees it. Safe to share between threads.

    `url` and `api_key` default to SAYSO_URL and SAYSO_API_KEY, and those to the gateway that `sayso
    dev` runs on this machine. `wait` is how many seconds each question is waited for (None: as long
    as it takes) unless the question says otherwise. `patience` is how many seconds a gateway that
    has never answered is tried; one that has answered before is waited for through its restarts.

    Raises `ValueError` for a URL or key that can't be right.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        wait: float | None = None,
        patience: float = 30.0,
    ) -> None:
        self._target = settings.find(url, api_key)
        self._http = httpx.Client(trust_env=not self._target.local)
        self._patience = Patience(time.monotonic, patience, self._target.where)
        self.wait = wait

    def run(self, key: str | None = None, **options: Unpack[Beginning]) -> Run:
        """A run: what the questions of one execution of a program belong to.

        With a `key` it's the same run each time the program runs, so questions that have been
        answered aren't asked again. The gateway keeps the name for 24 hours; the key is in the
        run's metadata. Without one the run ends with its `with` block. Nothing is sent before the
        first question. Options: `inputs`, `tags`, `metadata`, `callback_url`,
        `scope`, `escalation_threshold`, `parent` (`options.Beginning` says what they are).
        """
        return Run(self, RunState.of(key, **options))

    def run_by_id(self, run_id: str) -> Run:
        """A run that was begun before, by its `Run.id`: for those who come back after the day for
        which the gateway keeps a key. Leaving its block doesn't end it."""
        return Run(self, RunState.by_id(run_id))

    def cancel(self, interrupt_id: str, *, reason: str | None = None) -> None:
        """Withdraw one question. Raises `SaysoError`."""
        self.drive(operations.cancel_interrupt(self._patience, interrupt_id, self.wait, reason))

    def resolve(self, run_id: str, node: str, value: Any) -> None:
        """Answer what `node` of a run asks, as the principal of the API key. Raises
        `SaysoError`."""
        self.drive(operations.resolve(self._patience, run_id, node, value, self.wait))

    def close(self) -> None:
        """Close the connections. Questions stay open."""
        self._http.close()

    def __enter__(self) -> Sayso:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def patience(self) -> Patience:
        """How long this client keeps trying."""
        return self._patience

    def drive(self, operation: Operation[T]) -> T:
        """Carry out an operation: make its calls, let its pauses pass."""
        outcome: Reply | Lost | None = None
        while True:
            try:
                step = operation.send(outcome)
            except StopIteration as finished:
                return finished.value  # type: ignore[no-any-return]
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                outcome = None
            else:
                outcome = self._call(step)

    def _call(self, call: Call) -> Reply | Lost:
        sent = transport.arguments(self._target, call)
        if isinstance(sent, Lost):
            return sent
        try:
            return transport.reply(self._http.request(**sent))
        except httpx.TransportError:
            return Lost()
