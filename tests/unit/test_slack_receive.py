"""Payload -> what is to be done: the shapes that Slack sends, and those that nobody should."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack import receive
from adapters.slack.modal import CALLBACK, Binding
from adapters.views import Person


def click(**changes: Any) -> dict[str, Any]:
    action = {
        "type": "button",
        "action_id": "sayso.accept",
        "block_id": "b",
        "value": '{"i":"int_1","v":4,"n":"nothing"}',
        "action_ts": "12.5",
    }
    payload = {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": "U1", "name": "ada", "team_id": "T1"},
        "container": {"type": "message", "channel_id": "C1", "message_ts": "1.1"},
        "channel": {"id": "C1"},
        "message": {"ts": "1.1"},
        "trigger_id": "1.2.x",
        "response_url": "https://hooks.slack.com/actions/x",
    }
    return {**payload, "actions": [{**action, **changes.pop("action", {})}], **changes}


def test_a_click_that_needs_nothing_is_an_answer() -> None:
    found = receive.block_actions(click())
    assert isinstance(found, receive.Clicked)
    response = found.response
    assert (response.interrupt_id, response.action, response.version) == ("int_1", "accept", 4)
    assert response.value == {}
    assert response.person == Person("slack", "T1/U1", "ada")
    assert response.dedupe == "slack:click:int_1:T1/U1:12.5"
    assert (found.place.channel, found.place.user) == ("C1", "U1")


def test_a_click_that_needs_a_reason_opens_a_form() -> None:
    value = '{"i":"int_1","v":4,"n":"reason"}'
    found = receive.block_actions(click(action={"action_id": "sayso.reject", "value": value}))
    assert isinstance(found, receive.FormWanted)
    assert found.binding == Binding("int_1", "reject", 4, "C1", "")
    assert found.trigger_id == "1.2.x"
    assert "1.2.x" not in repr(found)


@pytest.mark.parametrize(
    ("changes", "person"),
    [
        # Slack Connect: the clicker's own team, not the card's.
        ({"user": {"id": "U9", "name": "eve", "team_id": "T9"}}, "T9/U9"),
        ({"user": {"id": "U1", "name": "ada"}}, "T1/U1"),
        ({"user": {"id": "U1", "name": "ada"}, "team": None, "enterprise": {"id": "E1"}}, "E1/U1"),
        ({"user": {"id": "U1", "name": "ada"}, "team": None, "enterprise": None}, "TD/U1"),
    ],
)
def test_who_it_was(changes: dict[str, Any], person: str) -> None:
    found = receive.block_actions(click(**changes), "TD")
    assert isinstance(found, receive.Clicked)
    assert found.response.person.id == person


@pytest.mark.parametrize(
    "payload",
    [
        click(action={"action_id": "sayso.launch"}),
        click(action={"action_id": "accept"}),
        click(action={"action_id": "xsayso.accept"}),
        click(action={"action_id": None}),
        click(action={"value": "int_1"}),
        click(action={"value": None}),
        click(action={"value": '{"i":1,"v":4,"n":"nothing"}'}),
        click(action={"value": '{"i":"int_1","v":true,"n":"nothing"}'}),
        click(action={"value": "[" * 100_000}),
        click(user={}),
        click(actions=[]),
        click(actions=["x"]),
        {},
    ],
)
def test_what_is_not_ours_is_unknown(payload: dict[str, Any]) -> None:
    assert isinstance(receive.block_actions(payload), receive.Unknown)


def test_a_link_is_ignored() -> None:
    link = {"action_id": "sayso.link", "value": None}
    assert isinstance(receive.block_actions(click(action=link)), receive.Ignored)


def submission(**view: Any) -> dict[str, Any]:
    shown = {
        "id": "V1",
        "hash": "h1",
        "callback_id": CALLBACK,
        "private_metadata": Binding("int_1", "reject", 4, "C1", "").dump(),
        "state": {"values": {"d.f0": {"value": {"type": "plain_text_input", "value": "no"}}}},
        "blocks": [{"type": "input", "block_id": "d.f0"}],
    }
    user = {"id": "U1", "name": "ada", "team_id": "T1"}
    return {"type": "view_submission", "team": None, "user": user, "view": {**shown, **view}}


def test_a_submission_carries_its_binding_and_a_key_of_its_values() -> None:
    first = receive.view_submission(submission())
    assert isinstance(first, receive.Submitted)
    assert first.binding == Binding("int_1", "reject", 4, "C1", "")
    assert first == receive.view_submission(submission())
    other = {"values": {"d.f0": {"value": {"type": "plain_text_input", "value": "yes"}}}}
    second = receive.view_submission(submission(state=other))
    assert isinstance(second, receive.Submitted)
    assert second.dedupe != first.dedupe
    third = receive.view_submission(submission(hash="h2"))
    assert isinstance(third, receive.Submitted)
    assert third.dedupe != first.dedupe


@pytest.mark.parametrize(
    "view",
    [
        {"callback_id": "other"},
        {"private_metadata": ""},
        {"private_metadata": "{}"},
        {"private_metadata": '["a","b","c","d","e"]'},
        {"private_metadata": '["a","b",true,"d","e"]'},
        {"private_metadata": "[" * 100_000},
    ],
)
def test_a_form_that_is_not_ours_is_unknown(view: dict[str, Any]) -> None:
    assert isinstance(receive.view_submission(submission(**view)), receive.Unknown)


def reply(**event: Any) -> dict[str, Any]:
    said = {
        "type": "message",
        "channel": "C1",
        "channel_type": "channel",
        "user": "U1",
        "text": "the second",
        "ts": "5.5",
        "thread_ts": "1.1",
        "team": "T1",
    }
    return {
        "type": "event_callback",
        "team_id": "T1",
        "event_id": "Ev1",
        "event": {**said, **event},
    }


def test_a_reply_is_what_a_person_said() -> None:
    found = receive.event(reply(), "UBOT")
    assert isinstance(found, receive.Said)
    assert (found.text, found.person.id) == ("the second", "T1/U1")
    assert found.place == receive.Place("C1", "1.1", "U1")
    twin = receive.event(reply(type="app_mention", text="<@UBOT> the second"), "UBOT")
    assert twin == found
    broadcast = receive.event(reply(subtype="thread_broadcast"), "UBOT")
    assert broadcast == found
    foreign = receive.event(reply(user_team="T9"), "UBOT")
    assert isinstance(foreign, receive.Said)
    assert foreign.person.id == "T9/U1"


@pytest.mark.parametrize(
    "event",
    [
        {"bot_id": "B1"},
        {"bot_profile": {"id": "B1"}},
        {"user": "UBOT"},
        {"user": "USLACK"},
        {"user": None},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "bot_message"},
        {"subtype": ["x"]},
        {"hidden": True},
        {"edited": {"user": "U1", "ts": "6.6"}},
        {"thread_ts": None},
        {"thread_ts": "5.5"},
        {"text": ""},
        {"text": " <@UBOT> "},
        {"type": "reaction_added"},
        {"type": None},
    ],
)
def test_what_is_no_reply_is_ignored(event: dict[str, Any]) -> None:
    assert isinstance(receive.event(reply(**event), "UBOT"), receive.Ignored)


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt;", "&lt;"),
        ("see <http://example.com|example.com> now", "see example.com now"),
        ("<https://example.com/?a=1&amp;b=2>", "https://example.com/?a=1&b=2"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<@U2|bob> in <#C2|ops>", "@bob in #ops"),
        ("<@U2>", "@U2"),
        ("<!here> <!subteam^S1|@ops>", "@here @ops"),
        ("<@UBOT>  yes ", "yes"),
        ("ask <@UBOT> first", "ask @UBOT first"),
        ("&lt;@U2&gt;", "<@U2>"),
    ],
)
def test_words_are_those_that_were_typed(stored: str, typed: str) -> None:
    assert receive.words(stored, "UBOT") == typed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "user",
                    "team",
                    "view",
                    "actions",
                    "state",
                    "values",
                    "event",
                    "id",
                    "type",
                    "text",
                    "blocks",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(payload=st.dictionaries(st.sampled_from(["user", "view", "actions", "event", "team"]), JSON))
def test_no_shape_raises(payload: dict[str, Any]) -> None:
    assert isinstance(receive.block_actions(payload), receive.Unknown | receive.Ignored)
    assert isinstance(receive.view_submission(payload), receive.Unknown)
    assert isinstance(receive.event(payload, "UBOT"), receive.Ignored)
