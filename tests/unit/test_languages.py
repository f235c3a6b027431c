"""The catalogues: complete, the same placeholders, and what is put in is never read as a template."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.card_forms import form_for
from adapters.languages.catalogue import ENGLISH, Words, closest, locales, words_of
from adapters.texts import check_zone, moment_words
from adapters.views import Action, Card, Reader

OTHERS = [tag for tag in locales() if tag != "en"]


def placeholders(text: str) -> list[str]:
    return sorted(set(re.findall(r"\{(\w+)\}", text)))


def texts(entry: Any) -> list[str]:
    return list(entry.values()) if isinstance(entry, dict) else [entry]


def test_the_languages_there_are() -> None:
    assert locales() == ("en", "de", "es", "fr", "ja")


@pytest.mark.parametrize("locale", OTHERS)
def test_every_language_has_every_key_and_no_other(locale: str) -> None:
    assert words_of(locale).entries.keys() == ENGLISH.entries.keys()


@pytest.mark.parametrize("locale", OTHERS)
def test_every_language_has_the_same_placeholders(locale: str) -> None:
    for key, entry in words_of(locale).entries.items():
        english = ENGLISH.entries[key]
        if isinstance(english, list):
            assert isinstance(entry, list)
            continue
        wanted = placeholders(texts(english)[-1])
        for text in texts(entry):
            assert placeholders(text) == wanted, key


@pytest.mark.parametrize("locale", locales())
def test_texts_are_texts(locale: str) -> None:
    for key, entry in words_of(locale).entries.items():
        for text in texts(entry) if not isinstance(entry, list) else map(str, entry):
            assert text.strip(), key
            assert key == "language.comma" or text == text.strip(), key
            assert "{" not in re.sub(r"\{\w+\}", "", text), key
    assert len(words_of(locale).all_of("language.months")) == 12
    assert words_of(locale)("language.direction") in ("ltr", "rtl")


@pytest.mark.parametrize("locale", locales())
def test_no_word_both_approves_and_rejects(locale: str) -> None:
    words = words_of(locale)
    yes, no = set(words.all_of("reply.accept")), set(words.all_of("reply.reject"))
    assert yes
    assert no
    assert not yes & no
    assert all(word == word.casefold() for word in yes | no)


@given(st.text(max_size=60))
def test_what_is_put_in_is_not_read_again(name: str) -> None:
    assert ENGLISH("outcome.accept_by", name="{name}" + name) == "Approved by {name}" + name


def test_a_missing_key_falls_back_to_english_and_a_wrong_one_is_a_mistake() -> None:
    partial = Words("xx", {"language.plural": [1]})
    assert partial("action.accept") == "Approve"
    assert partial.count("card.questions", 2) == "2 questions"
    with pytest.raises(KeyError):
        partial("no.such")


@pytest.mark.parametrize(
    ("locale", "count", "said"),
    [
        ("en", 1, "1 question"),
        ("en", 0, "0 questions"),
        ("de", 1, "1 Frage"),
        ("fr", 0, "0 question"),
        ("fr", 2, "2 questions"),
        ("es", 0, "0 preguntas"),
        ("ja", 1, "質問1件"),
    ],
)
def test_plurals(locale: str, count: int, said: str) -> None:
    assert words_of(locale).count("card.questions", count) == said


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (("de",), "de"),
        (("de-AT",), "de"),
        (("de_DE",), "de"),
        (("pt-BR, fr;q=0.5, de;q=0.9",), "de"),
        (("fr;q=0, de;q=0.1",), "de"),
        (("", "xx", "ja-JP"), "ja"),
        (("zh",), ""),
        (("*",), ""),
        (("german",), ""),
        (("de;q=high",), ""),
        (("",), ""),
    ],
)
def test_the_closest_language(wanted: tuple[str, ...], found: str) -> None:
    assert closest(*wanted) == found


@given(st.text(max_size=500))
def test_no_header_is_too_strange(header: str) -> None:
    assert closest(header) in ("", *locales())
    assert words_of(header).locale in locales()


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (Reader("en", "UTC"), "3 December 2026, 19:30 UTC"),
        (Reader("en", "Europe/Berlin"), "3 December 2026, 20:30 CET (UTC+1)"),
        (Reader("de", "Europe/Berlin"), "3. Dezember 2026, 20:30 Uhr CET (UTC+1)"),
        (Reader("fr", "Europe/Paris"), "3 décembre 2026, 20:30 CET (UTC+1)"),
        (Reader("es", "America/Bogota"), "3 de diciembre de 2026, 14:30 UTC-5"),
        (Reader("ja", "Asia/Tokyo"), "2026年12月4日 04:30 JST (UTC+9)"),
        (Reader("en", "Asia/Kolkata"), "4 December 2026, 01:00 IST (UTC+5:30)"),
        (Reader("en", "Europe/London"), "3 December 2026, 19:30 GMT (UTC)"),
        (Reader("en", "No/Where"), "3 December 2026, 19:30 UTC"),
    ],
)
def test_a_moment_in_the_readers_words_and_zone(reader: Reader, said: str) -> None:
    assert moment_words(datetime(2026, 12, 3, 19, 30, tzinfo=UTC), reader) == said


def test_a_zone_is_checked() -> None:
    assert check_zone("Europe/Berlin") == "Europe/Berlin"
    for wrong in ("Berlin", "../etc/passwd", "", "Europe/"):
        with pytest.raises(ValueError, match="time zone"):
            check_zone(wrong)


@pytest.mark.parametrize("locale", OTHERS)
def test_what_is_asked_before_an_action_is_in_the_readers_words(locale: str) -> None:
    actions = (Action("reject", "x", needs="reason"), Action("ask", "x", needs="question"))
    card = Card("i", "approval", "open", 1, "t", actions=actions, reader=Reader(locale))
    english = replace(card, reader=Reader())
    for action in ("reject", "ask"):
        form, plain = form_for(card, action), form_for(english, action)
        assert form is not None
        assert plain is not None
        assert form.submit != plain.submit
        assert form.fields[0].label != plain.fields[0].label
        assert form.fields[0].path == plain.fields[0].path
