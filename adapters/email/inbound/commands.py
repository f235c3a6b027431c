"""The first line of a reply -> a decision, or none. Pure.

Exact or nothing. The line is folded (compatibility forms, case, the punctuation around it) and has to equal
an entry of the table, or the short code of this very mail.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from adapters.email.inbound.words import Decision, decision_of, folded, is_greeting


@dataclass(frozen=True, slots=True)
class Command:
    """`rest` is what stands below the deciding line: the person's own words about it."""

    decision: Decision
    rest: str


def read(text: str, locale: str, codes: dict[str, Decision]) -> Command | None:
    """The decision of a reply without its quotes, or None. Two that differ are none."""
    lines = text.split("\n")
    by_code = {code.casefold(): decision for code, decision in codes.items()}
    at = _first(lines)
    if at is None:
        return None
    decision = _decides(lines[at], locale, by_code)
    if decision is None:
        return None
    later = {_decides(line, locale, by_code) for line in lines[at + 1 :]} - {None, decision}
    if later:
        return None
    return Command(decision, "\n".join(lines[at + 1 :]).strip())


def line_decides(line: str, locale: str, codes: dict[str, Decision]) -> Decision | None:
    """What one line alone would decide."""
    return _decides(line, locale, {code.casefold(): d for code, d in codes.items()})


def first_line(text: str) -> str:
    """The line that a reply is judged by: the first that is neither blank nor a mere greeting."""
    lines = text.split("\n")
    at = _first(lines)
    return "" if at is None else lines[at]


def _first(lines: list[str]) -> int | None:
    said = [at for at, line in enumerate(lines) if line.strip()]
    if len(said) > 1 and is_greeting(folded(lines[said[0]])):
        return said[1]
    return said[0] if said else None


def _decides(line: str, locale: str, codes: dict[str, Decision]) -> Decision | None:
    if len(line) > 60 or "?" in line or "？" in line:
        return None
    said = folded(line)
    return codes.get(said) or decision_of(said, locale)


_NUMBERED: Final = re.compile(r"^\s{0,6}(?:[#(]\s?)?(\d{1,3})\s?[.):：、．）]\s*(.*)$")


def numbered(text: str, most: int) -> dict[int, str]:
    """`1. Oslo`, `2) yes`: the answers by number, from 1 to `most`. Lines below a number belong to it.

    A number that is there twice is dropped from the answers: nobody knows which one was meant.
    """
    found: dict[int, list[str]] = {}
    twice: set[int] = set()
    current: list[str] | None = None
    for line in text.split("\n"):
        match = _NUMBERED.match(unicodedata.normalize("NFKC", line))
        number = int(match[1]) if match else 0
        if match and 1 <= number <= most:
            if number in found:
                twice.add(number)
            current = found.setdefault(number, [])
            current.append(_after_number(line))
        elif current is not None:
            current.append(line)
    return {n: "\n".join(lines).strip() for n, lines in found.items() if n not in twice}


def _after_number(line: str) -> str:
    match = re.match(r"^\s*(?:[#(＃（]\s?)?\w{1,3}\s?[.):：、．）]\s*", line)
    return line[match.end() :] if match else line
