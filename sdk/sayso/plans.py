"""Questions as they are asked: what goes out, and how its answer is read. Pure.

A `Plan` is one question with its reader. `RunState` is what a client remembers of a run; it gives
each question its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sayso import keys, shapes
from sayso.shapes import Action, Ask, Decision, Interrupt, Notify, Question, Timeout

T = TypeVar("T")
CONVERSATION_NODE = "conversation"


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """A question, and what its answer means."""

    ask: Ask
    read: Callable[[Interrupt], T]


@dataclass(slots=True)
class RunState:
    """A run as its program knows it: `id` is None until the gateway has said it."""

    key: str | None
    idempotency_key: str
    id: str | None = None
    visits: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, key: str | None) -> RunState:
        """The run that `key` names, or one of its own for None."""
        return cls(key, keys.run_idempotency_key(key))

    def name(self, ask: Ask) -> str:
        """The interrupt key of a question: its own, or node, fingerprint and visit.

        The visit counts how often this very question has been answered in this run, so a loop asks
        again, and a program that runs again from the start counts again from the start.
        """
        if ask.key is not None:
            return keys.check_key(ask.key)
        stem = _stem(ask)
        return f"{stem}:{self.visits.get(stem, 0)}"

    def consumed(self, ask: Ask) -> None:
        """The question has been closed: asked once more, it is a new one."""
        if ask.key is None:
            stem = _stem(ask)
            self.visits[stem] = self.visits.get(stem, 0) + 1


def approve(
    title: str,
    *,
    node: str,
    key: str | None,
    description: str | None,
    artifact: Any,
    approvers: Sequence[str] | None,
    groups: Sequence[str] | None,
    roles: Sequence[str] | None,
    required: int,
    notify: Notify,
    timeout: Timeout,
    actions: Sequence[Action],
) -> Plan[Decision]:
    """An approval."""
    data = shapes.approval(
        title,
        description=description,
        artifact=artifact,
        approvers=approvers,
        groups=groups,
        roles=roles,
        required=required,
        actions=actions,
        node=keys.check_node(node),
    )
    question = Ask("approval", data, node, key, notify=notify, timeout=timeout)
    return Plan(question, lambda interrupt: shapes.read_decision(interrupt, artifact))


def ask(
    questions: Mapping[str, Question],
    *,
    node: str,
    key: str | None,
    notify: Notify,
    timeout: Timeout,
) -> Plan[dict[str, Any]]:
    """A clarification."""
    data = shapes.clarification(questions)
    question = Ask(
        "clarification", data, keys.check_node(node), key, notify=notify, timeout=timeout
    )
    return Plan(question, shapes.read_answers)


def wait_for(
    event_type: str,
    correlation: Mapping[str, Any],
    *,
    node: str,
    key: str | None,
    timeout: Timeout,
) -> Plan[Any]:
    """A wait for an external event."""
    data = {"eventType": event_type, "correlation": dict(correlation)}
    question = Ask("external-event", data, keys.check_node(node), key, timeout=timeout)
    return Plan(question, shapes.read_event)


def interrupt(
    kind: str,
    data: Mapping[str, Any],
    *,
    node: str,
    key: str | None,
    resume_schema: Mapping[str, Any] | None,
    notify: Notify,
    timeout: Timeout,
) -> Plan[Any]:
    """A question of any kind, with its data as the protocol has it."""
    question = Ask(kind, dict(data), keys.check_node(node), key, resume_schema, notify, timeout)
    return Plan(question, shapes.read_value)


def start(conversation_id: str, *, title: str | None, notify: Notify) -> Plan[None]:
    """The opening of a conversation: nobody is asked."""
    data: dict[str, Any] = {"conversationId": conversation_id}
    if title is not None:
        data["title"] = title
    return Plan(Ask("conversation.start", data, CONVERSATION_NODE, notify=notify), _nothing)


def turn(conversation_id: str, prompt: str, *, timeout: Timeout) -> Plan[str]:
    """One turn of a conversation: a prompt, and a person's reply."""
    data = {"conversationId": conversation_id, "prompt": prompt}
    question = Ask("conversation.exchange", data, CONVERSATION_NODE, timeout=timeout)
    return Plan(question, shapes.read_reply)


def close(conversation_id: str, *, reason: str) -> Plan[None]:
    """The end of a conversation."""
    data = {"conversationId": conversation_id, "reason": reason}
    return Plan(Ask("conversation.close", data, CONVERSATION_NODE), _nothing)


def _stem(ask: Ask) -> str:
    asked = [ask.data, ask.resume_schema] if ask.resume_schema is not None else ask.data
    return f"{ask.node}:{keys.fingerprint(ask.kind, asked)}"


def _nothing(interrupt: Interrupt) -> None:
    shapes.read_value(interrupt)
