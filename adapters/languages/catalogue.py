"""The words of one language, and which language somebody is spoken to in. Pure.

Every file of this package is one language; adding a file adds it. English is the one that the
others fall back to, key by key, so a translation may lag behind and nobody sees a bare key.

Texts hold `{name}` and nothing else of a format language: what is put in is never read again, so a
title with braces in it is just a title.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

DEFAULT: Final = "en"

MAX_HINT: Final = 200
"""Characters of an Accept-Language header that are looked at."""

_PLACE: Final = re.compile(r"\{(\w+)\}")
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?=$|[-_])")


@dataclass(frozen=True, slots=True)
class Words:
    """What Sayso says in one language. `words("mail.answer_by", moment=…)` is the text.

    Raises `KeyError` for a key that English does not have: a mistake of ours, which a test finds.
    """

    locale: str
    entries: Mapping[str, Any]

    def __call__(self, key: str, /, **values: object) -> str:
        return _filled(str(self._entry(key)), values)

    def count(self, key: str, count: int, /, **values: object) -> str:
        """The text for this many; `{count}` in it is the number. One text may serve for all."""
        forms = self._entry(key)
        if isinstance(forms, dict):
            singular = count in self._entry("language.plural") and "one" in forms
            forms = forms["one" if singular else "other"]
        return _filled(str(forms), {"count": count, **values})

    def all_of(self, key: str) -> tuple[str, ...]:
        """A list: the names of the months, the words that approve in a reply."""
        return tuple(self._entry(key))

    def join(self, members: Iterable[str]) -> str:
        """A list in words: `a, b`."""
        return str(self._entry("language.comma")).join(members)

    def number(self, number: float) -> str:
        """A number as it is written here, without a mark between thousands."""
        return f"{number:g}".replace(".", self._entry("language.decimal"))

    def has(self, key: str) -> bool:
        """Whether there is such a text, here or in English."""
        return key in self.entries or key in ENGLISH.entries

    def _entry(self, key: str) -> Any:
        found = self.entries.get(key)
        return ENGLISH.entries[key] if found is None else found


@cache
def locales() -> tuple[str, ...]:
    """The languages there are, by their tags; English first, the others in order."""
    names = (file.name for file in files(__package__).iterdir() if file.name.endswith(".toml"))
    return tuple(sorted((name.removesuffix(".toml") for name in names), key=_english_first))


def words_of(locale: str) -> Words:
    """The words of the language that comes closest to `locale` (`de-AT` gets `de`), else English."""
    return _load(closest(locale) or DEFAULT)


@cache
def _load(tag: str) -> Words:
    text = (files(__package__) / f"{tag}.toml").read_text("utf-8")
    return Words(tag, dict(_flat(tomllib.loads(text), "")))


def closest(*wanted: str) -> str:
    """The first of the wanted languages that there is; "" when there is none of them.

    Each is a tag (`de`, `de-AT`, `pt_BR`) or an Accept-Language header (RFC 9110 12.5.4).
    """
    for one in wanted:
        for tag in _tags(one[:MAX_HINT]):
            if tag in locales():
                return tag
    return ""


def _tags(wanted: str) -> list[str]:
    """The primary subtags of a header, the best liked one first."""
    found: list[tuple[float, str]] = []
    for part in wanted.split(","):
        tag, _, weight = part.strip().partition(";")
        match = _TAG.match(tag.strip())
        quality = _quality(weight)
        if match is not None and quality > 0:
            found.append((-quality, match[0].lower()))
    return [tag for _, tag in sorted(found, key=lambda pair: pair[0])]


def _quality(weight: str) -> float:
    match = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", weight)
    return float(match[1]) if match else 1.0 if not weight.strip() else 0.0


def _filled(text: str, values: Mapping[str, object]) -> str:
    return _PLACE.sub(lambda place: str(values[place[1]]), text)


def _english_first(tag: str) -> tuple[bool, str]:
    return tag != DEFAULT, tag


def _flat(table: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    """`[mail] cut = "…"` as `("mail.cut", "…")`. A table of plural forms stays one entry."""
    for name, value in table.items():
        if isinstance(value, dict) and not value.keys() <= {"one", "other"}:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


ENGLISH: Final = words_of(DEFAULT)
