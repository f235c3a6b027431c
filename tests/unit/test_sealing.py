"""Secrets at rest: what opens, what doesn't, and how a key is replaced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.sealing import SealBroken, Sealer

OLD, NEW = "o" * 40, "n" * 40


@given(st.text(), st.text(max_size=40))
def test_what_was_sealed_opens_in_its_place(text: str, place: str) -> None:
    sealed = Sealer([OLD]).seal(text, place)
    assert Sealer([OLD]).open(sealed, place) == text
    if len(text) > 3:
        assert text not in sealed


def test_it_opens_in_no_other_place_and_with_no_other_key() -> None:
    sealed = Sealer([OLD]).seal("xoxb-secret", "slack.installation/T1")
    with pytest.raises(SealBroken, match="another place"):
        Sealer([OLD]).open(sealed, "slack.installation/T2")
    with pytest.raises(SealBroken, match="not set here"):
        Sealer([NEW]).open(sealed, "slack.installation/T1")


@given(st.data())
def test_one_changed_character_breaks_it(data: st.DataObject) -> None:
    sealed = Sealer([OLD]).seal("xoxb-secret", "p")
    at = data.draw(st.integers(0, len(sealed) - 1))
    other = data.draw(st.characters().filter(lambda c: c != sealed[at]))
    with pytest.raises(SealBroken):
        Sealer([OLD]).open(sealed[:at] + other + sealed[at + 1 :], "p")


@given(st.text())
def test_any_text_is_refused_and_nothing_else_is_raised(text: str) -> None:
    with pytest.raises(SealBroken) as broken:
        Sealer([OLD]).open(text, "p")
    assert OLD not in str(broken.value)


def test_a_key_is_replaced_in_two_steps() -> None:
    sealed = Sealer([OLD]).seal("t", "p")
    both = Sealer([NEW, OLD])
    assert both.open(sealed, "p") == "t"
    assert not both.is_current(sealed)
    anew = both.seal("t", "p")
    assert both.is_current(anew)
    assert Sealer([NEW]).open(anew, "p") == "t"


def test_the_same_text_is_never_sealed_the_same() -> None:
    sealer = Sealer([OLD])
    assert len({sealer.seal("t", "p") for _ in range(50)}) == 50


@pytest.mark.parametrize("secrets", [[], ["short"], [OLD, "short"]])
def test_a_short_key_is_none(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match="32 characters"):
        Sealer(secrets)
