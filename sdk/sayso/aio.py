"""The awaited client, for asyncio: the twin of `client.py`, with the same names and arguments."""

# ruff: noqa: ASYNC109 -- `timeout` is the deadline of the question, which the gateway keeps

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, TypeVar

import httpx

from sayso import operations, plans, settings, transport
from sayso.errors import SaysoError
from sayso.operations import Call, Lost, Operation, Patience, Pause, Reply
from sayso.plans import Plan, RunState
from sayso.shapes import Action, Decision, Notify, Question, Timeout

T = TypeVar("T")

PARTING: Final = 5.0
"""Seconds that leaving a run's block may take, to tell the gateway that the run is over."""


class AsyncSayso:
    """A gateway, as one program sees it. Safe to share between tasks.

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
        self._http = httpx.AsyncClient(trust_env=not self._target.local)
        self._patience = Patience(time.monotonic, patience, self._target.where)
        self.wait = wait

    def run(self, key: str | None = None) -> AsyncRun:
        """A run: what the questions of one execution of a program belong to.

        With a `key` it's the same run each time the program runs, so questions that have been
        answered aren't asked again. The gateway keeps the name for 24 hours; the key is in the
        run's metadata. Without one the run ends with its `with` block. Nothing is sent before the
        first question.
        """
        return AsyncRun(self, RunState.of(key))

    async def cancel(self, interrupt_id: str) -> None:
        """Withdraw one question. Raises `SaysoError`."""
        await self.drive(operations.cancel_interrupt(self._patience, interrupt_id, self.wait))

    async def resolve(self, run_id: str, node: str, value: Any) -> None:
        """Answer what `node` of a run asks, as the principal of the API key. Raises
        `SaysoError`."""
        await self.drive(operations.resolve(self._patience, run_id, node, value, self.wait))

    async def close(self) -> None:
        """Close the connections. Questions stay open."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncSayso:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def patience(self) -> Patience:
        """How long this client keeps trying."""
        return self._patience

    async def drive(self, operation: Operation[T]) -> T:
        """Carry out an operation: make its calls, let its pauses pass."""
        outcome: Reply | Lost | None = None
        while True:
            try:
                step = operation.send(outcome)
            except StopIteration as finished:
                return finished.value  # type: ignore[no-any-return]
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                outcome = None
            else:
                outcome = await self._call(step)

    async def _call(self, call: Call) -> Reply | Lost:
        sent = transport.arguments(self._target, call)
        if isinstance(sent, Lost):
            return sent
        try:
            return transport.reply(await self._http.request(**sent))
        except httpx.TransportError:
            return Lost()


