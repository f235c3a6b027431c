"""Random sessions: trees, branches, interrupts, tools and a worker that answers whenever it likes.

After every step (`branch_world`): the log folds to the same state, no message extended a parked branch, no
question was carried out twice. At the end everything is answered and the queue runs dry: what was held is
delivered once, or was dropped in the log because its branch was left.
"""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from host.decisions import session_inputs
from host.decisions.session import deliverable, on_path, parking, path
from host.decisions.session_moves import busy
from host.decisions.session_thread import words_of
from schemas.errors import Refusal
from tests.unit.branch_world import LEASE, World, user


class Sessions(RuleBasedStateMachine):
    """Refusals are part of the game; what is refused must change nothing."""

    @initialize(several=st.booleans(), thread=st.booleans())
    def begin(self, several: bool, thread: bool) -> None:
        self.world = World(several=several, thread="slack:#ops" if thread else "")
        self.names = 0
        self.recorded: set[str] = set()

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def attempt(self, act: Any) -> bool:
        before = len(self.world.log)
        try:
            act()
        except Refusal:
            assert len(self.world.log) == before
            return False
        return True

    # --- clients ---

    @rule(queue=st.booleans())
    def say(self, queue: bool) -> None:
        parked, text = self.world.parked, self.name("u")
        done = self.attempt(lambda: self.world.say(text, queue=queue))
        assert not (done and parked and not queue), "a user's message passed a parked branch"

    @rule(data=st.data(), new=st.booleans())
    def view(self, data: st.DataObject, new: bool) -> None:
        """Any node of the tree, and with `new` a message below it."""
        session = self.world.session
        leaf = data.draw(st.sampled_from([None, *session.nodes]))
        known = [{"id": n, "role": "user"} for n in path(session, leaf)]
        more = [user(self.name("u"))] if new else []
        parked = bool(parking(session, leaf))
        done = self.attempt(lambda: self.world.view(*known, *more))
        assert not (done and new and parked), "a view extended a parked branch"
        if done:
            assert self.world.session.head == leaf

    @rule(client=st.booleans())
    def act(self, client: bool) -> None:
        self.world.do(lambda m: session_inputs.action(m, "click", None, None))

    # --- the thread ---

    @precondition(lambda self: self.world.session.thread)
    @rule()
    def speak(self) -> None:
        parked, text = self.world.parked, self.name("s")
        done = self.attempt(lambda: self.world.speak(text))
        assert done is not parked, "a message in the thread is refused while parked, and only then"

    @precondition(lambda self: self.world.heard)
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        session = self.world.session
        original = data.draw(st.sampled_from(self.world.heard))
        node = session.nodes.get(original)
        if self.attempt(lambda: self.world.edit(original, self.name("e"))):
            assert node is not None
            assert self.world.session.head == node.parent
            assert not parking(session, node.parent)

    @invariant()
    def the_thread_tells_all_of_it_once(self) -> None:
        session = self.world.session
        told = [t.message for t in session.told if t.message is not None]
        assert len(told) == len(set(told))
        if not session.thread:
            assert not session.told
            return
        names = path(session, session.head)
        spoken = [n for n in names if words_of(session.nodes[n].message)]
        users = [n for n in spoken if session.nodes[n].message["role"] != "tool"]
        assert set(users) <= set(told)
        cards = [t.id for t in session.told if t.kind == "card"]
        assert len(cards) == len(set(cards))
        assert {p.host_id for p in session.pauses} <= set(cards)
        if session.told:
            assert on_path(session, session.told[-1].head, session.head)

    # --- interrupts ---

    @rule(level=st.sampled_from(["frontend", "machine", "system"]))
    def park(self, level: Any) -> None:
        head = self.world.session.head
        name = self.name("i")
        if self.attempt(lambda: self.world.ask(name, level=level)):
            pause = self.world.session.pause(name)
            assert pause is not None
            assert pause.anchor == head
            assert self.world.parked
            assert not any(
                c.kind == "llm_call" and (c.anchor is None or c.anchor in path(
                    self.world.session, head))
                for c in self.world.session.calls
            )  # fmt: skip

    @precondition(lambda self: self.world.session.pauses)
    @rule(data=st.data(), click=st.booleans())
    def resume(self, data: st.DataObject, click: bool) -> None:
        session = self.world.session
        pause = data.draw(st.sampled_from(session.pauses))
        here = pause in parking(session, session.head)
        if click and pause.origin != "system":
            events = self.world.click(pause.interrupt_id, {"n": self.names})
        else:
            events = self.world.resume(pause.interrupt_id, {"n": self.names}, level="system")
        waiting = [
            d
            for d in self.world.session.decisions
            if d.trigger.get("interrupt_id") == pause.interrupt_id
        ]
        assert bool(waiting) is here, "told on the head's path, and only there"
        assert "branch-resumed" in events
        assert self.world.resume(pause.interrupt_id, "again", level="system") == []

    # --- the worker ---

    @rule()
    def deliver(self) -> None:
        taken = self.world.deliver()
        if taken is None:
            return
        assert taken.passes or not self.world.parked, "a held question was delivered"

    @precondition(lambda self: self.world.session.live)
    @rule(
        text=st.booleans(),
        actions=st.lists(
            st.sampled_from(["tool", "model", "interrupt", "done", "end"]), max_size=3
        ),
    )
    def answer(self, text: bool, actions: list[str]) -> None:
        live = self.world.session.live
        assert live is not None
        messages = list(live.trigger.get("new", []))
        if text:
            messages.append({"id": self.name("a"), "role": "assistant", "content": "."})
        made = [self.action(kind, live.trigger) for kind in actions]
        with contextlib.suppress(Refusal):
            self.world.answer(live, messages=messages, actions=[a for a in made if a])

    def action(self, kind: str, trigger: dict[str, Any]) -> dict[str, Any] | None:
        match kind:
            case "tool":
                return {"type": "tool.call", "id": self.name("t"), "name": "f", "arguments": {}}
            case "model":
                return {"type": "llm.call", "id": self.name("l")}
            case "interrupt":
                return {"type": "interrupt", "reason": "r", "interrupt_id": self.name("i")}
            case "done":
                return {"type": "done"}
        if trigger["type"] == "tool.execute":
            return {"type": "tool.result", "result": "x"}
        if trigger["type"] == "llm.execute":
            return {"type": "llm.result", "response": {"content": "x"}}
        return None

    @rule()
    def lapse(self) -> None:
        self.world.now += LEASE

    @precondition(lambda self: self.world.session.calls)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        call = data.draw(st.sampled_from(self.world.session.calls))
        self.world.settle(call.id, result="x")
        self.recorded.add(call.id)

    # --- what always holds ---

    @invariant()
    def parked_means_held(self) -> None:
        session = self.world.session
        if self.world.parked:
            assert not any(deliverable(session, d) and not d.passes for d in session.decisions)
        for name in self.recorded:
            assert session.ended[name] == "completed", "what was recorded stays so"

    @invariant()
    def nothing_waits_without_a_reason(self) -> None:
        """Work off the head's path is only there for a pause that may bring it back."""
        session = self.world.session
        on = set(path(session, session.head))
        for call in session.calls:
            assert call.anchor is None or call.anchor in on or session.pauses

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        while world.session.pauses:  # an answer that waited may raise one more
            world.resume(world.session.pauses[0].interrupt_id, None, level="system")
        for _ in range(300):
            live = world.session.live or world.deliver()
            if live is None:
                if not world.session.decisions:
                    break
                world.now += 60_000
                continue
            world.answer(live, messages=live.trigger.get("new", []), actions=[])
            for call in world.session.calls:
                world.settle(call.id, result="x")
        session = world.session
        assert session.decisions == ()
        assert not busy(session)
        queued = {e.payload["decisionId"] for e in world.log if e.type == "sayso.decision-queued"}
        over = [
            e.payload["decisionId"]
            for e in world.log
            if e.type in ("sayso.decision-completed", "sayso.decision-dropped")
        ]
        assert len(over) == len(set(over))
        assert set(over) == queued, "each question was carried out once, or dropped in the log"


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
