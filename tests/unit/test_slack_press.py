"""A press as it is kept: all of it comes back, and no secret is among it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.channel import Response
from adapters.slack.choices import Pressed
from adapters.slack.press import Press, dump, load, press_of
from adapters.slack.receive import Place
from adapters.views import Person

ADA = Person("slack", "T1/U1", "ada", "de-DE", "Europe/Berlin")
HOOK = "https://hooks.slack.com/actions/T1/secret"
PLACE = Place("C1", "1.2", "U1", HOOK)
ACCEPT = Response("acme/i", ADA, "accept", {}, "slack:click:1", 3)
OPTION = Pressed("acme/i", 3, "1", "d1gest", "slack:click:2")
words = st.text(max_size=20)


@given(
    st.sampled_from([ACCEPT, OPTION]),
    st.builds(Person, st.just("slack"), words, words),
    st.builds(Place, words, words, words),
    st.lists(words, max_size=3),
    st.integers(0, 2**53),
)
def test_all_of_it_comes_back(
    act: Any, person: Person, place: Place, origin: list[str], since: int
) -> None:
    if isinstance(act, Response):
        act = Response(act.interrupt_id, person, act.action, act.value, act.dedupe, act.version)
    press = Press(act, person, place, tuple(origin), since)
    assert load(json.loads(json.dumps(dump(press)))) == press


@pytest.mark.parametrize("act", [ACCEPT, OPTION])
def test_the_url_that_speaks_in_a_channel_is_not_kept(act: Response | Pressed) -> None:
    kept = dump(Press(act, ADA, PLACE, ("T1",), 1))
    assert HOOK not in json.dumps(kept)
    again = load(kept)
    assert again is not None
    assert again.place == Place("C1", "1.2", "U1")


def test_a_token_is_not_kept() -> None:
    held = Response("acme/i", ADA, "accept", {}, "k", 1, token="ow2.secret")
    assert "ow2.secret" not in json.dumps(dump(Press(held, ADA, PLACE, (), 1)))


@pytest.mark.parametrize(
    "change",
    [{"person": {"nick": "ada"}}, {"answer": {"later": 1}}, {"place": None}, {"since": ...}],
)
def test_what_a_newer_version_kept_otherwise_is_left_to_it(change: dict[str, Any]) -> None:
    kept = {**dump(Press(ACCEPT, ADA, PLACE, ("T1",), 1)), **change}
    if kept["since"] is ...:
        del kept["since"]
    assert load(kept) is None


def test_it_knows_where_it_came_to_in_a_shared_channel() -> None:
    """There `team` is the other company's: the message says which app's card it was."""
    payload = {"team": {"id": "T0THEIRS"}, "message": {"team": "T0OURS"}, "user": {"id": "U1"}}
    press = press_of(ACCEPT, ADA, PLACE, payload, 5)
    assert press.origin == ("T0THEIRS", "T0OURS")
    assert (press.interrupt_id, press.since) == ("acme/i", 5)
