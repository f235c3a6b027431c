"""Questions as they are asked: what goes out, and how its answer is read. Pure.

A `Plan` is one question with its reader. `RunState` is what a client remembers of a run; it gives
each question its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, Unpack

from sayso import answers, keys, shapes
from sayso.answers import Decision, Interrupt
from sayso.options import (
    Action,
    Asking,
    Beginning,
    Notify,
    Question,
    RejectionPolicy,
    Replies,
    Timeout,
)
from sayso.shapes import Ask, Report

T = TypeVar("T")
CONVERSATION_NODE = "conversation"


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """A question, and what its answer means."""

    ask: Ask | Report
    read: Callable[[Interrupt], T]


@dataclass(slots=True)
class RunState:
    """A run as its program knows it: `id` is None until the gateway has said it."""

    key: str | None
    idempotency_key: str
    id: str | None = None
    visits: dict[str, int] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    known: bool = False  # named by the gateway's id, and not begun here

    @property
    def lasting(self) -> bool:
        """Whether a program can come back to it, so that leaving its block doesn't end it."""
        return self.known or self.key is not None

    @classmethod
    def by_id(cls, run_id: str) -> RunState:
        """A run that was begun before. Raises `ValueError` for what is no id."""
        return cls(None, "", keys.check_run_id(run_id), known=True)

    @classmethod
    def of(cls, key: str | None, **options: Unpack[Beginning]) -> RunState:
        """The run that `key` names, or one of its own for None."""
        named = keys.run_idempotency_key(key)
        return cls(key, named, body=shapes.beginning(key, **options))

    def name(self, ask: Ask | Report) -> str:
        """The interrupt key of a question: its own, or node, fingerprint and visit.

        The visit counts how often this very question has been answered in this run, so a loop asks
        again, and a program that runs again from the start counts again from the start.
        """
        if ask.key is not None:
            return keys.check_key(ask.key)
        stem = _stem(ask)
        return f"{stem}:{self.visits.get(stem, 0)}"

    def consumed(self, ask: Ask | Report) -> None:
        """The question has been closed: asked once more, it is a new one."""
        if ask.key is None:
            stem = _stem(ask)
            self.visits[stem] = self.visits.get(stem, 0) + 1


def approve(
    title: str,
    *,
    node: str,
    description: str | None,
    artifact: Any,
    artifact_type: str | None,
    artifact_id: str | None,
    approvers: Sequence[str] | None,
    groups: Sequence[str] | None,
    roles: Sequence[str] | None,
    required: int,
    rejection_policy: RejectionPolicy | None,
    override: bool,
    self_approval: bool | None,
    actions: Sequence[Action],
    **asking: Unpack[Asking],
) -> Plan[Decision]:
    """An approval."""
    data = shapes.approval(
        title,
        node=keys.check_node(node),
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
        actions=actions,
    )
    question = Ask("approval", data, node, self_approval=self_approval, **asking)
    return Plan(question, lambda interrupt: answers.read_decision(interrupt, artifact))


def ask(
    questions: Mapping[str, Question],
    *,
    node: str,
    context_type: str | None,
    **asking: Unpack[Asking],
) -> Plan[dict[str, Any]]:
    """A clarification."""
    data = shapes.clarification(questions, context_type=context_type)
    question = Ask("clarification", data, keys.check_node(node), **asking)
    return Plan(question, answers.read_answers)


def wait_for(
    event_type: str, correlation: Mapping[str, Any], *, node: str, **asking: Unpack[Asking]
) -> Plan[Any]:
    """A wait for an external event."""
    data = {"eventType": event_type, "correlation": dict(correlation)}
    question = Ask("external-event", data, keys.check_node(node), **asking)
    return Plan(question, answers.read_event)


def interrupt(
    kind: str,
    data: Mapping[str, Any],
    *,
    node: str,
    resume_schema: Mapping[str, Any] | None,
    self_approval: bool | None,
    **asking: Unpack[Asking],
) -> Plan[Any]:
    """A question of any kind, with its data as the protocol has it."""
    question = Ask(
        kind,
        dict(data),
        keys.check_node(node),
        resume_schema=resume_schema,
        self_approval=self_approval,
        **asking,
    )
    return Plan(question, answers.read_value)


def ratify(
    agent: str,
    decision: Any,
    confidence: float | None,
    *,
    node: str,
    key: str | None,
    notify: Notify,
) -> Plan[Any]:
    """What an agent decided, and a question to a person where it wasn't sure enough."""
    report = Report(agent, decision, confidence, keys.check_node(node), key, notify)
    return Plan(report, answers.read_value)


def start(
    conversation_id: str,
    *,
    title: str | None,
    initial_prompt: str | None,
    notify: Notify,
    replies: Replies | None,
) -> Plan[None]:
    """The opening of a conversation: nobody is asked."""
    data = {"conversationId": conversation_id}
    if title is not None:
        data["title"] = title
    if initial_prompt is not None:
        data["initialPrompt"] = initial_prompt
    opening = Ask("conversation.start", data, CONVERSATION_NODE, notify=notify, replies=replies)
    return Plan(opening, _nothing)


def turn(
    conversation_id: str, prompt: str, *, timeout: Timeout, replies: Replies | None
) -> Plan[str]:
    """One turn of a conversation: a prompt, and a person's reply."""
    data = {"conversationId": conversation_id, "prompt": prompt}
    question = Ask(
        "conversation.exchange", data, CONVERSATION_NODE, timeout=timeout, replies=replies
    )
    return Plan(question, answers.read_reply)


def outcome(
    conversation_id: str,
    prompt: str,
    schema: Mapping[str, Any],
    *,
    timeout: Timeout,
    replies: Replies | None,
) -> Plan[Any]:
    """A turn whose answer fits a JSON Schema."""
    data = {"conversationId": conversation_id, "prompt": prompt, "outcomeSchema": dict(schema)}
    question = Ask(
        "conversation.exchange", data, CONVERSATION_NODE, timeout=timeout, replies=replies
    )
    return Plan(question, answers.read_value)


def close(conversation_id: str, *, reason: str) -> Plan[None]:
    """The end of a conversation."""
    data = {"conversationId": conversation_id, "reason": reason}
    return Plan(Ask("conversation.close", data, CONVERSATION_NODE), _nothing)


def _stem(ask: Ask | Report) -> str:
    schema = ask.resume_schema if isinstance(ask, Ask) else None
    asked = ask.data if schema is None else [ask.data, schema]
    return f"{ask.node}:{keys.fingerprint(ask.kind, asked)}"


def _nothing(interrupt: Interrupt) -> None:
    answers.read_value(interrupt)
