"""What happens in a session, one step at a time, each as events that are folded at once.

`Moves` collects the events of one decision, as `workflow.Progress` does for workflows. What parks a
branch, what a resume releases and what leaving a branch voids is here; who may do it is in
`session_inputs`, what a worker may ask for in `session_answers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from host.decisions import request as asking
from host.decisions.answers import Check
from host.decisions.evolve import evolve
from host.decisions.session import (
    Call,
    Decision,
    Level,
    Pause,
    Session,
    kept,
    on_path,
    parking,
    path,
)
from host.decisions.session_capture import session_event
from host.decisions.state import NewEvent, Policy, Principal, State

AskOf = Callable[[Session, Pause], tuple[dict[str, Any], tuple[str, ...]]]
"""(session, pause) -> the payload that people are asked with, and whom to tell (`channel:address`)."""
_FINISHED: Final = {
    "tool_call": "tool.finished",
    "llm_call": "llm.finished",
    "sub_agent": "sub_agent.finished",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What a move needs beside the state. `mint` makes an opaque id; `most_attempts` bounds deliveries."""

    now: int
    mint: Callable[[], str]
    policy: Policy
    ask: AskOf
    check: Check
    most_attempts: int = 10


class Moves:
    """The events of one decision about a session, and the state after them."""

    def __init__(self, state: State, rules: Rules) -> None:
        self.state = state
        self.rules = rules
        self.events: list[NewEvent] = []

    @property
    def session(self) -> Session:
        session = self.state.session
        assert session is not None, "this run is no session"
        return session

    def add(self, event: str, /, **payload: Any) -> None:
        """One event of the session. Members that are None are left out."""
        said = {name: value for name, value in payload.items() if value is not None}
        self.extend([session_event(f"sayso.{event}", said, self.rules.policy)])

    def extend(self, events: list[NewEvent]) -> None:
        self.events += events
        self.state = evolve(self.state, events, self.rules.now)

    # --- pauses -----------------------------------------------------------------------------------

    def park(
        self, leaf: str | None, origin: Level, reason: str, payload: Any, interrupt_id: str | None
    ) -> str | None:
        """Raise an interrupt on `leaf`. Its id; None when the leaf is parked and only one may be.

        An id that is open already is that interrupt: raising it again adds nothing.
        """
        if interrupt_id is not None and self.session.pause(interrupt_id) is not None:
            return interrupt_id
        if not self.session.several and parking(self.session, leaf):
            return None
        run = self.state.run
        name = interrupt_id or f"int_{self.rules.mint()}"
        host_id = f"{run.tenant}/{self.rules.mint()}"
        pause = Pause(name, host_id, origin, reason, payload, leaf)
        asked, notify = self.rules.ask(self.session, pause)
        asked = {**asked, "key": f"{run.version}:{name}"[:256]}
        agent = Principal(self.session.agent_id, run.tenant, kind="workload")
        ask = asking.Ask(host_id, f"pause-{run.version}", asked, notify, agent)
        bare = State(run, (), (), self.session)
        self.extend(asking.request(bare, ask, self.rules.now, self.rules.policy))
        self.add(
            "branch-parked",
            interruptId=name,
            hostInterruptId=host_id,
            origin=origin,
            reason=reason,
            payload=payload,
            anchor=leaf,
        )
        self._void_model_calls(leaf)
        return name

    def _void_model_calls(self, leaf: str | None) -> None:
        """Model calls in flight on the parked path are voided; other work goes on."""
        on = set(path(self.session, leaf))
        for call in self.session.calls:
            if call.kind == "llm_call" and (
                leaf is None or call.anchor is None or call.anchor in on
            ):
                self.void(call)

    # --- the tree ---------------------------------------------------------------------------------

    def move_head(self, leaf: str | None) -> None:
        """Switch to another branch. Work that is left behind is voided; interrupts are not."""
        if leaf != self.session.head:
            self.add("head-moved", headId=leaf)
            self.sweep()

    def sweep(self) -> None:
        """Void what is off the head's path, and not part of a branch that a pause keeps."""
        for call in self.session.calls:
            if self._left(call.anchor):
                self.void(call)
        for decision in self.session.decisions:
            # A click that still waits for the worker belongs to no branch; its answer belongs to one.
            anywhere = decision.passes and decision.answer is None
            if decision.until is None and not anywhere and self._left(decision.anchor):
                self.drop(decision, "its branch was left")

    def _left(self, anchor: str | None) -> bool:
        session = self.session
        return not on_path(session, anchor, session.head) and not kept(session, anchor)

    # --- calls and decisions ----------------------------------------------------------------------

    def void(self, call: Call) -> None:
        """Take back a call, and the question about it that waits. One with the worker is let go on."""
        self.add("call-voided", kind=call.kind, id=call.id)
        for decision in self.session.decisions:
            about = decision.trigger.get("id") == call.id and decision.until is None
            if about and decision.trigger["type"] in ("llm.execute", "tool.execute"):
                self.drop(decision, "its call was voided")

    def drop(self, decision: Decision, why: str) -> None:
        self.add("decision-dropped", decisionId=decision.id, reason=why)

    def queue(
        self,
        trigger: dict[str, Any],
        anchor: str | None,
        *,
        place: int | None = None,
        not_before: int | None = None,
    ) -> None:
        """Ask the worker, when the slot is free and the branch is not parked."""
        self.add(
            "decision-queued",
            decisionId=self.rules.mint(),
            trigger={name: value for name, value in trigger.items() if value is not None},
            anchor=anchor,
            turnId=self.session.turn,
            place=place,
            notBefore=not_before,
        )

    def settle(self, call: Call, ok: bool, **outcome: Any) -> None:
        """A call has ended: recorded now, and what follows from it is queued (or held)."""
        said = {name: value for name, value in outcome.items() if value is not None}
        self.add("call-settled", kind=call.kind, id=call.id, ok=ok, **said)
        trigger: dict[str, Any] = {
            "type": _FINISHED[call.kind],
            "id": call.data.get("tool_call_id", call.id),
            "ok": ok,
            **({"name": call.data["name"]} if call.kind == "tool_call" else {}),
            **{n: call.data[n] for n in ("session_id", "agent_id") if n in call.data},
            **said,
        }
        self.queue(trigger, call.anchor)

    # --- turns ------------------------------------------------------------------------------------

    def start_turn(self, turn: str) -> None:
        self.add("turn-started", turnId=turn)

    def end_turn(self, how: str, data: Any = None) -> None:
        """The running turn, if there is one."""
        turn = self.session.turn
        if turn is not None:
            self.add("turn-ended", turnId=turn, how=how, data=data)
            if self.session.parent_call and how in ("completed", "failed"):
                self._report(how, data)

    def _report(self, how: str, data: Any) -> None:
        """A child session tells its parent how its turn ended."""
        said = [m.get("content") for m in self.session.messages if m["role"] == "assistant"]
        result = data if data is not None or not said else said[-1]
        what = {
            "session_id": self.session.ancestry[-1],
            "call_id": self.session.parent_call,
            "ok": how == "completed",
            "result": result if isinstance(result, str) else None,
        }
        self.add("errand-asked", id=self.rules.mint(), kind="report", data=what)

    def start_waiting(self) -> None:
        """Begin the next turn that waits, if none runs and the head isn't parked."""
        session = self.session
        if session.turn is None and session.waiting and not parking(session, session.head):
            first = session.waiting[0]
            self.start_turn(first.turn)
            self.queue(first.trigger, session.head)

    def finish(self) -> None:
        """End a turn that has nothing left to do."""
        if self.session.turn is not None and not busy(self.session) and not self.session.pauses:
            self.end_turn("completed")
        self.start_waiting()


def busy(session: Session) -> bool:
    """Whether the running turn has work on the head's path, or a question with the worker."""
    if session.turn is None:
        return False
    return any(on_path(session, c.anchor, session.head) for c in session.calls) or any(
        d.turn == session.turn and (d.until is not None or on_path(session, d.anchor, session.head))
        for d in session.decisions
    )
