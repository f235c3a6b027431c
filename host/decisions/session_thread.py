"""decide: what a session's thread is told, and what a person who speaks in it puts into the session.

A session may have one thread in a channel (`Session.thread`). What stands there is a log of its own, in the
session's log: messages of the head's path that were not said there, the interrupts that park a branch, and
that the head went to another branch. `tell` adds what is missing, after whatever happened; so a message that
was recorded off the path is told when the head comes to it, and nothing is told twice.

A message in the thread goes on from the head, and waits its turn; while the head is parked it is refused. An
edit of one that was said there branches off above it.
"""

from __future__ import annotations

from typing import Any

from host.decisions.session import Session, Told, on_path, parking, path
from host.decisions.session_inputs import Accepted, append, interrupted, view
from host.decisions.session_moves import Moves
from schemas.errors import Refusal

Message = dict[str, Any]
_PREFIX = "session:"


def thread_name(run_id: str) -> str:
    """What the thread of a session is called where threads are kept."""
    return f"{_PREFIX}{run_id}"


def session_run(thread: str) -> str | None:
    """The run of the session whose thread has this name; None for any other thread."""
    return thread.removeprefix(_PREFIX) if thread.startswith(_PREFIX) else None


def said(moves: Moves, message: Message, turn: str) -> Accepted:
    """Somebody wrote `message` in the thread. It waits for the running turn.

    Raises `Refusal`: `run_state_conflict`, with the interrupts that park the head; `run_terminal`.
    """
    held = parking(moves.session, moves.session.head)
    if held:
        raise interrupted(held)
    accepted = append(moves, [message], turn, queue=True)
    _hear(moves, message["id"])
    return accepted


def edited(moves: Moves, original: str, message: Message, turn: str) -> Accepted:
    """Somebody edited the message `original` of theirs: `message` is said in its place, on a new branch.

    Raises `Refusal` (`run_state_conflict`): with the interrupts that park the place where it would be said,
    or without any while the agent is at work, or has not taken up the original yet.
    """
    node = moves.session.nodes.get(original)
    if node is None:
        raise Refusal("run_state_conflict", "The message has not been taken up yet.")
    above = [moves.session.nodes[name].message for name in path(moves.session, node.parent)]
    accepted = view(moves, [*above, message], turn)
    _hear(moves, message["id"])
    return accepted


def was_heard(session: Session, message_id: str) -> bool:
    """Whether this message was said in the thread and taken."""
    return any(t.kind == "heard" and t.message == message_id for t in session.told)


def before(session: Session, post: str) -> tuple[Told, str] | None:
    """The entry that `post` is of, and the post before it in the thread ("" for the first)."""
    last = ""
    for told in session.told:
        if told.id == post:
            return told, last
        last = told.id or last
    return None


def words_of(message: Message) -> str:
    """What a message says in words: its text, or its text parts; "" for one without any."""
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else ()
    texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
    return "\n".join(texts).strip()


def tell(moves: Moves) -> None:
    """Add to the thread what is not there yet. Nothing for a session without one."""
    if not moves.session.thread:
        return
    _tell_branch(moves)
    known = {t.message for t in moves.session.told if t.message is not None}
    for name in path(moves.session, moves.session.head):
        message = moves.session.nodes[name].message
        if name not in known and message["role"] in ("assistant", "user") and words_of(message):
            _add(moves, "message", messageId=name)
    asked = {t.id for t in moves.session.told if t.kind == "card"}
    for pause in moves.session.pauses:
        if pause.host_id not in asked:
            _add(moves, "card", id=pause.host_id)


def _tell_branch(moves: Moves) -> None:
    """That the head went to another branch since something was told last."""
    session = moves.session
    if not session.told or not _jumped(session):
        return
    here = parking(session, session.head)
    left = [p.host_id for p in session.pauses if p not in here]
    waits = [p.host_id for p in here]
    _add(moves, "branch", left=left or None, waits=waits or None)


def _jumped(session: Session) -> bool:
    """Whether the head did more than grow: it is not below where it was, or down a branch that was there."""
    last = session.told[-1].head
    if not on_path(session, last, session.head):
        return True
    on = path(session, session.head)
    below = on[on.index(last) + 1 :] if last is not None else on
    posted = {t.message for t in session.told if t.kind == "message"}
    left = next((t.left for t in reversed(session.told) if t.kind == "branch"), ())
    again = any(p.host_id in left for p in parking(session, session.head))
    return again or not posted.isdisjoint(below)


def _hear(moves: Moves, message_id: str) -> None:
    _tell_branch(moves)
    if not was_heard(moves.session, message_id):
        moves.add("thread-told", kind="heard", messageId=message_id, headId=moves.session.head)


def _add(moves: Moves, kind: str, **entry: Any) -> None:
    """One more entry. Ids of posts sort in the order of the thread, and before those of interrupts: what is
    due together is then taken up in that order."""
    run = moves.state.run
    name = run.run_id.partition("/")[2]
    post = entry.pop("id", None) or f"{run.tenant}/0-{name}.{len(moves.session.told):06d}"
    moves.add("thread-told", kind=kind, id=post, headId=moves.session.head, **entry)
