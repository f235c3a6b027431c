"""The shapes that go to the gateway. Pure; used by both clients alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from sayso.answers import Interrupt, read_interrupt
from sayso.options import Action, Notify, Question, RejectionPolicy, Replies, Timeout


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, complete but for the interrupt key."""

    kind: str
    data: dict[str, Any]
    node: str
    key: str | None = None
    resume_schema: Mapping[str, Any] | None = None
    notify: Notify = None
    fallback: Notify = None
    timeout: Timeout = None
    replies: Replies | None = None
    self_approval: bool | None = None

    route: ClassVar[str] = "interrupts"

    def __post_init__(self) -> None:
        """Raise `ValueError` for a deadline that isn't in the future."""
        if self.timeout is not None:
            _milliseconds(self.timeout)

    def body(self, key: str) -> dict[str, Any]:
        """The body of `POST /host/sayso/runs/{runId}/interrupts`."""
        payload: dict[str, Any] = {"kind": self.kind, "key": key, "data": self.data}
        if self.resume_schema is not None:
            payload["resumeSchema"] = dict(self.resume_schema)
        if self.timeout is not None:
            payload["timeoutMs"] = _milliseconds(self.timeout)
        body = {"nodeId": self.node, "payload": payload, "notify": _addresses(self.notify)}
        more = {"fallback": _addresses(self.fallback), "replies": self.replies}
        return _said(body | more | {"selfApproval": self.self_approval})

    def asked(self, body: Any) -> Interrupt:
        """The interrupt that the gateway's answer shows. Raises `SaysoError`."""
        return read_interrupt(body)


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent decided and how sure it was: a question only below the run's threshold."""

    agent: str
    decision: Any
    confidence: float | None
    node: str
    key: str | None = None
    notify: Notify = None

    route: ClassVar[str] = "agent-decisions"
    kind: ClassVar[str] = "low-confidence"

    @property
    def data(self) -> dict[str, Any]:
        """What is reported."""
        return _said({"agentId": self.agent, "confidence": self.confidence}, decision=self.decision)

    def body(self, key: str) -> dict[str, Any]:
        """The body of `POST /host/sayso/runs/{runId}/agent-decisions`."""
        notify = _addresses(self.notify)
        return _said({"nodeId": self.node, "key": key, "notify": notify}, **self.data)

    def asked(self, body: Any) -> Interrupt:
        """The interrupt, or for an agent that was sure enough one that its decision has resolved."""
        if isinstance(body, dict) and body.get("escalated") is False:
            return Interrupt("", "resolved", self.decision)
        return read_interrupt(body)


def beginning(
    key: str | None,
    *,
    inputs: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    callback_url: str | None = None,
    scope: str | None = None,
    escalation_threshold: float | None = None,
    parent: str | None = None,
) -> dict[str, Any]:
    """The body of `POST /runs`. Raises `ValueError` for a single string where a list is meant."""
    if isinstance(tags, str):
        raise ValueError("tags is a list")
    configurable: dict[str, Any] = {}
    if escalation_threshold is not None:
        configurable["run"] = {"escalationThreshold": escalation_threshold}
    if parent is not None:
        configurable["extensions"] = {"sayso.parent": {"runId": parent}}
    named = dict(metadata or {}) | ({} if key is None else {"key": key})
    return _said(
        {
            "workflowId": "sayso.external",
            "inputs": None if inputs is None else dict(inputs),
            "tags": list(tags) or None,
            "metadata": named or None,
            "callbackUrl": callback_url,
            "scopeId": scope,
            "configurable": configurable or None,
        }
    )


def approval(
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
    actions: Sequence[Action],
) -> dict[str, Any]:
    """`data` of an approval. Raises `ValueError` for a single string where a list is meant, and for
    more votes than there are approvers."""
    named = {"approversList": approvers, "approverGroupRefs": groups, "approverRoleRefs": roles}
    if any(isinstance(value, str) for value in (*named.values(), actions)):
        raise ValueError("approvers, groups, roles and actions are lists")
    if approvers and not (groups or roles or override) and required > len(set(approvers)):
        raise ValueError(f"required={required}, and approvers names {len(set(approvers))}")
    return _said(
        {
            "artifactId": artifact_id or node,
            "artifactType": artifact_type or ("none" if artifact is None else "json"),
            "title": title,
            "actions": list(actions),
            **{name: None if value is None else list(value) for name, value in named.items()},
            "description": description,
            "artifactData": artifact,
            "requiredApprovals": None if required == 1 else required,
            "rejectionPolicy": rejection_policy,
            "overrideBypassesQuorum": override or None,
        }
    )


def clarification(questions: Mapping[str, Question], *, context_type: str | None) -> dict[str, Any]:
    """`data` of a clarification. Raises `ValueError` for what isn't questions by name."""
    if not isinstance(questions, Mapping) or not questions:
        raise ValueError("ask at least one question, by name: {'region': 'Which region?'}")
    asked: list[dict[str, Any]] = []
    for name, question in questions.items():
        if isinstance(question, str):
            asked.append({"id": name, "question": question})
        elif not isinstance(question, Mapping):
            raise ValueError(f"question {name!r} is neither words nor a JSON Schema")
        else:
            words = question.get("title") or question.get("description") or name
            asked.append({"id": name, "question": words, "schema": dict(question)})
    return _said({"questions": asked, "contextType": context_type})


def _said(members: Mapping[str, Any], **always: Any) -> dict[str, Any]:
    """`members` without those that are None, and `always`, whose None is a value."""
    return {name: value for name, value in members.items() if value is not None} | always


def _addresses(notify: Notify) -> list[str] | None:
    return [notify] if isinstance(notify, str) else None if notify is None else list(notify)


def _milliseconds(timeout: float | timedelta) -> int:
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if not (isinstance(seconds, int | float) and 0 < seconds < float("inf")):
        raise ValueError("timeout: seconds or a timedelta, more than 0; None for no deadline")
    return max(1, round(seconds * 1000))
