"""What each type of node does when a run enters it. Pure.

A node type reads its `config`; the suspend nodes build an interrupt payload from it. The key of an
interrupt is `<root run>:<node>:<visit>`: the same visit always derives the same key, a later visit over a
loop a new one (OpenWOP: key and re-entry).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from host.decisions import request as asking
from host.decisions.ending import resolved_events
from host.decisions.evolve import evolve
from host.decisions.forking import short_circuit
from host.decisions.state import NewEvent, Outcome, Policy, Principal, State
from schemas.workflows import Node

DEFAULT_THRESHOLD = 0.7


@dataclass(frozen=True, slots=True)
class Step:
    """What a node may need beside the state: the time, ids, who started the run, whom to tell.

    `recorded` is set in a replay: the end of an interrupt by its key, from the source's log.
    """

    now: int
    mint: Callable[[], str]
    principal: Principal
    policy: Policy
    notify: tuple[str, ...] = ()
    recorded: Callable[[str], NewEvent | None] | None = None


def enter(node: Node, state: State, step: Step) -> list[NewEvent]:
    """The events of entering a node, up to its pause or its end."""
    visit = (state.run.node(node.id).visits if state.run.node(node.id) else 0) + 1  # type: ignore[union-attr]
    started = {"nodeId": node.id, "typeId": node.type, "attempt": 0}
    record = {"until": step.now + _delay(node, state)} if node.type == "core.delay" else None
    events = [NewEvent("node.started", started, node.id, record)]
    state = evolve(state, events, step.now)
    return events + _ENTER[node.type](node, state, step, visit)


def key_of(state: State, node: Node, visit: int, part: str = "") -> str:
    """The deterministic re-entry key of a visit."""
    key = f"{state.run.root or state.run.run_id}:{node.id}:{visit}"
    return f"{key}:{part}" if part else key


def low_confidence(
    state: State, node_id: str, decided: dict[str, Any], key: str, step: Step
) -> list[NewEvent]:
    """`agent.decided`, and below the run's threshold the question to a person (OpenWOP: low confidence).

    Equal to the threshold goes on; without a confidence nothing is escalated.
    """
    events = [NewEvent("agent.decided", decided, node_id)]
    run_section = (state.run.configurable or {}).get("run") or {}
    threshold = run_section.get("escalationThreshold", DEFAULT_THRESHOLD)
    observed = decided.get("confidence")
    if observed is None or observed >= threshold:
        return events
    data = {
        "agentId": decided["agentId"],
        "threshold": threshold,
        "observed": observed,
        "decision": decided["decision"],
    }
    return events + _ask(state, node_id, "low-confidence", key, data, {}, step)


def _delay(node: Node, state: State) -> int:
    given = (state.run.inputs or {}).get("delayMs", node.config.get("delayMs", 1000))
    return given if isinstance(given, int) and 0 <= given <= 10 * 366 * 86_400_000 else 1000


def _complete(node: Node, outputs: dict[str, Any] | None = None) -> NewEvent:
    payload: dict[str, Any] = {"nodeId": node.id}
    if outputs is not None:
        payload["outputs"] = outputs
    return NewEvent("node.completed", payload, node.id)


def _noop(node: Node, _: State, __: Step, ___: int) -> list[NewEvent]:
    return [_complete(node)]


def _wait(_: Node, __: State, ___: Step, ____: int) -> list[NewEvent]:
    return []  # the end of the delay completes it


def _fail(node: Node, _: State, __: Step, ___: int) -> list[NewEvent]:
    error = {
        "code": node.config.get("code", "internal_error"),
        "message": node.config.get("message", "This node always fails."),
        "retryable": False,
    }
    return [NewEvent("node.failed", {"nodeId": node.id, "error": error}, node.id)]


def _approval(node: Node, state: State, step: Step, visit: int) -> list[NewEvent]:
    config = node.config
    data = {
        "artifactId": config.get("artifactId", node.id),
        "artifactType": config.get("artifactType", "workflow-step"),
        "title": config.get("title", node.id),
        "actions": config.get("actions", ["accept", "reject"]),
    }
    for name in (
        "description", "artifactData", "requiredApprovals", "approversList", "approverGroupRefs",
        "approverRoleRefs", "rejectionPolicy", "overrideBypassesQuorum", "audience", "onTimeout",
    ):  # fmt: skip
        if name in config:
            data[name] = config[name]
    return _ask(state, node.id, "approval", key_of(state, node, visit), data, config, step)


def _clarification(node: Node, state: State, step: Step, visit: int) -> list[NewEvent]:
    data = {"questions": node.config["questions"]}
    key = key_of(state, node, visit)
    return _ask(state, node.id, "clarification", key, data, node.config, step)


def _interrupt(node: Node, state: State, step: Step, visit: int) -> list[NewEvent]:
    kind, data = node.config["kind"], node.config["data"]
    return _ask(state, node.id, kind, key_of(state, node, visit), data, node.config, step)


def _identity(node: Node, state: State, step: Step, visit: int) -> list[NewEvent]:
    agent = node.config.get("agent") or {}
    decided = {
        "agentId": agent.get("agentId", node.id),
        "decision": node.config.get("decision", {}),
    }
    if "mockConfidence" in node.config:
        decided["confidence"] = node.config["mockConfidence"]
    events = low_confidence(state, node.id, decided, key_of(state, node, visit), step)
    return events if len(events) > 1 else [*events, _complete(node, {"decision": {}})]


def _conversation(node: Node, state: State, step: Step, visit: int) -> list[NewEvent]:
    """Opens, asks once, and closes when the turn is answered (see `close_conversation`)."""
    config = node.config
    name = config.get("conversationId") or conversation_of(state, node.id, visit)
    start = {"conversationId": name, "title": config.get("title", node.id)}
    key = key_of(state, node, visit, "start")
    events = _ask(state, node.id, "conversation.start", key, start, config, step)
    state = evolve(state, events, step.now)
    data = {"conversationId": name, "prompt": config.get("prompt", "Please reply.")}
    if "outcomeSchema" in config:
        data["outcomeSchema"] = config["outcomeSchema"]
    key = key_of(state, node, visit)
    asked = _ask(state, node.id, "conversation.exchange", key, data, config, step)
    events += asked
    if not config.get("mockAutoResume"):
        return events
    state = evolve(state, asked, step.now)
    outcome = Outcome(value="(automatic reply)", at=step.now, via="host")
    resolved = resolved_events(state.interrupt, outcome, aliases=step.policy.aliases)
    turn = {
        "messageId": f"{name}:1:user"[:256], "from": "user", "content": outcome.value,
        "ts": step.now, "role": "user", "turnIndex": 1,
    }  # fmt: skip
    exchanged = {"conversationId": name, "turnIndex": 1, "turn": turn}
    resolved.append(NewEvent("conversation.exchanged", exchanged, node.id))
    state = evolve(state, resolved, step.now)
    events += resolved
    events += close_conversation(state, node.id, name, step)
    return [*events, _complete(node)]


def conversation_of(state: State, node_id: str, visit: int) -> str:
    """The conversation id of a gate that names none: unique in the tenant, the same at re-entry."""
    return f"{state.run.run_id.partition('/')[2]}:{node_id}:{visit}"[:256]


def close_conversation(state: State, node_id: str, name: str, step: Step) -> list[NewEvent]:
    """`conversation.close`, recorded and resolved by the host."""
    node = state.run.node(node_id)
    key = f"{state.run.root or state.run.run_id}:{node_id}:{node.visits if node else 1}:close"
    data = {"conversationId": name, "reason": "goal-reached"}
    return _ask(state, node_id, "conversation.close", key, data, {}, step)


def _ask(
    state: State, node_id: str, kind: str, key: str, data: dict[str, Any], config: dict[str, Any],
    step: Step,
) -> list[NewEvent]:  # fmt: skip
    payload: dict[str, Any] = {"kind": kind, "key": key, "data": data}
    for name in ("timeoutMs", "resumeSchema"):
        if name in config:
            payload[name] = config[name]
    if step.recorded is not None:
        return _from_record(step.recorded, step, node_id, payload)
    notify = tuple(config.get("notify", step.notify))
    ask = asking.Ask(step.mint(), node_id, payload, notify, step.principal)
    return asking.request(state, ask, step.now, step.policy)


def _from_record(
    recorded: Callable[[str], NewEvent | None], step: Step, node_id: str, payload: dict[str, Any]
) -> list[NewEvent]:
    end = recorded(payload["key"])
    if end is None:
        error = {
            "code": "replay_source_missing",
            "message": "The source of this replay has no recorded answer here.",
            "retryable": False,
        }
        return [NewEvent("node.failed", {"nodeId": node_id, "error": error}, node_id)]
    return short_circuit(end, step.mint(), node_id, payload)


_ENTER: dict[str, Callable[[Node, State, Step, int], list[NewEvent]]] = {
    "core.noop": _noop,
    "core.delay": _wait,
    "core.fail": _fail,
    "core.approvalGate": _approval,
    "core.clarificationGate": _clarification,
    "core.interrupt": _interrupt,
    "core.identity": _identity,
    "core.conversationGate": _conversation,
}