class AsyncRun:
    """The questions of one execution of a program. Made with `AsyncSayso.run`.

    Each question takes `wait` (seconds to wait for its answer, in the place of the client's) and
    `timeout` (seconds or a timedelta after which the question itself expires for good), a `node`
    (the place in the program that asks) and a `key` (the question's name in this run). A key that
    isn't given is derived from the node, the question and how often it was answered in this run:
    the same program, run again, gets the stored answers, and a changed question is asked anew.

    Each raises `StillOpen` when `wait` is over, `Cancelled`, `Expired` (not approvals), or another
    `SaysoError`.
    """

    def __init__(self, client: AsyncSayso, state: RunState) -> None:
        self._client = client
        self._state = state

    @property
    def id(self) -> str | None:
        """The gateway's id of this run, None before the first question."""
        return self._state.id

    async def approve(
        self,
        title: str,
        *,
        node: str = "gate",
        key: str | None = None,
        description: str | None = None,
        artifact: Any = None,
        approvers: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        roles: Sequence[str] | None = None,
        required: int = 1,
        notify: Notify = None,
        timeout: Timeout = None,
        actions: Sequence[Action] = ("accept", "reject"),
        wait: float | None = None,
    ) -> Decision:
        """Ask for consent to `title`, and wait for the decision.

        `artifact` is what is approved, as JSON. `approvers` (principals), `groups` and `roles` say
        who may decide; none of them: anyone who may approve. `required` approvals make it granted.
        `notify` names who is asked and where ("slack:#finance"). A deadline that passes is a
        `Decision` that isn't approved, with the action "timeout".
        """
        plan = plans.approve(
            title,
            node=node,
            key=key,
            description=description,
            artifact=artifact,
            approvers=approvers,
            groups=groups,
            roles=roles,
            required=required,
            notify=notify,
            timeout=timeout,
            actions=actions,
        )
        return await self._carry_out(plan, wait)

    async def ask(
        self,
        questions: Mapping[str, Question],
        *,
        node: str = "questions",
        key: str | None = None,
        notify: Notify = None,
        timeout: Timeout = None,
        wait: float | None = None,
    ) -> dict[str, Any]:
        """Ask for facts, each in words or as the JSON Schema of its answer. Answers them by
        name."""
        plan = plans.ask(questions, node=node, key=key, notify=notify, timeout=timeout)
        return await self._carry_out(plan, wait)

    async def wait_for(
        self,
        event_type: str,
        correlation: Mapping[str, Any],
        *,
        node: str = "event",
        key: str | None = None,
        timeout: Timeout = None,
        wait: float | None = None,
    ) -> Any:
        """Wait for an event of another system (a payment, a build) and answer its payload.

        `correlation` says which one: the event has to carry the same values. It may have come
        before.
        """
        plan = plans.wait_for(event_type, correlation, node=node, key=key, timeout=timeout)
        return await self._carry_out(plan, wait)

    async def interrupt(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        node: str,
        key: str | None = None,
        resume_schema: Mapping[str, Any] | None = None,
        notify: Notify = None,
        timeout: Timeout = None,
        wait: float | None = None,
    ) -> Any:
        """Ask a question of any kind ("custom", "low-confidence", …) and answer its resume
        value."""
        plan = plans.interrupt(
            kind,
            data,
            node=node,
            key=key,
            resume_schema=resume_schema,
            notify=notify,
            timeout=timeout,
        )
        return await self._carry_out(plan, wait)

    def converse(
        self, conversation_id: str, *, title: str | None = None, notify: Notify = None
    ) -> AsyncConversation:
        """A conversation in one thread: `async with run.converse("plan") as talk: …`."""
        return AsyncConversation(self, conversation_id, title, notify)

    async def cancel(self) -> None:
        """Withdraw all that this run asks, and end it."""
        await self._drive(
            operations.cancel_run(self._client.patience, self._state, self._client.wait)
        )

    async def complete(self, outputs: Mapping[str, Any] | None = None) -> None:
        """Record that the run is done. Its answers stay; new questions are refused."""
        wait = self._client.wait
        await self._drive(
            operations.complete_run(self._client.patience, self._state, outputs or {}, wait)
        )

    async def __aenter__(self) -> AsyncRun:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A run with a key stays, so that the program can come back to it. One without can't be
        come back to: it's completed, or its questions are withdrawn when the block failed."""
        if self._state.key is not None or self._state.id is None:
            return
        patience, state = self._client.patience, self._state
        with contextlib.suppress(SaysoError):
            if error is None:
                await self._drive(operations.complete_run(patience, state, {}, PARTING))
            else:
                await self._drive(operations.cancel_run(patience, state, PARTING))

    async def _carry_out(self, plan: Plan[T], wait: float | None) -> T:
        wait = self._client.wait if wait is None else wait
        return await self._drive(
            operations.carry_out(self._client.patience, self._state, plan, wait)
        )

    async def _drive(self, operation: Operation[T]) -> T:
        return await self._client.drive(operation)


class AsyncConversation:
    """Turns of one conversation with people. Made with `AsyncRun.converse`.

    Leaving its `with` block closes it, unless the block failed: then the program may come back to
    it.
    """

    def __init__(
        self, run: AsyncRun, conversation_id: str, title: str | None, notify: Notify
    ) -> None:
        self._run = run
        self._id = conversation_id
        self._title = title
        self._notify = notify

    async def start(self) -> None:
        """Open it. Asks nobody."""
        await self._run._carry_out(
            plans.start(self._id, title=self._title, notify=self._notify), None
        )

    async def turn(self, prompt: str, *, timeout: Timeout = None, wait: float | None = None) -> str:
        """Say `prompt` and wait for the reply. The text of it, or JSON text of one that isn't
        text."""
        return await self._run._carry_out(plans.turn(self._id, prompt, timeout=timeout), wait)

    async def close(self, reason: str = "goal-reached") -> None:
        """End it: no turn can follow."""
        await self._run._carry_out(plans.close(self._id, reason=reason), None)

    async def __aenter__(self) -> AsyncConversation:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close()
