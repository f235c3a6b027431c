"""decide: what a client, a machine or an operator puts into a session -> moves, or a refusal.

What passes while a branch is parked is a rule of this module: a user's message that would land on a
parked leaf is refused and not stored, a view that branches off above the anchor goes on, a named action
always passes, a result is recorded at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host.decisions.session import RANK, Call, Level, Pause, Session, parking, path
from host.decisions.session_moves import Moves, busy
from schemas.errors import Refusal
from schemas.runs import TERMINAL

Message = dict[str, Any]
MOST_CALL_ATTEMPTS = 3
_BACKOFF_MS = 1000


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of an input: the turn that it belongs to, and whether that waits for its start."""

    turn: str
    queued: bool = False


def check_owner(session: Session, level: Level, identity: str) -> None:
    """A frontend acts on its own sessions only. Raises `Refusal` (`forbidden`)."""
    if level == "frontend" and session.owner.get("id") != identity:
        raise Refusal("forbidden", "This session belongs to somebody else.")


def known_turn(session: Session, turn: str | None) -> Accepted | None:
    """The turn of an input that came before: sent again, it is answered and does nothing."""
    if turn is None or turn not in session.turns:
        return None
    return Accepted(turn, session.turns[turn] == "queued")


def append(
    moves: Moves,
    messages: list[Message],
    turn: str | None,
    *,
    queue: bool = False,
    client: dict[str, Any] | None = None,
) -> Accepted:
    """Messages at the head, never branching; those that are on its path already are left out.

    Raises `Refusal` (`run_state_conflict`): the session is interrupted, or a turn is running.
    """
    session = _alive(moves)
    on = set(path(session, session.head))
    new = [m for m in messages if m.get("id") not in on]
    if not new:
        return Accepted(session.turn or turn or "")
    name = turn or moves.rules.mint()
    trigger = {"type": "client.messages", "new": _named(moves, new), "client": client}
    held = parking(session, session.head)
    if queue and (held or busy(session) or session.waiting):
        moves.add("turn-queued", turnId=name, trigger=_said(trigger))
        return Accepted(name, queued=True)
    if held and any(m["role"] == "user" for m in new):
        raise interrupted(held)
    if held:
        if session.turn is None:
            moves.start_turn(name)
        moves.queue(trigger, session.head)
        return Accepted(moves.session.turn or name)
    _take_turn(moves, name)
    moves.queue(trigger, moves.session.head)
    return Accepted(name)


def view(
    moves: Moves, messages: list[Message], turn: str | None, client: dict[str, Any] | None = None
) -> Accepted:
    """The client's whole view: known ids match the tree, the first that is new branches off there.

    Raises `Refusal` (`run_state_conflict`) as `append` does.
    """
    session = _alive(moves)
    fork, rest = match(session, messages)
    results = [m for m in rest if _answers_call(session, m) is not None]
    rest = [m for m in rest if m not in results]
    held = parking(session, fork)
    if rest and held:
        raise interrupted(held)
    if rest and busy(session) and not parking(session, session.head):
        raise _active(session)
    for message in results:
        call = _answers_call(moves.session, message)
        if call is not None:
            moves.settle(call, True, result=message.get("content"))
    if not rest:
        return _move_only(moves, fork, results, turn)
    name = turn or moves.rules.mint()
    moves.end_turn("left")
    moves.move_head(fork)
    moves.start_turn(name)
    trigger = {"type": "client.messages", "new": _named(moves, rest), "client": client}
    moves.queue(trigger, fork)
    return Accepted(name)


def _move_only(
    moves: Moves, fork: str | None, results: list[Message], turn: str | None
) -> Accepted:
    if not results:
        moves.move_head(fork)
        moves.finish()
    return Accepted(moves.session.turn or turn or "")


def match(session: Session, messages: list[Message]) -> tuple[str | None, list[Message]]:
    """The last node that the view has in common with the tree, and the messages after it.

    By id, never by content; a tool result under an unknown id is the one that is recorded for its call.
    """
    at: str | None = None
    for number, message in enumerate(messages):
        found = _same(session, at, message)
        if found is None:
            return at, messages[number:]
        at = found
    return at, []


def _same(session: Session, parent: str | None, message: Message) -> str | None:
    name = message.get("id")
    node = session.nodes.get(name) if name is not None else None
    if node is not None and node.parent == parent:
        return name
    call = message.get("tool_call_id")
    if message["role"] != "tool" or call is None:
        return None
    return next(
        (
            other
            for other, n in session.nodes.items()
            if n.parent == parent and n.message.get("tool_call_id") == call
        ),
        None,
    )


