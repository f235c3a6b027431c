"""A session's thread: what it is told, and what a message or an edit in it does. Rules only."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.session_cards import placed, post_of, thread_of_session
from adapters.views import Card, Reader
from host.decisions.session import Told
from host.decisions.session_thread import before, session_run, thread_name, words_of
from host.posts import new_messages
from host.retention import opened
from host.store.records import StoredEvent
from schemas.errors import Refusal
from tests.unit.branch_world import World

ENGLISH = Reader()
INTERRUPT = {"type": "interrupt", "interrupt_id": "i1", "reason": "confirm"}


def assistant(name: str, text: str = "") -> dict[str, Any]:
    return {"id": name, "role": "assistant", "content": text or name}


@pytest.fixture
def world() -> World:
    return World(thread="slack:#ops")


@pytest.fixture
def talked(world: World) -> World:
    """Said in the thread: u1, answered a1; u2, answered a2."""
    for number in ("1", "2"):
        world.speak(f"u{number}")
        decision = world.next("client.messages")
        world.answer(decision, messages=[*decision.trigger["new"], assistant(f"a{number}")])
    return world


def told(world: World) -> list[tuple[str, str | None]]:
    return [(t.kind, t.message) for t in world.session.told]


# --- what it is told ----------------------------------------------------------------------------------


def test_what_was_said_in_the_thread_is_not_told_there(talked: World) -> None:
    assert told(talked) == [("heard", "u1"), ("message", "a1"), ("heard", "u2"), ("message", "a2")]


def test_what_was_said_elsewhere_is_told_and_a_message_without_words_is_not(world: World) -> None:
    world.told("u1")
    assert told(world) == [("message", "u1")]
    world.say("u2")
    decision = world.next("client.messages")
    silent = {"id": "a2", "role": "assistant", "tool_calls": []}
    tool = {"id": "t2", "role": "tool", "tool_call_id": "c", "content": "42"}
    world.answer(decision, messages=[*decision.trigger["new"], silent, tool])
    assert told(world) == [("message", "u1"), ("message", "u2")]


def test_a_message_comes_before_the_question_that_came_with_it(world: World) -> None:
    world.say("u1")
    decision = world.next("client.messages")
    said = [*decision.trigger["new"], assistant("a1")]
    world.answer(decision, messages=said, actions=[INTERRUPT])
    kinds = [t.kind for t in world.session.told]
    assert kinds == ["message", "message", "card"]
    posts = [t.id for t in world.session.told]
    assert posts[2] == world.session.pauses[0].host_id
    assert [before(world.session, p) for p in posts] == [
        (world.session.told[0], ""),
        (world.session.told[1], posts[0]),
        (world.session.told[2], posts[1]),
    ]


def test_a_session_without_a_thread_is_told_nothing() -> None:
    world = World()
    world.told("u1", INTERRUPT)
    assert world.session.told == ()


def test_a_commit_asks_for_a_message_an_entry_at_the_thread_s_place(talked: World) -> None:
    told = [t.id for t in talked.session.told if t.kind == "message"]
    run = talked.state.run.run_id
    found = new_messages((), talked.log, talked.state)
    assert [(m.interrupt_id, m.channel, m.address) for m in found] == [
        (name, "slack", "#ops") for name in told
    ]
    assert {session_run(m.thread) for m in found} == {run}
    assert session_run("a conversation") is None


def test_retention_takes_the_posts_and_the_thread_with_the_run(talked: World) -> None:
    run = talked.state.run.run_id
    events = [
        StoredEvent(run, n, 1, e.type, e.payload, None, e.record) for n, e in enumerate(talked.log)
    ]
    interrupts, conversations = opened(events)
    assert list(interrupts) == [t.id for t in talked.session.told if t.kind == "message"]
    assert conversations == (thread_name(run),)


# --- what a message does ------------------------------------------------------------------------------


def test_39_while_parked_a_message_is_refused_with_what_parks(talked: World) -> None:
    talked.ask("i1")
    before_it = len(talked.log)
    with pytest.raises(Refusal) as refused:
        talked.speak("u3")
    assert refused.value.details["interrupts"] == ["i1"]
    assert len(talked.log) == before_it


def test_while_the_agent_works_a_message_waits_its_turn(talked: World) -> None:
    talked.speak("u3")
    assert talked.deliver() is not None
    talked.speak("u4")
    assert [w.turn for w in talked.session.waiting] == ["turn-u4"]
    assert talked.heard == ["u1", "u2", "u3", "u4"]


# --- what an edit does --------------------------------------------------------------------------------


def test_an_edit_branches_off_above_the_message(talked: World) -> None:
    talked.edit("u2", "u2b")
    assert talked.session.head == "a1"
    decision = talked.next("client.messages")
    talked.answer(decision, messages=[*decision.trigger["new"], assistant("b2")])
    assert [m["id"] for m in talked.session.messages] == ["u1", "a1", "u2b", "b2"]
    assert told(talked)[4:] == [("branch", None), ("heard", "u2b"), ("message", "b2")]
    talked.edit("u2", "u2c")  # once more: from the same place
    assert talked.session.head == "a1"


def test_an_edit_of_the_first_message_begins_anew(talked: World) -> None:
    talked.edit("u1", "u1b")
    assert talked.session.head is None
    assert told(talked)[-2:] == [("branch", None), ("heard", "u1b")]


def test_an_edit_walks_away_from_what_waits_and_says_what_still_does(talked: World) -> None:
    talked.ask("i1")
    talked.edit("u2", "u2b")
    assert not talked.parked
    branch = next(t for t in talked.session.told if t.kind == "branch")
    assert branch.left == (talked.session.pauses[0].host_id,)
    assert branch.waits == ()


def test_coming_back_to_what_waits_is_told_too(talked: World) -> None:
    talked.ask("i1")
    [pause] = talked.session.pauses
    talked.view()  # to the root, and back
    known = [talked.session.nodes[n].message for n in ("u1", "a1", "u2", "a2")]
    talked.view(*known)
    branches = [t for t in talked.session.told if t.kind == "branch"]
    assert [(b.left, b.waits) for b in branches] == [
        ((pause.host_id,), ()),
        ((), (pause.host_id,)),
    ]
    assert talked.parked


def test_an_edit_below_what_waits_is_refused(talked: World) -> None:
    talked.view(*[talked.session.nodes[n].message for n in ("u1", "a1")])
    talked.ask("i1")  # anchored at a1, above u2
    with pytest.raises(Refusal) as refused:
        talked.edit("u2", "u2b")
    assert refused.value.details["interrupts"] == ["i1"]
    talked.edit("u1", "u1b")  # above the anchor
    assert not talked.parked


@pytest.mark.parametrize("taken", [False, True])
def test_an_edit_waits_for_the_agent(talked: World, taken: bool) -> None:
    talked.speak("u3")
    if taken:
        assert talked.deliver() is not None
    for original in ("u3", "u1"):  # one that is not in the tree yet, and one that is
        with pytest.raises(Refusal) as refused:
            talked.edit(original, "late")
        assert (refused.value.code, refused.value.details.get("interrupts")) == (
            "run_state_conflict",
            None,
        )


# --- how it reads -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (" hello ", "hello"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "image", "url": "x"}], ""),
        ([7, None], ""),
        (None, ""),
        ({"text": "x"}, ""),
    ],
)
def test_what_a_message_says(content: Any, words: str) -> None:
    assert words_of({"content": content}) == words


def test_the_posts_in_words(talked: World) -> None:
    session = talked.session
    thread = thread_of_session(session, "acme/s-1", ENGLISH)
    assert thread.title == "bot: s1"
    assert "edit a message of yours to branch off" in thread.intro
    said = post_of(session, Told("message", "acme/p1", "a2"), {}, ENGLISH)
    assert (said.interrupt_id, said.body, said.actions) == ("acme/p1", "a2", ())
    other = post_of(session, Told("message", "acme/p2", "u2"), {}, ENGLISH)
    assert other.body == "ada: u2"
    moved = Told("branch", "acme/p3", head="a1", left=("acme/i1",), waits=("acme/i2",))
    titles = {"acme/i1": "Refund?", "acme/i2": "Deploy?"}
    assert post_of(session, moved, titles, ENGLISH).body.split("\n\n") == [
        "↪ The conversation goes on along another branch, after “a1”.",
        "This branch waits for: “Deploy?”",
        "On the branch that was left, this still waits: “Refund?”",
    ]
    german = post_of(session, Told("branch", "acme/p4"), {}, Reader("de")).body
    assert german == "↪ Die Unterhaltung geht auf einem anderen Zweig weiter, von Anfang an."


def test_a_card_says_after_what_it_was_raised_and_that_its_branch_was_left(talked: World) -> None:
    talked.ask("i1")
    [pause] = talked.session.pauses
    card = Card(pause.host_id, "approval", "open", 1, "Refund?")
    here = placed(card, talked.session, pause.host_id)
    assert [(f.label, f.value) for f in here.facts] == [("Raised after", "a2")]
    talked.edit("u2", "u2b")
    left = placed(card, talked.session, pause.host_id)
    assert [f.label for f in left.facts] == ["Raised after", "Branch"]
    assert "has left this branch" in left.facts[1].value
    talked.resume("i1", level="machine")
    assert placed(card, talked.session, pause.host_id) is card
