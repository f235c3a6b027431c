"""The words by which a reply decides: `[reply]` of each language's file. Pure.

A decision is one of these words alone on the first line, and nothing else: "not approved" holds the word
"approved", "ok?" asks, and "yes, but" means no yes. No emoji is among them: mail programs send them as
reactions, and a thumb means "seen" as often as "go on".
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Final, Literal

from adapters.languages.catalogue import DEFAULT, closest, locales, words_of

Decision = Literal["accept", "reject"]

DECISIONS: Final[tuple[Decision, ...]] = ("accept", "reject")

_AROUND: Final = " \t.,!;:…。、！．，*_\"'“”„«»()[]"
_APOSTROPHES: Final = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'"})
_GREETINGS: Final = frozenset((
    "hi", "hello", "hey", "dear", "hallo", "guten", "moin", "liebe", "lieber", "bonjour", "salut",
    "cher", "chère", "hola", "buenos", "buenas", "estimado", "estimada", "こんにちは",
    "お世話になっております", "お疲れ様です",
))  # fmt: skip


def folded(line: str) -> str:
    """A line as it is compared: compatibility forms, case, apostrophes, the punctuation around it.

    A question mark stays: a question is no decision. So do accents: "si" is not "sí".
    """
    line = unicodedata.normalize("NFKC", line).casefold().translate(_APOSTROPHES)
    return " ".join(line.split()).strip(_AROUND)


def decision_of(line: str, locale: str = "") -> Decision | None:
    """What a folded line decides, by the words of `locale` and the English ones; by those of all
    languages when there is no such locale."""
    known = closest(locale)
    tables = {known, DEFAULT} if known else set(locales())
    found = {decision for tag in tables for decision in _table(tag).get(line, ())}
    return found.pop() if len(found) == 1 else None


def is_greeting(line: str) -> bool:
    """`Hi Sayso`: a first line that says nothing yet. At most four words."""
    spoken = line.split()
    return 0 < len(spoken) <= 4 and spoken[0] in _GREETINGS


def spellings() -> dict[str, set[Decision]]:
    """Every spelling with all that it means in any language: one thing each, or it is a mistake."""
    found: dict[str, set[Decision]] = {}
    for tag in locales():
        for word, decisions in _table(tag).items():
            found.setdefault(word, set()).update(decisions)
    return found


@cache
def _table(tag: str) -> dict[str, tuple[Decision, ...]]:
    found: dict[str, tuple[Decision, ...]] = {}
    for decision in DECISIONS:
        for word in words_of(tag).all_of(f"reply.{decision}"):
            found[folded(word)] = (*found.get(folded(word), ()), decision)
    return found
