"""The store port's contract: one suite, run against every implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from host import contracts
from host.decisions import request as asking
from host.decisions.evolve import evolve
from host.decisions.resolve import Answer, resolve
from host.decisions.state import Interrupt, NewEvent, Policy, Principal, Run, State
from host.ids import bound
from host.store.port import Store
from host.store.records import Commit, Conflict, NewMessage, Reply
from host.store.shelf import ShelvedEvent

NOW = 1_789_128_000_000
ADA = Principal("ada", "acme", names=frozenset({"ada"}))


async def begin(store: Store) -> State:
    run = Run(bound("acme", NOW), "sayso.external", created_at=NOW)
    events = asking.start_run(run, {"a": 1})
    state = evolve(State(run), events, NOW)
    await store.log.append(Commit(state.run, 0, tuple(events), NOW))
    return state


def wanted(kind: str = "approval", key: str = "k", **data: Any) -> dict[str, Any]:
    base: dict[str, dict[str, Any]] = {
        "approval": {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept"]},
        "external-event": {"eventType": "paid", "correlation": {"orderId": "1"}},
    }
    return {"kind": kind, "key": key, "data": {**base[kind], **data}}


async def ask(
    store: Store,
    state: State,
    payload: dict[str, Any] | None = None,
    notify: tuple[str, ...] = (),
    node: str = "gate",
    reply: Reply | None = None,
    at: int = NOW,
) -> State:
    command = asking.Ask(bound("acme", NOW), node, payload or wanted(), notify, ADA)
    events = asking.request(state, command, NOW, Policy())
    after = evolve(state, events, NOW)
    messages = tuple(NewMessage(command.interrupt_id, *text.split(":", 1)) for text in notify)
    await store.log.append(
        Commit(after.run, state.run.version, tuple(events), at, after.interrupts[:1],
               messages=messages, reply=reply)
    )  # fmt: skip
    return after


async def accept(store: Store, state: State) -> State:
    answer = Answer(ADA, {"action": "accept"}, "test")
    if state.interrupt.kind == "external-event":
        answer = replace(answer, value={"paid": True}, matched=True)
    events = resolve(state, answer, NOW + 5, Policy(), contracts.validate)
    after = evolve(state, events, NOW + 5)
    await store.log.append(
        Commit(after.run, state.run.version, tuple(events), NOW + 5, after.interrupts[:1])
    )
    return after


async def test_what_was_appended_is_read_back(store: Store) -> None:
    state = await ask(store, await begin(store))
    interrupt = state.interrupt
    assert await store.log.run(state.run.run_id) == state.run
    assert await store.log.interrupt(interrupt.interrupt_id) == interrupt
    assert await store.log.by_key(state.run.run_id, "k") == interrupt
    assert await store.log.by_node(state.run.run_id, "gate") == interrupt
    assert await store.log.interrupt("acme/nothing-of-this-name") is None
    resolved = await accept(store, state)
    assert await store.log.interrupt(interrupt.interrupt_id) == resolved.interrupt
    assert await store.log.run(state.run.run_id) == resolved.run


async def test_projections_equal_the_fold_of_the_log(store: Store) -> None:
    state = await accept(store, await ask(store, await begin(store)))
    events = await store.log.events(state.run.run_id, -1, 1000)
    folded = State(Run(state.run.run_id, "sayso.external", created_at=NOW))
    for event in events:
        told = NewEvent(event.type, event.payload, event.node_id, event.record)
        folded = evolve(folded, [told], event.at)
    assert folded.interrupt == await store.log.interrupt(state.interrupt.interrupt_id)
    assert folded.run.version == state.run.version
    assert folded.run.status == state.run.status


async def test_events_are_numbered_from_zero_without_gaps(store: Store) -> None:
    state = await accept(store, await ask(store, await begin(store)))
    events = await store.log.events(state.run.run_id, -1, 1000)
    assert [e.sequence for e in events] == list(range(state.run.version))
    assert events[0].type == "run.started"
    assert len({e.event_id for e in events}) == len(events)
    for after in range(-1, state.run.version + 2):
        tail = await store.log.events(state.run.run_id, after, 1000)
        assert [e.sequence for e in tail] == list(range(after + 1, state.run.version))


async def test_only_one_of_two_appends_on_one_version_wins(store: Store) -> None:
    state = await ask(store, await begin(store))
    results = await asyncio.gather(
        *(accept(store, state) for _ in range(20)), return_exceptions=True
    )
    assert sum(1 for r in results if isinstance(r, State)) == 1
    assert sum(1 for r in results if isinstance(r, Conflict)) == 19
    events = await store.log.events(state.run.run_id, -1, 1000)
    assert [e.type for e in events].count("interrupt.resolved") == 1


async def test_a_conflict_leaves_nothing_behind(store: Store) -> None:
    state = await begin(store)
    after = await ask(store, state, notify=("web:",))
    with pytest.raises(Conflict):
        await ask(store, replace(after, run=replace(after.run, version=1)), node="other")
    stale = replace(state, run=after.run)
    with pytest.raises(Conflict):  # the same key again, on the right version
        await ask(store, stale, node="other")
    assert len((await store.log.interrupts("acme", None, 10, None)).interrupts) == 1
    assert (await store.log.run(after.run.run_id)) == after.run


async def test_a_run_is_created_once(store: Store) -> None:
    state = await begin(store)
    with pytest.raises(Conflict):
        await store.log.append(Commit(state.run, 0, (NewEvent("run.started", {}),), NOW))


async def test_a_reply_is_kept_with_its_change_or_not_at_all(store: Store) -> None:
    reply = Reply("scope-1", "digest", 201, b"{}")
    state = await begin(store)
    await ask(store, state, reply=reply)
    assert await store.replies.find("scope-1") == reply
    other = await begin(store)
    with pytest.raises(Conflict):
        await ask(store, other, reply=reply)
    assert await store.log.by_key(other.run.run_id, "k") is None


async def test_the_first_remembered_reply_stays_until_it_is_forgotten(store: Store) -> None:
    await store.replies.remember(Reply("s", "d", 404, b"1"), NOW)
    await store.replies.remember(Reply("s", "d", 404, b"2"), NOW + 1)
    found = await store.replies.find("s")
    assert found is not None
    assert found.body == b"1"
    assert await store.replies.forget(NOW) == 0
    assert await store.replies.forget(NOW + 1) == 1
    assert await store.replies.find("s") is None


async def test_listing_pages_newest_first_and_keeps_tenants_apart(store: Store) -> None:
    ids = []
    for number in range(5):
        run = Run(bound("acme", NOW + number), "sayso.external")
        state = evolve(State(run), asking.start_run(run, None), NOW)
        await store.log.append(Commit(state.run, 0, (NewEvent("run.started", {}),), NOW))
        ids.append((await ask(store, state)).interrupt.interrupt_id)
    first = await store.log.interrupts("acme", "open", 3, None)
    rest = await store.log.interrupts("acme", "open", 3, first.cursor)
    found = [i.interrupt_id for i in (*first.interrupts, *rest.interrupts)]
    assert found == sorted(ids, reverse=True)
    assert rest.cursor is None
    assert (await store.log.interrupts("acm", None, 10, None)).interrupts == ()
    assert (await store.log.interrupts("acme", "resolved", 10, None)).interrupts == ()


async def test_due_deadlines(store: Store) -> None:
    state = await ask(store, await begin(store), {**wanted(), "timeoutMs": 100})
    assert await store.log.due(NOW + 99, 10) == []
    assert await store.log.due(NOW + 100, 10) == [state.interrupt.interrupt_id]
    await accept(store, state)
    assert await store.log.due(NOW + 1000, 10) == []


async def test_by_node_prefers_the_open_one(store: Store) -> None:
    state = await accept(store, await ask(store, await begin(store)))
    again = await ask(store, replace(state, interrupts=()), wanted(key="k2"))
    found = await store.log.by_node(state.run.run_id, "gate")
    assert found == again.interrupt


async def test_messages_are_claimed_once_and_marked_stale_by_changes(store: Store) -> None:
    state = await ask(store, await begin(store), notify=("web:", "email:a@example.com"))
    claimed = await store.deliveries.claim(NOW, "me", 1000, 10)
    assert sorted(m.channel for m in claimed) == ["email", "web"]
    assert await store.deliveries.claim(NOW, "you", 1000, 10) == []
    for message in claimed:
        assert await store.deliveries.shown(message, {"id": message.channel}, NOW)
    assert await store.deliveries.claim(NOW + 5000, "you", 1000, 10) == []
    await accept(store, state)
    again = await store.deliveries.claim(NOW + 10, "you", 1000, 10)
    assert {(m.channel, m.wanted) for m in again} == {("email", 2), ("web", 2)}
    assert {m.ref["id"] for m in again if m.ref} == {"email", "web"}


async def test_a_change_while_a_message_is_being_sent_is_not_lost(store: Store) -> None:
    state = await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    await accept(store, state)
    assert await store.deliveries.shown(message, {}, NOW + 10)
    [again] = await store.deliveries.claim(NOW + 10, "me", 1000, 10)
    assert again.wanted == 2


async def test_a_lease_ends_and_the_late_holder_is_refused(store: Store) -> None:
    await ask(store, await begin(store), notify=("web:",))
    [old] = await store.deliveries.claim(NOW, "me", 1000, 10)
    [new] = await store.deliveries.claim(NOW + 1001, "you", 1000, 10)
    assert new.fence > old.fence
    assert not await store.deliveries.shown(old, {"by": "me"}, NOW + 1002)
    assert await store.deliveries.shown(new, {"by": "you"}, NOW + 1002)
    [status] = await store.deliveries.of(new.interrupt_id)
    assert (status.state, status.ref) == ("shown", {"by": "you"})


async def test_who_renews_a_lease_keeps_it_and_is_told_what_is_lost(store: Store) -> None:
    places = ("web:", "email:a@example.com", "email:b@example.com")
    await ask(store, await begin(store), notify=places)
    claimed = await store.deliveries.claim(NOW, "me", 1000, 10)
    settled, held, lost = claimed
    assert await store.deliveries.shown(settled, {}, NOW + 900)
    kept = await store.deliveries.renew([settled, held], NOW + 900, 1000)
    assert kept == [held]
    [taken] = await store.deliveries.claim(NOW + 1899, "you", 1000, 10)
    assert (taken.channel, taken.address) == (lost.channel, lost.address)
    assert await store.deliveries.renew(claimed, NOW + 1899, 1000) == [held]
    assert await store.deliveries.renew([], NOW + 1899, 1000) == []
    assert not await store.deliveries.shown(lost, {}, NOW + 1900)
    assert await store.deliveries.shown(held, {}, NOW + 1900)
    assert await store.deliveries.renew(claimed, NOW + 1901, 1000) == []


async def test_a_lease_that_has_run_out_may_be_renewed_until_somebody_claims(store: Store) -> None:
    await ask(store, await begin(store), notify=("web:",))
    claimed = await store.deliveries.claim(NOW, "me", 1000, 10)
    assert await store.deliveries.renew(claimed, NOW + 5000, 1000) == claimed
    assert await store.deliveries.claim(NOW + 5999, "you", 1000, 10) == []
    assert len(await store.deliveries.claim(NOW + 6000, "you", 1000, 10)) == 1


async def test_failures_are_retried_when_asked_and_buried_otherwise(store: Store) -> None:
    await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    await store.deliveries.failed(message, "slow", NOW + 50, NOW)
    assert await store.deliveries.claim(NOW + 49, "me", 1000, 10) == []
    [message] = await store.deliveries.claim(NOW + 50, "me", 1000, 10)
    assert message.attempts == 1
    await store.deliveries.failed(message, "no such channel", None, NOW + 50)
    assert await store.deliveries.claim(NOW + 10_000, "me", 1000, 10) == []
    [status] = await store.deliveries.of(message.interrupt_id)
    assert (status.state, status.error) == ("dead", "no such channel")


async def test_a_rate_limit_is_not_cut_short_by_a_change(store: Store) -> None:
    state = await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    await store.deliveries.failed(message, "rate limited", NOW + 60_000, NOW)
    await accept(store, state)
    assert await store.deliveries.claim(NOW + 59_999, "me", 1000, 10) == []
    [again] = await store.deliveries.claim(NOW + 60_000, "me", 1000, 10)
    assert again.wanted == 2


async def test_what_is_put_off_comes_back_in_time_and_has_not_failed(store: Store) -> None:
    state = await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    await store.deliveries.postpone(message, NOW + 700, NOW)
    assert await store.deliveries.claim(NOW + 699, "you", 1000, 10) == []
    await accept(store, state)
    [again] = await store.deliveries.claim(NOW + 700, "you", 1000, 10)
    assert (again.attempts, again.wanted, again.ref) == (0, 2, None)
    await store.deliveries.postpone(message, NOW + 9000, NOW)  # not ours any more
    assert await store.deliveries.shown(again, {"id": 1}, NOW + 701)
    await store.deliveries.postpone(
        again, NOW + 702, NOW + 701
    )  # it is shown: nothing to come back for
    assert await store.deliveries.claim(NOW + 9000, "me", 1000, 10) == []


async def test_what_is_noted_before_is_found_by_who_takes_over(store: Store) -> None:
    await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    assert await store.deliveries.note(message, {"posting": "card"})
    [taken] = await store.deliveries.claim(NOW + 1001, "you", 1000, 10)
    assert taken.ref == {"posting": "card"}
    assert not await store.deliveries.note(message, {"posting": "again"})  # somebody else has it
    assert await store.deliveries.note(taken, None)
    await store.deliveries.failed(taken, "no", NOW + 1100, NOW + 1002)
    [last] = await store.deliveries.claim(NOW + 1100, "me", 1000, 10)
    assert last.ref is None


async def test_one_more_address_gets_the_same_question(store: Store) -> None:
    state = await ask(store, await begin(store), notify=("web:",))
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    assert await store.deliveries.add(message, "email", "ops@example.com", NOW)
    assert not await store.deliveries.add(message, "email", "ops@example.com", NOW)
    [other] = await store.deliveries.claim(NOW, "me", 1000, 10)
    assert (other.interrupt_id, other.channel, other.address, other.wanted, other.ref) == (
        message.interrupt_id,
        "email",
        "ops@example.com",
        1,
        None,
    )
    assert await store.deliveries.shown(other, {"id": 1}, NOW)
    await accept(store, state)
    [stale] = await store.deliveries.claim(NOW + 10, "me", 1000, 10)
    assert (stale.address, stale.wanted) == ("ops@example.com", 2)


async def test_dead_letters_of_open_questions_get_another_chance(store: Store) -> None:
    await ask(store, await begin(store), notify=("web:",))
    closed = await ask(store, await begin(store), notify=("email:a@example.com",))
    for message in await store.deliveries.claim(NOW, "me", 1000, 10):
        await store.deliveries.failed(message, "no", None, NOW)
    await accept(store, closed)
    for message in await store.deliveries.claim(NOW + 10, "me", 1000, 10):
        await store.deliveries.failed(message, "no", None, NOW + 10)
    assert await store.deliveries.revive(NOW + 20) == 1
    [again] = await store.deliveries.claim(NOW + 20, "me", 1000, 10)
    assert (again.channel, again.attempts) == ("web", 0)
    assert await store.deliveries.revive(NOW + 21) == 0


async def test_what_never_arrived_is_due_once_more(store: Store) -> None:
    state = await ask(store, await begin(store), notify=("email:a@example.com",))
    place = (state.interrupt.interrupt_id, "email", "a@example.com")
    [message] = await store.deliveries.claim(NOW, "me", 1000, 10)
    assert await store.deliveries.shown(message, {"id": 1}, NOW)
    assert await store.deliveries.recall(*place, NOW + 10)
    assert not await store.deliveries.recall(place[0], "email", "b@example.com", NOW + 10)
    [again] = await store.deliveries.claim(NOW + 10, "me", 1000, 10)
    assert (again.address, again.ref, again.shown < again.wanted) == (place[2], {"id": 1}, True)
    await store.deliveries.failed(again, "bounced", None, NOW + 11)
    [status] = await store.deliveries.of(place[0])
    assert (status.state, status.error) == ("dead", "bounced")


async def test_threads_keep_their_first_root(store: Store) -> None:
    place = ("acme", "c1", "slack", "#ops")
    assert await store.deliveries.thread(*place) is None
    await store.deliveries.put_thread(*place, {"channel": "C1", "ts": "1.1"})
    await store.deliveries.put_thread(*place, {"channel": "C1", "ts": "2.2"})
    assert await store.deliveries.thread(*place) == {"channel": "C1", "ts": "1.1"}
    found = await store.deliveries.find_thread("slack", {"ts": "1.1", "channel": "C1"})
    assert found == ("acme", "c1")
    assert await store.deliveries.find_thread("slack", {"channel": "C1", "ts": "9"}) is None


def event(key: str | None, number: int = 1) -> ShelvedEvent:
    return ShelvedEvent("shop", f"evt_{number}", "acme", "paid", key, {"paid": 1}, NOW)


async def _wait(store: Store) -> tuple[State, Interrupt]:
    state = await ask(store, await begin(store), wanted("external-event"))
    return state, state.interrupt


async def test_an_event_before_its_wait_is_kept_and_found(store: Store) -> None:
    key = asking.match_key("acme", "paid", {"orderId": 1})
    assert await store.shelf.file(event(key), b"raw")
    assert not await store.shelf.file(event(key), b"raw")
    assert [e.event_id for e in await store.shelf.due(NOW, 10)] == ["evt_1"]
    assert await store.shelf.waits(key) == []
    assert await store.shelf.shelve("shop", "evt_1")
    assert await store.shelf.due(NOW, 10) == []
    _, interrupt = await _wait(store)
    assert [e.event_id for e in await store.shelf.due(NOW, 10)] == ["evt_1"]
    assert await store.shelf.waits(key) == [interrupt.interrupt_id]


async def test_an_event_is_not_shelved_beside_its_open_wait(store: Store) -> None:
    key = asking.match_key("acme", "paid", {"orderId": 1})
    state, _ = await _wait(store)
    await store.shelf.file(event(key), b"raw")
    assert not await store.shelf.shelve("shop", "evt_1")
    await accept(store, state)
    assert await store.shelf.waits(key) == []
    assert await store.shelf.shelve("shop", "evt_1")


async def test_an_applied_event_is_done(store: Store) -> None:
    await store.shelf.file(event("key"), b"raw")
    await store.shelf.applied("shop", "evt_1", ["acme/i"])
    found = await store.shelf.get("shop", "evt_1")
    assert found is not None
    assert (found.state, found.matched) == ("applied", ("acme/i",))
    assert await store.shelf.due(NOW, 10) == []


async def test_links_keep_their_first_row(store: Store) -> None:
    await store.links.put("d1", "acme/i", {"channel": "email", "id": "a@example.com"})
    await store.links.put("d1", "acme/other", {})
    assert await store.links.find("d1") == ("acme/i", {"channel": "email", "id": "a@example.com"})
    assert await store.links.find("d2") is None


async def test_everything_survives_closing(opening: Callable[[], Store]) -> None:
    store = opening()
    await store.start()
    state = await ask(store, await begin(store), notify=("web:",))
    await store.deliveries.claim(NOW, "me", 10**9, 10)
    await store.stop()
    again = opening()
    await again.start()
    assert await again.log.interrupt(state.interrupt.interrupt_id) == state.interrupt
    assert len(await again.deliveries.claim(NOW, "you", 1000, 10)) == 1  # the dead one's lease
    await again.stop()
