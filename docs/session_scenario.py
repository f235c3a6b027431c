"""A session in a thread, for its picture: told, asked and left by the real rules at fixed moments."""

from __future__ import annotations

from itertools import count
from typing import Any

from scenario import ASKED

from adapters.cards import card_of
from adapters.session_cards import placed, post_of, thread_of_session
from adapters.views import Card, Reader, Thread
from gateway.routes.compat.substructure_prompts import Agent, asks
from host import contracts
from host.decisions import session_answers, session_delivery, session_thread
from host.decisions.session import WORKFLOW
from host.decisions.session_begin import Beginning, begun
from host.decisions.session_moves import Moves, Rules
from host.decisions.state import Policy, Run, State

_NOW = round(ASKED.timestamp() * 1000)
_NUMBERS = count(1)
_AGENT = Agent("", approvers=("ada",))


def thread() -> tuple[Thread, Card, Card, Card, Card]:
    """The thread, what the agent says, what it asks, that the conversation left, and the new answer."""
    run = Run("main/s-0123456789abcdef", WORKFLOW)
    moves = Moves(State(run), _rules())
    beginning = Beginning("assistant", {"id": "grace"}, thread="slack:#support")
    begun(moves, "order-4711", beginning, True)
    _answer(moves, messages=[])
    _said(moves, "m1", "Write to the customer of order 4711.")
    payload = {"message": "Send this letter to hello@acme.example?"}
    interrupt = {"type": "interrupt", "reason": "send", "payload": payload}
    _answer(moves, "I would write: “Your spindle is on its way.”", interrupt)
    asked = moves.state.interrupts[0]
    card = placed(card_of(asked, {"ada": "Ada Lindqvist"}), moves.session, asked.interrupt_id)
    edited = {"id": "m2", "role": "user", "content": "Draft a letter, and send nothing."}
    session_thread.edited(moves, "m1", edited, "turn-m2")
    session_thread.tell(moves)
    _answer(moves, "Here is the draft: “Your spindle is on its way.” Nothing was sent.")
    titles = {asked.interrupt_id: card.title}
    posts = [t for t in moves.session.told if t.kind in ("message", "branch")]
    said, moved, answer = (post_of(moves.session, t, titles, Reader()) for t in posts)
    return thread_of_session(moves.session, run.run_id, Reader()), said, card, moved, answer


def _rules() -> Rules:
    mint = lambda: f"01k4w7q8{next(_NUMBERS):018d}"  # noqa: E731
    return Rules(_NOW, mint, Policy(), asks({"assistant": _AGENT}), contracts.validate)


def _said(moves: Moves, name: str, text: str) -> None:
    message = {"id": name, "role": "user", "content": text}
    session_thread.said(moves, message, f"turn-{name}")


def _answer(moves: Moves, text: str = "", *actions: dict[str, Any], **more: Any) -> None:
    """The worker takes what it is asked, and says this."""
    decision = session_delivery.dispatch(moves, 30_000)
    assert decision is not None
    said = [{"role": "assistant", "content": text}] if text else []
    messages = [*decision.trigger.get("new", []), *said]
    response = {"messages": messages, "actions": list(actions), **more}
    session_answers.answered(moves, decision, response)
    session_thread.tell(moves)
