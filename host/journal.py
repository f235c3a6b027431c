"""The loop around every decision: load, decide, append; when somebody was first, load and decide again.

Within a process changes of one run queue up behind each other (a lock a run), which spares the
retries; between processes the store's condition decides. Everything here is thin on purpose: the rules
are in `host.decisions`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from host.decisions.evolve import evolve
from host.decisions.state import Interrupt, NewEvent, State
from host.locks import NamedLocks
from host.observer import traced
from host.posts import new_messages
from host.store.port import Store
from host.store.records import Commit, Conflict, Reply
from host.waiters import Waiters
from schemas.errors import Refusal

_ATTEMPTS = 50


class AlreadyReplied(Exception):
    """Another request with the same idempotency key was committed first; `reply` is its answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("answered by another request with the same idempotency key")
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision wants appended, on the state that it was taken on."""

    state: State
    events: list[NewEvent]


Load = Callable[[], Awaitable[State]]
Decide = Callable[[State, int], Decided]
MakeReply = Callable[[State], Reply | None]


class Journal:
    """Appends decisions. `clock` gives milliseconds; `announce` tells the other replicas the topics that
    were woken here."""

    def __init__(
        self,
        store: Store,
        waiters: Waiters,
        clock: Callable[[], int],
        announce: Callable[[Sequence[str]], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._waiters = waiters
        self._clock = clock
        self._announce = announce
        self._locks = NamedLocks()

    async def change(
        self, run_id: str, load: Load, decide: Decide, reply: MakeReply | None = None
    ) -> State:
        """The state after the decision, once it is durable.

        Raises what `load` and `decide` raise, `StoreUnavailable`, `AlreadyReplied`, and `Refusal`
        (`sayso.unavailable`) when others were first fifty times in a row.
        """
        await self._locks.acquire(run_id)
        try:
            for _ in range(_ATTEMPTS):
                done = await self._attempt(load, decide, reply)
                if done is not None:
                    return done
        finally:
            self._locks.release(run_id)
        raise Refusal("sayso.unavailable", "This run changes too fast right now. Try again.")

    async def _attempt(self, load: Load, decide: Decide, reply: MakeReply | None) -> State | None:
        """The state after one decision, or None when somebody was first."""
        before = await load()
        now = self._clock()
        decided = decide(before, now)
        events = traced(decided.events)
        if not events:
            return decided.state
        after = evolve(decided.state, events, now)
        kept = reply(after) if reply else None
        try:
            await self._append(before, after, events, now, kept)
        except Conflict:
            first = await self._store.replies.find(kept.scope) if kept else None
            if first is not None:
                raise AlreadyReplied(first) from None
            return None
        return after

    async def _append(
        self, before: State, after: State, events: list[NewEvent], now: int, reply: Reply | None
    ) -> None:
        known = {i.interrupt_id: i for i in before.interrupts}
        changed = tuple(i for i in after.interrupts if known.get(i.interrupt_id) is not i)
        talks = tuple(c for c in after.conversations if c not in before.conversations)
        messages = new_messages([i for i in changed if i.interrupt_id not in known], events, after)
        await self._store.log.append(
            Commit(
                run=after.run,
                expected=before.run.version,
                events=tuple(events),
                at=now,
                interrupts=changed,
                conversations=talks,
                messages=messages,
                reply=reply,
            )
        )
        await self._tell(after.run.run_id, changed, bool(messages))

    async def _tell(self, run_id: str, changed: tuple[Interrupt, ...], posted: bool) -> None:
        topics = [run_id]
        for interrupt in changed:
            topics.append(interrupt.interrupt_id)
            posted = posted or bool(interrupt.notify)
            if interrupt.match_key is not None and interrupt.status == "open":
                topics.append("shelf")
            if interrupt.deadline is not None and interrupt.status == "open":
                topics.append("deadlines")
        if posted:
            topics.append("messages")
        for topic in topics:
            self._waiters.wake(topic)
        if self._announce is not None:
            await self._announce(topics)
