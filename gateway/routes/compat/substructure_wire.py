"""Sessions as substructure's clients and workers read them: view, decision request, events. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gateway.routes.compat.substructure_prompts import resume_payload
from host.decisions.session import (
    Call,
    Decision,
    Session,
    parking,
    turn_waits_for,
    waits_for,
)
from host.decisions.session_capture import whole
from host.decisions.session_delivery import proposed, trigger_of
from host.decisions.state import Run, iso
from host.store.records import StoredEvent

Json = dict[str, Any]


def session_view(run: Run, session: Session) -> Json:
    """`GET /sessions/{id}`. Open interrupts of every branch, without what they ask: that is in the event.

    `run_id` and `waiting` (what is held or queued, and why) are ours beside their members.
    """
    parked = bool(parking(session, session.head))
    waiting = [
        {"decision_id": d.id, "trigger": d.trigger["type"], "waits_for": labels}
        for d in session.decisions
        if (labels := waits_for(session, d))
    ]
    turns = [
        {"turn_id": w.turn, "waits_for": turn_waits_for(session, number)}
        for number, w in enumerate(session.waiting)
    ]
    return {
        "session_id": session.session_id,
        "agent_id": session.agent_id,
        "status": "interrupted" if parked else session.status,
        "interrupts": [
            _present(interrupt_id=p.interrupt_id, origin=p.origin, reason=p.reason, anchor=p.anchor)
            for p in session.pauses
        ],
        "messages": session.messages,
        "message_tree": message_tree(session),
        "turn_id": session.turn,
        "run_id": run.run_id,
        "waiting": [*waiting, *turns],
    }


def message_tree(session: Session) -> Json:
    nodes = [_present(message=n.message, parent_id=n.parent) for n in session.nodes.values()]
    return _present(nodes=nodes, head_id=session.head)


def decision_request(session: Session, decision: Decision) -> Json:
    """What the worker is sent: the trigger, what is proposed, and the whole view."""
    trigger = dict(trigger_of(session, decision))
    if trigger["type"] == "interrupt.resumed":
        payload = resume_payload(trigger.pop("answer"), trigger.pop("asked", None))
        trigger |= _present(payload=payload)
    if "error" in trigger:
        trigger["error"] = error_info(trigger["error"], trigger.pop("code", None))
    deadline = iso(decision.until) if decision.until is not None else None
    kinds = ("tool_call", "sub_agent")
    return {
        "session_id": session.session_id,
        "decision_id": decision.id,
        "agent_id": session.agent_id,
        "identity": session.owner,
        "trigger": trigger,
        "proposed": proposed(session, decision),
        "state": session.state,
        "agent": session.agent,
        "calls": [call_entry(c) for c in session.calls],
        "pending_calls": sum(c.kind in kinds for c in session.calls),
        "messages": session.messages,
        "message_tree": message_tree(session),
        "ancestry": list(session.ancestry),
        "attempts": decision.attempts,
        "deadline": deadline,
        "turn_id": decision.turn,
    }


def call_entry(call: Call) -> Json:
    names = ("name", "arguments", "agent_id", "tool_call_id")
    handler = call.handler if call.handler != "engine" else None
    return {
        **_present(id=call.id, kind=call.kind, status="pending", attempt=call.attempt),
        **_present(anchor=call.anchor, handler=handler),
        **{n: call.data[n] for n in names if n in call.data},
    }


def error_info(message: str, code: str | None) -> Json:
    return {"message": message, "code": code or "provider_error"}


def event_frame(event: StoredEvent, session_id: str, turn: str | None) -> tuple[str, Json] | None:
    """An event of theirs: its type and its data; None for one that they don't have.

    `seq` begins at 1. It may have gaps: the log of a run also holds what is not of the session.
    """
    render = _EVENTS.get(event.type)
    if render is None:
        return None
    kind, payload = render(whole(event.payload, event.record))
    doc = {
        "session_id": session_id,
        "seq": event.sequence + 1,
        "occurred_at": iso(event.at),
        **_present(turn_id=turn),
        "payload": {"type": kind, **payload},
    }
    return kind, doc


def turn_after(event: StoredEvent, turn: str | None) -> str | None:
    """The turn that runs after this event."""
    if event.type == "sayso.turn-started":
        return str(event.payload["turnId"])
    return None if event.type == "sayso.turn-ended" else turn


def _present(**members: Any) -> Json:
    return {name: value for name, value in members.items() if value is not None}


Render = Callable[[Json], tuple[str, Json]]
_CALLS: Final = {"tool_call": "tool.call", "llm_call": "llm.call", "sub_agent": "sub_agent"}


def _interrupted(p: Json) -> tuple[str, Json]:
    said = _present(
        interrupt_id=p["interruptId"],
        origin=p["origin"],
        reason=p["reason"],
        payload=p.get("payload"),
        anchor=p.get("anchor"),
    )
    return "session.interrupted", said


def _resumed(p: Json) -> tuple[str, Json]:
    payload = resume_payload(p["answer"], p.get("asked"))
    said = {"interrupt_id": p["interruptId"], "payload": payload}
    return "session.interrupt_resumed", said


def _opened(p: Json) -> tuple[str, Json]:
    names = ("name", "arguments", "agent_id", "tool_call_id")
    data = {n: p["data"][n] for n in names if n in p["data"]}
    said = _present(id=p["id"], handler=p["handler"], anchor=p.get("anchor"))
    return f"{_CALLS[p['kind']]}.requested", said | data


def _settled(p: Json) -> tuple[str, Json]:
    kind = _CALLS[p["kind"]]
    if not p["ok"]:
        error = error_info(p.get("error", ""), p.get("code"))
        return f"{kind}.errored", {"id": p["id"], "error": error}
    ended = "sub_agent.turn_completed" if kind == "sub_agent" else f"{kind}.completed"
    names = ("result", "message", "usage", "cost")
    return ended, {"id": p["id"], **{n: p[n] for n in names if n in p}}


def _decision(kind: str) -> Render:
    def render(p: Json) -> tuple[str, Json]:
        said = {"decision_id": p["decisionId"]}
        if "trigger" in p:
            said["trigger"] = p["trigger"]["type"]
        said |= {n: p[n] for n in ("attempt", "error", "reason") if n in p}
        return f"decision.{kind}", said

    return render


_EVENTS: Final[dict[str, Render]] = {
    "sayso.session-started": lambda p: ("session.created", {"agent_id": p["agentId"]}),
    "sayso.session-done": lambda _: ("session.done", {}),
    "run.cancelled": lambda _: ("session.cancelled", {}),
    "sayso.message-added": lambda p: (
        "message.new",
        _present(message=p["message"], parent_id=p.get("parentId")),
    ),
    "sayso.head-moved": lambda p: ("head.moved", {"head_id": p.get("headId")}),
    "sayso.branch-parked": _interrupted,
    "sayso.branch-resumed": _resumed,
    "sayso.call-opened": _opened,
    "sayso.call-settled": _settled,
    "sayso.call-voided": lambda p: ("call.voided", {"kind": p["kind"], "id": p["id"]}),
    "sayso.decision-queued": _decision("queued"),
    "sayso.decision-dispatched": _decision("dispatched"),
    "sayso.decision-completed": _decision("completed"),
    "sayso.decision-errored": _decision("errored"),
    "sayso.decision-dropped": _decision("dropped"),
    "sayso.turn-started": lambda p: ("turn.started", {"turn_id": p["turnId"]}),
    "sayso.turn-ended": lambda p: (
        "turn.completed",
        _present(turn_id=p["turnId"], status=p["how"], data=p.get("data")),
    ),
    "sayso.worker-state": lambda p: (
        ("agent.updated" if "agent" in p else "worker.state.updated"),
        {n: p[n] for n in ("state", "agent") if n in p},
    ),
}
