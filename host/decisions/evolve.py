"""evolve(state, event) -> state: the fold over the log. What a projection is, is defined here alone.

Every branch only copies what the event says: a fold never judges, so replaying an old log under new
rules gives the old state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from host.decisions.copies import replace
from host.decisions.session import wake_at
from host.decisions.session_fold import fold
from host.decisions.state import (
    Conversation,
    Interrupt,
    NewEvent,
    NodeState,
    OpenWait,
    Outcome,
    Question,
    Run,
    State,
    Vote,
)
from schemas.runs import TERMINAL, WAITING


def evolve(state: State, events: Iterable[NewEvent], at: int) -> State:
    """The state after `events`, all appended at `at` (ms)."""
    run, interrupts, talks = state.run, state.interrupts, state.conversations
    version, session = run.version, state.session
    for event in events:
        version += 1
        run = _run(run, event)
        if session is not None or event.type == "sayso.session-started":
            session = fold(session, event)
        if event.type in _OPENING:
            interrupts = (_requested(event, run.run_id, at), *interrupts)
        elif event.type.startswith("conversation."):
            talks = _conversations(talks, run.run_id, event)
        elif event.record is not None and "interruptId" in event.record:
            interrupts = _changed(interrupts, event, event.record, at)
    if session is not None:
        run = replace(run, due=wake_at(session))
    return State(replace(run, version=version), interrupts, talks, session)


_OPENING: Final = frozenset({"interrupt.requested", "sayso.interrupt-replayed"})


def _changed(
    interrupts: tuple[Interrupt, ...], event: NewEvent, record: dict[str, Any], at: int
) -> tuple[Interrupt, ...]:
    target = record["interruptId"]
    return tuple(
        _interrupt(i, event, record, at) if i.interrupt_id == target else i for i in interrupts
    )


def _run(run: Run, event: NewEvent) -> Run:
    kind, payload = event.type, event.payload
    if kind == "run.started":
        return run
    if kind == "node.suspended":
        wait = OpenWait(payload["interruptId"], payload["nodeId"], payload["kind"])
        return _waiting(run, (*run.open, wait))
    record = event.record or {}
    if kind in _NODE_STATUS:
        run = _node(run, event, record)
    if "interruptId" in record and record.get("ends"):
        left = tuple(w for w in run.open if w.interrupt_id != record["interruptId"])
        return _waiting(run, left) if left != run.open else run
    if kind == "run.completed":
        return replace(run, status="completed", open=(), outputs=payload.get("outputs"))
    if kind == "run.cancelled":
        return replace(run, status="cancelled", open=())
    if kind == "run.failed":
        return replace(run, status="failed", open=(), error=payload["error"])
    return run


_NODE_STATUS: Final[dict[str, Literal["running", "completed", "failed"]]] = {
    "node.started": "running",
    "node.completed": "completed",
    "node.failed": "failed",
}


def _node(run: Run, event: NewEvent, record: dict[str, Any]) -> Run:
    node_id, status = event.payload["nodeId"], _NODE_STATUS[event.type]
    old = run.node(node_id)
    if old is None and status != "running":
        return run  # a node of an outside program: it has no life of its own here
    visits = (old.visits if old else 0) + (1 if status == "running" else 0)
    new = NodeState(node_id, status, visits, record.get("until"))
    return replace(run, nodes=(*(n for n in run.nodes if n.node_id != node_id), new))


def _waiting(run: Run, waits: tuple[OpenWait, ...]) -> Run:
    if run.status in TERMINAL:
        return replace(run, open=waits)
    return replace(run, open=waits, status=WAITING[waits[-1].kind] if waits else "running")


def _requested(event: NewEvent, run_id: str, at: int) -> Interrupt:
    record: dict[str, Any] = event.record or {}
    payload: dict[str, Any] = record.get("asked", event.payload)
    return Interrupt(
        interrupt_id=record["opens"],
        run_id=run_id,
        node_id=event.node_id or "",
        key=payload["key"],
        kind=payload["kind"],
        payload=payload,
        requested_at=at,
        requested_by=record.get("by", ""),
        deadline=record.get("deadline"),
        notify=tuple(record.get("notify", ())),
        match_key=record.get("matchKey"),
        self_approval=record.get("selfApproval"),
        replies=record.get("replies", ""),
        trace=record.get("trace", ""),
        fallback=tuple(record.get("fallback", ())),
    )


def _interrupt(interrupt: Interrupt, event: NewEvent, record: dict[str, Any], at: int) -> Interrupt:
    version = interrupt.version + 1
    if event.type == "sayso.vote-recorded":
        own = {record["by"], *record.get("names", ())}
        replaced = [v for v in interrupt.votes if v.is_of(own)]
        others = tuple(v for v in interrupt.votes if v not in replaced)
        # The names of the votes that this one replaces are this person's too.
        own |= {name for v in replaced for name in (v.principal, *v.names)}
        names = tuple(sorted(own - {record["by"]}))
        vote = Vote(record["by"], record["name"], event.payload["action"], at, names)
        return replace(interrupt, votes=(*others, vote), version=version)
    if event.type == "sayso.question-asked":
        text = record.get("text", event.payload.get("text", ""))
        asked = Question(record["by"], record["name"], text, at)
        return replace(interrupt, questions=(*interrupt.questions, asked), version=version)
    ends = record.get("ends")
    if ends and interrupt.status == "open":
        outcome = Outcome(
            value=record["value"] if "value" in record else event.payload.get("resumeValue"),
            action=record.get("action", ""),
            decision=record.get("decision", ""),
            reason=record.get("reason", ""),
            by=record.get("by", ""),
            name=record.get("name", ""),
            via=record.get("via", ""),
            at=at,
        )
        return replace(interrupt, status=ends, outcome=outcome, version=version)
    return interrupt


def _conversations(
    talks: tuple[Conversation, ...], run_id: str, event: NewEvent
) -> tuple[Conversation, ...]:
    payload = event.payload
    name = payload["conversationId"]
    others = tuple(c for c in talks if c.conversation_id != name)
    if event.type == "conversation.opened":
        record = event.record or {}
        opened = Conversation(
            name,
            run_id,
            title=record.get("title", ""),
            notify=tuple(record.get("notify", ())),
        )
        return (*others, opened)
    old = next((c for c in talks if c.conversation_id == name), None)
    if old is None:
        return others
    if event.type == "conversation.exchanged":
        return (*others, replace(old, turns=max(old.turns, payload["turnIndex"])))
    return (*others, replace(old, open=False))
