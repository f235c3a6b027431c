"""Random programs against the pure core and against a store, compared after every step.

Requests, votes, questions, races, cancels, clock jumps and crashes; what the host kept must equal what the
rules say about the same commands, and the log must never hold two answers to one question.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)

from host import contracts
from host.decisions import request as asking
from host.decisions.ending import cancelled_events, expired_events
from host.decisions.evolve import evolve
from host.decisions.resolve import Answer, resolve
from host.decisions.state import Interrupt, NewEvent, Policy, Principal, State
from host.history import all_events, told
from host.host import Host
from host.store.sqlite.store import SqliteStore
from host.timers import Timers
from schemas.errors import Refusal
from schemas.payloads import check_payload
from schemas.runs import CreateRun

POLICY = Policy()
PEOPLE = {
    name: Principal(name, "acme", name=name, names=frozenset({name}), override=name == "boss")
    for name in ("ada", "bob", "cy", "boss")
}
ROBOT = Principal("robot", "acme", name="robot", kind="workload", names=frozenset({"robot"}))
VALUES: list[dict[str, Any]] = [
    {"action": "accept"},
    {"action": "reject"},
    {"action": "ask", "question": "why?"},
    {"action": "edit-accept", "editedArtifactData": 1},
    {"action": "refine", "refineFeedback": {"scope": "whole"}},
    {"action": "nonsense"},
]
gates = st.fixed_dictionaries(
    {
        "requiredApprovals": st.integers(1, 3),
        "rejectionPolicy": st.sampled_from(["single-veto", "majority"]),
        "overrideBypassesQuorum": st.booleans(),
        "approversList": st.sampled_from([[], ["ada", "bob"], ["boss"]]),
    }
)


class Machine(RuleBasedStateMachine):
    """One run, driven twice: by the host on a real file, and by the rules in memory."""

    asked = Bundle("asked")

    @initialize()
    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.now = 1_789_128_000_000
        self.keys = 0
        self.open_host()
        run = self.run(self.host.runs.start(ROBOT, CreateRun(workflow_id="sayso.external")))
        self.model = State(replace(run, version=0))
        self.model = evolve(self.model, asking.start_run(self.model.run, None), self.now)

    def open_host(self) -> None:
        self.store = SqliteStore(self.folder / "machine.db")
        self.run(self.store.start())
        self.host = Host(self.store, POLICY, lambda: self.now)

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def both(self, work: Any, rules: Any) -> Any:
        """Do it on both sides: the same refusal, or the same events."""
        refusals: list[str | None] = [None, None]
        result = None
        try:
            result = self.run(work)
        except Refusal as refusal:
            refusals[0] = refusal.code
        try:
            self.model = evolve(self.model, rules(), self.now)
        except Refusal as refusal:
            refusals[1] = refusal.code
        assert refusals[0] == refusals[1]
        return result

    def focus(self, interrupt_id: str) -> State:
        target = self.known(interrupt_id)
        return replace(self.model, interrupts=(target,))

    def known(self, interrupt_id: str) -> Interrupt:
        return next(i for i in self.model.interrupts if i.interrupt_id == interrupt_id)

    @rule(target=asked, gate=gates, timeout=st.sampled_from([0, 1000, 60_000]), old=st.booleans())
    def request(self, gate: dict[str, Any], timeout: int, old: bool) -> Any:
        if not (old and self.keys):
            self.keys += 1
        node = f"n{self.keys}"
        data = {
            "artifactId": "a", "artifactType": "t", "title": "T", **gate,
            "actions": ["accept", "reject", "refine", "edit-accept", "ask"],
        }  # fmt: skip
        payload = check_payload(
            {"kind": "approval", "key": node, "data": data, "timeoutMs": timeout}
        )
        before = [i for i in self.model.interrupts if i.key == node]
        work = self.host.request(ROBOT, self.model.run.run_id, node, payload, ())
        if before:
            again = self.run(work)
            assert not again.created
            assert again.interrupt.interrupt_id == before[0].interrupt_id
            return before[0].interrupt_id
        requested = self.both(
            work,
            lambda: asking.request(
                self.model,
                asking.Ask(self.minted(node), node, payload.wire(), (), ROBOT),
                self.now,
                POLICY,
            ),
        )
        return requested.interrupt.interrupt_id if requested else "none"

    def minted(self, key: str) -> str:
        found = self.run(self.store.log.by_key(self.model.run.run_id, key))
        return found.interrupt_id if found else "acme/0000000000000000"

    @rule(which=asked, who=st.sampled_from(sorted(PEOPLE)), value=st.sampled_from(VALUES))
    def answer(self, which: str, who: str, value: dict[str, Any]) -> None:
        if which == "none":
            return
        said = Answer(PEOPLE[who], value, "test")
        self.both(
            self.host.resolve(which, said),
            lambda: (
                self.over(which)
                or resolve(self.focus(which), said, self.now, POLICY, contracts.validate)
            ),
        )

    def over(self, which: str) -> list[NewEvent]:
        if self.model.run.status == "cancelled":
            raise Refusal("interrupt_already_resolved", "over")
        return []

    @rule(which=asked)
    def race(self, which: str) -> None:
        """Four principals at once: at most one ends it, and the log says the same."""
        if which == "none" or self.known(which).status != "open":
            return
        value = {"action": "refine", "refineFeedback": {"scope": "whole"}}

        async def all_at_once() -> list[Any]:
            answers = (Answer(p, value, "race") for p in PEOPLE.values())
            return await asyncio.gather(
                *(self.host.resolve(which, a) for a in answers), return_exceptions=True
            )

        results = self.run(all_at_once())
        won = [r for r in results if isinstance(r, State)]
        assert len(won) <= 1
        self.refresh()

    def refresh(self) -> None:
        """Take over what happened in an order that the rules alone can't know: fold the log."""
        run_id = self.model.run.run_id
        state = State(replace(self.model.run, version=0, open=(), status="running"))
        for event in self.run(all_events(self.store.log, run_id)):
            state = evolve(state, [told(event)], event.at)
        self.model = state

    @rule(which=consumes(asked))
    def cancel(self, which: str) -> None:
        if which == "none":
            return

        def rules() -> list[NewEvent]:
            if self.known(which).status != "open":
                raise Refusal("interrupt_already_resolved", "over")
            return cancelled_events(self.known(which), "moot", "robot", "robot")

        self.both(self.host.cancel(ROBOT, which, "moot"), rules)

    @rule(ms=st.sampled_from([1, 999, 60_000]))
    def time_passes(self, ms: int) -> None:
        self.now += ms

    @rule()
    def deadlines(self) -> None:
        timers = Timers(self.host)
        for which in self.run(self.store.log.due(self.now, 100)):
            assert self.run(timers.expire(which))
            self.model = evolve(self.model, expired_events(self.known(which), self.now), self.now)
        late = [
            i for i in self.model.interrupts
            if i.status == "open" and i.deadline is not None and i.deadline <= self.now
        ]  # fmt: skip
        assert late == []

    @rule()
    def crash(self) -> None:
        self.run(self.store.stop())
        self.open_host()

    @invariant()
    def store_equals_rules(self) -> None:
        if not hasattr(self, "model"):
            return
        run = self.run(self.store.log.run(self.model.run.run_id))
        assert run == self.model.run
        for interrupt in self.model.interrupts:
            assert self.run(self.store.log.interrupt(interrupt.interrupt_id)) == interrupt

    @invariant()
    def one_answer_each(self) -> None:
        if not hasattr(self, "model"):
            return
        events = self.run(all_events(self.store.log, self.model.run.run_id))
        assert [e.sequence for e in events] == list(range(len(events)))
        resolved = [e.payload["interruptId"] for e in events if e.type == "interrupt.resolved"]
        assert len(resolved) == len(set(resolved))
        keys = [e.payload["key"] for e in events if e.type == "interrupt.requested"]
        assert len(keys) == len(set(keys))

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.run(self.store.stop())
            self.loop.close()
            shutil.rmtree(self.folder)


Machine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
test_random_programs = Machine.TestCase
