"""decide: an interrupt of a session gets its answer, wherever that comes from.

`resume` is for answers by the session's own wire (a client's input, a worker's action), `settled` for those
that came through a channel, the API, a deadline or a cancel. Both end the interrupt that people see and
the pause of the session in one commit. An id that is not open is none of our business: nothing happens.
"""

from __future__ import annotations

from typing import Any

from host.decisions.eligibility import check_eligible
from host.decisions.ending import cancelled_events
from host.decisions.resolve import Answer, resolve
from host.decisions.session import Level, Pause, Session, on_path, parking
from host.decisions.session_actions import carry_out
from host.decisions.session_inputs import check_may_clear
from host.decisions.session_moves import Moves
from host.decisions.state import Interrupt, Principal, State

ANSWER = "answer"
"""The id of the one question that an interrupt with a schema or with options is asked as."""


def approved(payload: Any) -> bool:
    """Whether a resume payload says yes, bare or wrapped in `{status, payload}`. All else is a no."""
    if not isinstance(payload, dict):
        return False
    if payload.get("status", "resolved") != "resolved":
        return False
    inner = payload.get("payload")
    return payload.get("approved") is True or (
        "approved" not in payload and isinstance(inner, dict) and inner.get("approved") is True
    )


def value_of(interrupt: Interrupt, payload: Any) -> Any:
    """A resume payload as a resume value of the interrupt that people see."""
    if interrupt.kind == "approval":
        return {"action": "accept" if approved(payload) else "reject", "payload": payload}
    if interrupt.kind == "clarification":
        return {"answers": {ANSWER: payload}}
    return payload


def resume(
    moves: Moves, interrupt_id: str, level: Level, principal: Principal, payload: Any
) -> bool:
    """Answer an interrupt of the session. False, and nothing happens, when none of this id is open.

    Raises `Refusal`: `forbidden` for a level or a person who may not, `validation_error` for a payload
    that does not fit the schema that came with the question.
    """
    pause = moves.session.pause(interrupt_id)
    if pause is None:
        return False
    check_may_clear(pause, level)
    interrupt = _seen(moves, pause)
    rules = moves.rules
    if isinstance(payload, dict) and payload.get("status") == "cancelled":
        check_eligible(interrupt, principal, rules.policy)
        name = principal.name or principal.id
        moves.extend(cancelled_events(interrupt, "", principal.id, name))
    else:
        state = State(moves.state.run, (interrupt,), (), moves.session)
        answer = Answer(principal, value_of(interrupt, payload), level)
        moves.extend(resolve(state, answer, rules.now, rules.policy, rules.check))
    if _seen(moves, pause).status != "open":
        clear(moves, pause, {"raw": payload})
    return True


def settled(moves: Moves, host_id: str) -> None:
    """The interrupt that people see has ended: so does the pause of the session, if it has one.

    Raises `Refusal` (`forbidden`) for an answer to what only the system itself may clear.
    """
    pause = next((p for p in moves.session.pauses if p.host_id == host_id), None)
    interrupt = next(i for i in moves.state.interrupts if i.interrupt_id == host_id)
    outcome = interrupt.outcome
    if pause is None or outcome is None:
        return
    if interrupt.status != "expired":
        check_may_clear(pause, "operator" if interrupt.status == "cancelled" else "machine")
    answer = {
        "status": interrupt.status,
        "kind": interrupt.kind,
        "value": outcome.value,
        "decision": outcome.decision,
        "by": outcome.by,
        "name": outcome.name,
        "via": outcome.via,
    }
    clear(moves, pause, {name: v for name, v in answer.items() if v not in (None, "")})


def _seen(moves: Moves, pause: Pause) -> Interrupt:
    """The interrupt that people see of a pause: the caller loaded those of all open ones."""
    return next(i for i in moves.state.interrupts if i.interrupt_id == pause.host_id)


def clear(moves: Moves, pause: Pause, answer: dict[str, Any]) -> None:
    """A pause has its answer. On the head's path the worker is told, first of all that waits; on an
    abandoned branch nothing is delivered, and what was kept there for the pause is voided."""
    here = on_path(moves.session, pause.anchor, moves.session.head)
    asked = None if "raw" in answer else pause.payload
    moves.add("branch-resumed", interruptId=pause.interrupt_id, answer=answer, asked=asked)
    _release(moves)
    if here:
        trigger = {
            "type": "interrupt.resumed",
            "interrupt_id": pause.interrupt_id,
            "answer": answer,
            "asked": pause.payload,
        }
        if moves.session.turn is None:
            moves.start_turn(moves.rules.mint())
        moves.queue(trigger, moves.session.head, place=_front(moves.session))
    moves.sweep()
    moves.start_waiting()


def _front(session: Session) -> int:
    """In front of all that waits, behind resumes that came before."""
    for place, decision in enumerate(session.decisions):
        waits = decision.until is None and decision.answer is None
        if waits and decision.trigger["type"] != "interrupt.resumed":
            return place
    return len(session.decisions)


def _release(moves: Moves) -> None:
    """Carry out the answers that waited for this resume, in the order in which they came."""
    for decision in moves.session.decisions:
        rest, leaf = decision.answer, decision.anchor
        if rest is None or parking(moves.session, leaf):
            continue
        if on_path(moves.session, leaf, moves.session.head):
            moves.add("decision-completed", decisionId=decision.id)
            carry_out(moves, decision, rest)
