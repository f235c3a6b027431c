"""A session in memory, with nothing around it: the rules are called, and after every step it is checked
that the log folds to the same state, and that nothing extended a parked branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from host import contracts
from host.decisions import (
    session_answers,
    session_delivery,
    session_inputs,
    session_resume,
    session_thread,
)
from host.decisions.evolve import evolve
from host.decisions.request import start_run
from host.decisions.resolve import Answer, resolve
from host.decisions.session import WORKFLOW, Decision, Level, Session, parking
from host.decisions.session_fold import fold
from host.decisions.session_inputs import Accepted
from host.decisions.session_moves import Moves, Rules
from host.decisions.state import Interrupt, NewEvent, Policy, Principal, Run, State
from schemas.session_events import SESSION_EVENTS

LEASE = 10_000
ADA = Principal("ada", "acme", "Ada", names=frozenset({"ada"}))


def user(text: str, name: str | None = None) -> dict[str, Any]:
    """A user's message. Its id is its text, unless given."""
    return {"id": name or text, "role": "user", "content": text}


class World:
    """One session. `several`: more than one interrupt may park a branch; `thread`: where its thread is."""

    def __init__(self, *, several: bool = True, thread: str = "") -> None:
        self._number = count(1)
        self.now = 1_000
        self.log: list[NewEvent] = []
        self.delivered: Counter[str] = Counter()
        self.dispatched: list[Decision] = []
        run = Run("acme/s-0123456789abcdef", WORKFLOW)
        self.state = State(run)
        started = {
            "sessionId": "s1",
            "agentId": "bot",
            "owner": {"id": "ada"},
            "several": several,
            **({"thread": thread} if thread else {}),
        }
        self._append([*start_run(run, None), NewEvent("sayso.session-started", started)])

    @property
    def session(self) -> Session:
        session = self.state.session
        assert session is not None
        return session

    @property
    def parked(self) -> bool:
        return bool(parking(self.session, self.session.head))

    def rules(self) -> Rules:
        return Rules(
            now=self.now,
            mint=lambda: f"{next(self._number):026d}",
            policy=Policy(),
            ask=lambda session, pause: (
                {"kind": "custom", "key": "", "data": {"customKind": "pause"}},
                (),
            ),
            check=contracts.validate,
            most_attempts=3,
        )

    def do(self, move: Callable[[Moves], Any]) -> list[str]:
        """The types of the events of one decision, which is appended if it isn't refused."""
        moves = Moves(self.state, self.rules())
        self.result = move(moves)
        session_thread.tell(moves)
        self._append(moves.events)
        return [e.type.removeprefix("sayso.") for e in moves.events]

    def _append(self, events: list[NewEvent]) -> None:
        for event in events:
            self._check(event)
            self.log.append(event)
            self.state = evolve(self.state, [event], self.now)
        folded: Session | None = None
        for event in self.log:
            folded = fold(folded, event)
        assert folded == self.state.session
        self.state = replace(self.state, interrupts=self.state.interrupts)

    def _check(self, event: NewEvent) -> None:
        if event.type in SESSION_EVENTS:
            SESSION_EVENTS[event.type].model_validate(event.payload)
        if event.type == "sayso.message-added":
            parent = event.payload.get("parentId")
            assert not parking(self.session, parent), "a message extended a parked branch"
        if event.type == "sayso.decision-completed":
            self.delivered[event.payload["decisionId"]] += 1
            assert self.delivered[event.payload["decisionId"]] == 1, "delivered twice"

    # --- what people and programs do ----------------------------------------------------------------

    def say(self, text: str, *, turn: str | None = None, queue: bool = False) -> Accepted:
        self.do(lambda m: session_inputs.append(m, [user(text)], turn, queue=queue))
        accepted: Accepted = self.result
        return accepted

    @property
    def heard(self) -> list[str]:
        """The messages that were said in the thread."""
        return [t.message for t in self.session.told if t.kind == "heard" and t.message]

    def speak(self, text: str) -> list[str]:
        """Somebody writes in the thread."""
        return self.do(lambda m: session_thread.said(m, user(text), f"turn-{text}"))

    def edit(self, original: str, text: str) -> list[str]:
        """Somebody edits what they wrote there."""
        return self.do(lambda m: session_thread.edited(m, original, user(text), f"turn-{text}"))

    def view(self, *messages: dict[str, Any], turn: str | None = None) -> list[str]:
        return self.do(lambda m: session_inputs.view(m, list(messages), turn))

    def ask(
        self,
        name: str | None = None,
        *,
        level: Level = "frontend",
        payload: Any = None,
    ) -> list[str]:
        return self.do(lambda m: session_inputs.park(m, level, "confirm", payload, name))

    def resume(
        self, name: str, payload: Any = None, *, level: Level = "frontend", who: Principal = ADA
    ) -> list[str]:
        return self.do(lambda m: session_resume.resume(m, name, level, who, payload))

    def click(self, name: str, value: Any) -> list[str]:
        """Somebody answers in a channel: what `host.resolve` decides, and what the session makes of it."""
        pause = self.session.pause(name)
        assert pause is not None
        interrupt = self.interrupt(pause.host_id)

        def move(moves: Moves) -> None:
            state = replace(self.state, interrupts=(interrupt,))
            answer = Answer(ADA, value, "slack")
            moves.extend(resolve(state, answer, self.now, Policy(), contracts.validate))
            session_resume.settled(moves, pause.host_id)

        return self.do(move)

    def interrupt(self, host_id: str) -> Interrupt:
        return next(i for i in self.state.interrupts if i.interrupt_id == host_id)

    def deliver(self) -> Decision | None:
        """The next question goes to the worker, if there is one now."""
        self.do(lambda m: session_delivery.dispatch(m, LEASE))
        taken: Decision | None = self.result
        if taken is not None:
            self.dispatched.append(taken)
        return taken

    def answer(self, decision: Decision, **response: Any) -> list[str]:
        def move(moves: Moves) -> None:
            found = session_answers.takes_answer(moves.session, decision.id)
            if found is not None:
                checked = session_answers.check_answer(moves.session, found, response)
                session_answers.answered(moves, found, checked)

        return self.do(move)

    def accept(self, decision: Decision) -> list[str]:
        """The worker answers what was proposed."""
        return self.answer(decision, **session_delivery.proposed(self.session, decision))

    def next(self, kind: str) -> Decision:
        """The next question, which is of this kind."""
        taken = self.deliver()
        assert taken is not None, f"nothing to deliver; {kind} was expected"
        assert taken.trigger["type"] == kind
        return taken

    def settle(self, call: str, *, level: Level = "machine", **outcome: Any) -> list[str]:
        said = outcome or {"result": "done"}
        return self.do(lambda m: session_inputs.settle(m, call, level, None, said))

    def told(self, text: str, *actions: dict[str, Any], turn: str | None = None) -> None:
        """The user says something, and the worker records it and does these things."""
        self.say(text, turn=turn)
        decision = self.next("client.messages")
        self.answer(decision, messages=decision.trigger["new"], actions=list(actions))