def action(moves: Moves, name: str, args: Any, turn: str | None) -> Accepted:
    """A named action. It is delivered whatever parks the session: a click may be the answer."""
    session = _alive(moves)
    if session.turn is None:
        moves.start_turn(turn or moves.rules.mint())
    moves.queue({"type": "client.action", "name": name, "args": args}, session.head)
    return Accepted(moves.session.turn or "")


def settle(
    moves: Moves, call_id: str, level: Level, attempt: int | None, outcome: dict[str, Any]
) -> None:
    """The end of a call. `outcome` has `result`, or `error` and `retryable`.

    Nothing for a call that was voided. Raises `Refusal`: `not_found`; `forbidden` for a frontend and a
    call that is not the client's; `run_state_conflict` when it has ended, or is at another attempt.
    """
    call = open_call(moves.session, call_id)
    if call is None:
        return
    if level == "frontend" and call.handler != "client":
        raise Refusal("forbidden", "This call is not handled by the client.")
    if attempt is not None and attempt != call.attempt:
        raise Refusal("run_state_conflict", f"This call is at attempt {call.attempt}.")
    end_call(moves, call, outcome)


def open_call(session: Session, call_id: str) -> Call | None:
    """The open call of this id; None for one that was voided. Raises `Refusal` as `settle` does."""
    call = session.call(call_id)
    if call is None and call_id not in session.ended:
        raise Refusal("not_found", "No such call.")
    if call is None and session.ended[call_id] != "voided":
        raise Refusal("run_state_conflict", "This call has ended already.")
    return call


def end_call(moves: Moves, call: Call, outcome: dict[str, Any]) -> None:
    """Record how a call ended, or try it again where its error says so."""
    again = outcome.get("retryable") and call.attempt < MOST_CALL_ATTEMPTS
    if "error" in outcome and again and call.handler == "worker":
        moves.add("call-retried", id=call.id, attempt=call.attempt + 1, error=outcome["error"])
        kind = "tool.execute" if call.kind == "tool_call" else "llm.execute"
        wait = moves.rules.now + _BACKOFF_MS * 2**call.attempt
        moves.queue({"type": kind, "id": call.id}, call.anchor, not_before=wait)
        return
    said = {n: v for n, v in outcome.items() if n != "retryable"}
    moves.settle(call, "error" not in said, **said)


def park(moves: Moves, level: Level, reason: str, payload: Any, interrupt_id: str | None) -> str:
    """Raise an interrupt at the head. Its id.

    Raises `Refusal` (`run_state_conflict`) where only one may park a branch, with the one that does.
    """
    session = _alive(moves)
    name = moves.park(session.head, level, reason, payload, interrupt_id)
    if name is None:
        raise interrupted(parking(session, session.head))
    return name


def check_may_clear(pause: Pause, level: Level) -> None:
    """Raises `Refusal` (`forbidden`) when the pause was raised by a higher level."""
    if RANK[level] < RANK[pause.origin]:
        raise Refusal(
            "forbidden", f"This interrupt was raised by the {pause.origin}: you can't clear it."
        )


def interrupted(held: tuple[Pause, ...]) -> Refusal:
    """409: the place where it would land is parked."""
    return Refusal(
        "run_state_conflict",
        "session is interrupted",
        interrupts=[p.interrupt_id for p in held],
    )


def _active(session: Session) -> Refusal:
    return Refusal(
        "run_state_conflict",
        "a turn is already active: wait for its end, or send 'queue': true",
        turn=session.turn,
    )


def _take_turn(moves: Moves, turn: str) -> None:
    if busy(moves.session):
        raise _active(moves.session)
    moves.end_turn("left")
    moves.start_turn(turn)


def _alive(moves: Moves) -> Session:
    if moves.session.status == "cancelled" or moves.state.run.status in TERMINAL:
        raise Refusal("run_terminal", "This session has ended.")
    return moves.session


def _named(moves: Moves, messages: list[Message]) -> list[Message]:
    """Every message with an id that the tree doesn't have yet: ids are of nodes, and nodes are one each."""
    taken = set(moves.session.nodes)
    named = []
    for message in messages:
        name = message.get("id")
        if name is None or name in taken:
            name = f"msg_{moves.rules.mint()}"
        taken.add(name)
        named.append({**message, "id": name})
    return named


def _answers_call(session: Session, message: Message) -> Call | None:
    call = session.call(message.get("tool_call_id") or "")
    if message["role"] != "tool" or call is None or call.handler != "client":
        return None
    return call


def _said(trigger: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in trigger.items() if value is not None}
