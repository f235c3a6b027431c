"""The fold of a session over its log: one small function an event type. It copies and never judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from host.decisions.session import Call, Decision, Errand, Node, Pause, Session, Told, Waiting
from host.decisions.session_capture import whole
from host.decisions.state import NewEvent

Payload = dict[str, Any]


def fold(session: Session | None, event: NewEvent) -> Session | None:
    """The session after one event; None while none has begun. Types of others leave it as it is."""
    payload = whole(event.payload, event.record)
    if session is None:
        return _started(payload) if event.type == "sayso.session-started" else None
    if event.type in _ENDED:
        return replace(
            session, status=_ENDED[event.type], pauses=(), calls=(), decisions=(), waiting=()
        )
    step = _STEPS.get(event.type)
    return step(session, payload) if step is not None else session


def _started(payload: Payload) -> Session:
    return Session(
        session_id=payload["sessionId"],
        agent_id=payload["agentId"],
        owner=payload["owner"],
        several=payload["several"],
        ancestry=tuple(payload.get("ancestry", ())),
        parent_call=payload.get("parentCall", ""),
        thread=payload.get("thread", ""),
    )


def _message(session: Session, payload: Payload) -> Session:
    message = payload["message"]
    node = Node(message, payload.get("parentId"))
    nodes = {**session.nodes, message["id"]: node}
    head = message["id"] if payload["head"] else session.head
    return replace(session, nodes=nodes, head=head)


def _head(session: Session, payload: Payload) -> Session:
    return replace(session, head=payload.get("headId"))


def _parked(session: Session, payload: Payload) -> Session:
    pause = Pause(
        interrupt_id=payload["interruptId"],
        host_id=payload["hostInterruptId"],
        origin=payload["origin"],
        reason=payload["reason"],
        payload=payload.get("payload"),
        anchor=payload.get("anchor"),
    )
    return replace(session, pauses=(*session.pauses, pause))


def _resumed(session: Session, payload: Payload) -> Session:
    name = payload["interruptId"]
    return replace(session, pauses=tuple(p for p in session.pauses if p.interrupt_id != name))


def _call_opened(session: Session, payload: Payload) -> Session:
    call = Call(
        id=payload["id"],
        kind=payload["kind"],
        handler=payload["handler"],
        anchor=payload.get("anchor"),
        data=payload["data"],
    )
    return replace(session, calls=(*session.calls, call))


def _call_retried(session: Session, payload: Payload) -> Session:
    calls = tuple(
        replace(c, attempt=payload["attempt"]) if c.id == payload["id"] else c
        for c in session.calls
    )
    return replace(session, calls=calls)


def _call_ended(session: Session, payload: Payload, how: str) -> Session:
    left = tuple(c for c in session.calls if c.id != payload["id"])
    return replace(session, calls=left, ended={**session.ended, payload["id"]: how})


def _queued(session: Session, payload: Payload) -> Session:
    decision = Decision(
        id=payload["decisionId"],
        trigger=payload["trigger"],
        anchor=payload.get("anchor"),
        turn=payload.get("turnId"),
        not_before=payload.get("notBefore", 0),
    )
    place = payload.get("place", len(session.decisions))
    queue = (*session.decisions[:place], decision, *session.decisions[place:])
    return replace(session, decisions=queue)


def _dispatched(session: Session, payload: Payload) -> Session:
    return _change(
        session,
        payload,
        lambda d: replace(
            d, until=payload["until"], attempts=payload["attempt"], anchor=payload.get("anchor")
        ),
    )


def _errored(session: Session, payload: Payload) -> Session:
    return _change(
        session, payload, lambda d: replace(d, until=None, not_before=payload["notBefore"])
    )


def _answered(session: Session, payload: Payload) -> Session:
    return _change(session, payload, lambda d: replace(d, until=None, answer=payload["rest"]))


def _change(session: Session, payload: Payload, change: Callable[[Decision], Decision]) -> Session:
    name = payload["decisionId"]
    changed = tuple(change(d) if d.id == name else d for d in session.decisions)
    return replace(session, decisions=changed)


def _over(session: Session, payload: Payload) -> Session:
    name = payload["decisionId"]
    return replace(session, decisions=tuple(d for d in session.decisions if d.id != name))


def _turn_started(session: Session, payload: Payload) -> Session:
    turn = payload["turnId"]
    return replace(
        session,
        turn=turn,
        turns={**session.turns, turn: "running"},
        waiting=tuple(w for w in session.waiting if w.turn != turn),
        status="idle",
    )


def _turn_ended(session: Session, payload: Payload) -> Session:
    turn = payload["turnId"]
    running = None if session.turn == turn else session.turn
    return replace(session, turn=running, turns={**session.turns, turn: payload["how"]})


def _turn_queued(session: Session, payload: Payload) -> Session:
    waiting = Waiting(payload["turnId"], payload["trigger"])
    return replace(
        session,
        waiting=(*session.waiting, waiting),
        turns={**session.turns, waiting.turn: "queued"},
    )


def _worker_state(session: Session, payload: Payload) -> Session:
    return replace(
        session,
        state=payload.get("state", session.state),
        agent=payload.get("agent", session.agent),
    )


def _errand(session: Session, payload: Payload) -> Session:
    errand = Errand(payload["id"], payload["kind"], payload["data"])
    return replace(session, errands=(*session.errands, errand))


def _errand_done(session: Session, payload: Payload) -> Session:
    return replace(session, errands=tuple(e for e in session.errands if e.id != payload["id"]))


def _told(session: Session, payload: Payload) -> Session:
    told = Told(
        kind=payload["kind"],
        id=payload.get("id", ""),
        message=payload.get("messageId"),
        head=payload.get("headId"),
        left=tuple(payload.get("left", ())),
        waits=tuple(payload.get("waits", ())),
    )
    return replace(session, told=(*session.told, told))


_ENDED: Final[dict[str, Any]] = {
    "run.cancelled": "cancelled",
    "run.failed": "cancelled",
    "run.completed": "done",
}
_STEPS: Final[dict[str, Callable[[Session, Payload], Session]]] = {
    "sayso.message-added": _message,
    "sayso.head-moved": _head,
    "sayso.branch-parked": _parked,
    "sayso.branch-resumed": _resumed,
    "sayso.call-opened": _call_opened,
    "sayso.call-retried": _call_retried,
    "sayso.call-settled": lambda s, p: _call_ended(s, p, "completed" if p["ok"] else "failed"),
    "sayso.call-voided": lambda s, p: _call_ended(s, p, "voided"),
    "sayso.decision-queued": _queued,
    "sayso.decision-dispatched": _dispatched,
    "sayso.decision-errored": _errored,
    "sayso.decision-answered": _answered,
    "sayso.decision-completed": _over,
    "sayso.decision-dropped": _over,
    "sayso.turn-started": _turn_started,
    "sayso.turn-ended": _turn_ended,
    "sayso.turn-queued": _turn_queued,
    "sayso.session-done": lambda s, _: replace(s, status="done"),
    "sayso.worker-state": _worker_state,
    "sayso.errand-asked": _errand,
    "sayso.errand-done": _errand_done,
    "sayso.thread-told": _told,
}
