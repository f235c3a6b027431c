"""A run and its conversations, awaited: the twin of `run.py`, with the same names and arguments."""

# ruff: noqa: ASYNC109 -- `timeout` is the deadline of the question, which the gateway keeps

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from sayso import operations, plans
from sayso.answers import Decision
from sayso.operations import Operation
from sayso.options import (
    Action,
    Asking,
    Notify,
    Question,
    RejectionPolicy,
    Replies,
    Timeout,
)
from sayso.plans import Plan, RunState

if TYPE_CHECKING:
    from sayso.aio import AsyncSayso

T = TypeVar("T")


class AsyncRun:
    """The questions of one execution of a program. Made with `AsyncSayso.run`.

    Each question takes `wait` (seconds to wait for its answer, in the place of the client's), a
    `node` (the place in the program that asks) and the options of `options.Asking`: `key` (the
    question's name in this run), `notify`, `timeout` (after which the question itself expires for
    good) and `replies`. A key that isn't given is derived from the node, the question and how often
    it was answered in this run: the same program, run again, gets the stored answers, and a changed
    question is asked anew.

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
        description: str | None = None,
        artifact: Any = None,
        artifact_type: str | None = None,
        artifact_id: str | None = None,
        approvers: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        roles: Sequence[str] | None = None,
        required: int = 1,
        rejection_policy: RejectionPolicy | None = None,
        override: bool = False,
        self_approval: bool | None = None,
        actions: Sequence[Action] = ("accept", "reject"),
        wait: float | None = None,
        **asking: Unpack[Asking],
    ) -> Decision:
        """Ask for consent to `title`, and wait for the decision.

        `artifact` is what is approved, as JSON; `artifact_type` and `artifact_id` name it on cards
        ("refund", "4711"). `approvers` (principals), `groups` and `roles` say who may decide; none
        of them: anyone who may approve. `required` approvals make it granted; one rejection ends
        it, or with the `rejection_policy` "majority" more than half of `required`. With `override`
        those whom the gateway's operator trusts with it grant it alone. With `self_approval` False
        the one who asks may not decide; True lifts no rule of the gateway's. `notify` names who is
        asked and where ("slack:#finance"). A deadline that passes is a `Decision` that isn't
        approved, with the action "timeout".
        """
        plan = plans.approve(
            title,
            node=node,
            description=description,
            artifact=artifact,
            artifact_type=artifact_type,
            artifact_id=artifact_id,
            approvers=approvers,
            groups=groups,
            roles=roles,
            required=required,
            rejection_policy=rejection_policy,
            override=override,
            self_approval=self_approval,
            actions=actions,
            **asking,
        )
        return await self._carry_out(plan, wait)

    async def ask(
        self,
        questions: Mapping[str, Question],
        *,
        node: str = "questions",
        context_type: str | None = None,
        wait: float | None = None,
        **asking: Unpack[Asking],
    ) -> dict[str, Any]:
        """Ask for facts, each in words or as the JSON Schema of its answer. Answers them by
        name. `context_type` is a word for the program's own use."""
        plan = plans.ask(questions, node=node, context_type=context_type, **asking)
        return await self._carry_out(plan, wait)

    async def wait_for(
        self,
        event_type: str,
        correlation: Mapping[str, Any],
        *,
        node: str = "event",
        wait: float | None = None,
        **asking: Unpack[Asking],
    ) -> Any:
        """Wait for an event of another system (a payment, a build) and answer its payload.

        `correlation` says which one: the event has to carry the same values. It may have come
        before. Whom `notify` names sees that something is waited for.
        """
        plan = plans.wait_for(event_type, correlation, node=node, **asking)
        return await self._carry_out(plan, wait)

    async def interrupt(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        node: str,
        resume_schema: Mapping[str, Any] | None = None,
        self_approval: bool | None = None,
        wait: float | None = None,
        **asking: Unpack[Asking],
    ) -> Any:
        """Ask a question of any kind ("custom", "low-confidence", …) and answer its resume
        value, which has to fit the JSON Schema `resume_schema`."""
        plan = plans.interrupt(
            kind,
            data,
            node=node,
            resume_schema=resume_schema,
            self_approval=self_approval,
            **asking,
        )
        return await self._carry_out(plan, wait)

    async def ratify(
        self,
        agent: str,
        decision: Any,
        confidence: float | None,
        *,
        node: str = "decision",
        key: str | None = None,
        notify: Notify = None,
        wait: float | None = None,
    ) -> Any:
        """Record what `agent` decided, and answer the decision to go on with.

        That is `decision` itself (JSON) when the agent's `confidence` (0 to 1, None: not known)
        reaches the run's `escalation_threshold`, 0.7 unless it was set. Below it a person is asked,
        and what they decide is answered.
        """
        plan = plans.ratify(agent, decision, confidence, node=node, key=key, notify=notify)
        return await self._carry_out(plan, wait)

    def converse(
        self,
        conversation_id: str,
        *,
        title: str | None = None,
        initial_prompt: str | None = None,
        notify: Notify = None,
        replies: Replies | None = None,
    ) -> AsyncConversation:
        """A conversation in one thread: `async with run.converse("plan") as talk: await talk.turn("…")`.

        `initial_prompt` is its first message, which asks nothing. `notify` and `replies` are those
        of all its turns.
        """
        return AsyncConversation(self, conversation_id, title, initial_prompt, notify, replies)

    async def cancel(self, *, reason: str | None = None) -> None:
        """Withdraw all that this run asks, and end it."""
        patience, wait = self._client.patience, self._client.wait
        await self._drive(operations.cancel_run(patience, self._state, wait, reason))

    async def complete(self, outputs: Mapping[str, Any] | None = None) -> None:
        """Record that the run is done. Its answers stay; new questions are refused."""
        patience, wait = self._client.patience, self._client.wait
        await self._drive(operations.complete_run(patience, self._state, outputs or {}, wait))

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
        failed = error is not None
        await self._drive(operations.leave_run(self._client.patience, self._state, failed=failed))

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
        self,
        run: AsyncRun,
        conversation_id: str,
        title: str | None,
        initial_prompt: str | None,
        notify: Notify,
        replies: Replies | None,
    ) -> None:
        self._run = run
        self._id = conversation_id
        self._title = title
        self._initial_prompt = initial_prompt
        self._notify = notify
        self._replies = replies

    async def start(self) -> None:
        """Open it. Asks nobody."""
        plan = plans.start(
            self._id,
            title=self._title,
            initial_prompt=self._initial_prompt,
            notify=self._notify,
            replies=self._replies,
        )
        await self._run._carry_out(plan, None)

    async def turn(self, prompt: str, *, timeout: Timeout = None, wait: float | None = None) -> str:
        """Say `prompt` and wait for the reply. The text of it, or JSON text of one that isn't
        text."""
        plan = plans.turn(self._id, prompt, timeout=timeout, replies=self._replies)
        return await self._run._carry_out(plan, wait)

    async def outcome(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        *,
        timeout: Timeout = None,
        wait: float | None = None,
    ) -> Any:
        """Say `prompt` and wait for an answer that fits a JSON Schema: what the conversation was
        for."""
        plan = plans.outcome(self._id, prompt, schema, timeout=timeout, replies=self._replies)
        return await self._run._carry_out(plan, wait)

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
