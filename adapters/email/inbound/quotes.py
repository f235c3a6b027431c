"""A reply's text without what it quotes, cut by what we know: we sent it. Pure.

No language is needed for that. A quote's heading names our own address or name, in whatever words around
it; a quoted line begins with `>`, or is a line that we sent. A person who writes "On Friday you wrote:" or
"From: the bank" of their own is left alone, since neither names us.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Final

from adapters.email.inbound.clients import (
    IS_RULE,
    is_client_promotion,
    is_header_line,
    is_signature_mark,
)

_WRAPPED: Final = 4  # lines that an attribution may have been wrapped into
_LONG_ENOUGH: Final = 12  # characters from which a line of ours is known again wherever it stands


@dataclass(frozen=True, slots=True)
class Sent:
    """What we sent. `names` are our addresses and display name; `lines` the lines of our mail."""

    names: tuple[str, ...]
    lines: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, names: tuple[str, ...], text: str) -> Sent:
        """From the plain text of our mail."""
        lines = frozenset(flat(line) for line in text.split("\n"))
        return cls(tuple(n.casefold() for n in names if len(n) > 3), lines - {""})


def flat(line: str) -> str:
    """A line for comparing: compatibility forms folded, one space between words, no quote marks."""
    line = unicodedata.normalize("NFKC", line).lstrip("> \t|").casefold()
    return " ".join(line.replace("*", "").split())


def cut(text: str, sent: Sent) -> str:
    """What the person wrote, without blank lines around it."""
    lines = [line.replace("\xa0", " ").rstrip() for line in text.split("\n")]
    keep = [not line.lstrip().startswith(">") for line in lines]
    _drop_header_block(lines, keep, sent)
    heading = _drop_attributions(lines, keep, sent)
    kept = [
        line
        for at, line in enumerate(lines)
        if keep[at] and not _is_ours(line, sent, after_heading=at > heading)
    ]
    return "\n".join(unsigned(kept)).strip()


def _is_ours(line: str, sent: Sent, *, after_heading: bool) -> bool:
    """A line that we sent. A short one is known only behind a quote's heading: before it, "Approve" is
    what a person says, and not one of our choices."""
    if is_signature_mark(line):
        return False  # it ends what the person wrote, whoever put it there
    known = flat(line)
    return known in sent.lines and (after_heading or len(known) >= _LONG_ENOUGH)


def _drop_header_block(lines: list[str], keep: list[bool], sent: Sent) -> None:
    """Everything from the header lines of the mail that is quoted, where they name us."""
    at = 0
    while at < len(lines):
        if not (keep[at] and is_header_line(lines[at])):
            at += 1
            continue
        end = at
        while end < len(lines) and (is_header_line(lines[end]) or _continues(lines, at, end)):
            end += 1
        block = [flat(line) for line in lines[at:end]]
        if sum(1 for line in lines[at:end] if is_header_line(line)) >= 2 and _names_us(block, sent):
            start = at
            while start > 0 and (not lines[start - 1].strip() or IS_RULE.match(lines[start - 1])):
                start -= 1
            for number in range(start, len(lines)):
                keep[number] = False
            return
        at = max(end, at + 1)


def _continues(lines: list[str], start: int, at: int) -> bool:
    """A header line that was wrapped, or a blank between two of them, as some clients have it."""
    after = lines[at + 1] if at + 1 < len(lines) else ""
    return at > start and at - start < 12 and is_header_line(after)


def _drop_attributions(lines: list[str], keep: list[bool], sent: Sent) -> int:
    """The lines before a quote that say whose words follow, wrapped as they may be. Returns where the
    last of them ends; beyond all lines when there is none."""
    last = len(lines)
    for end in range(len(lines)):
        if not (keep[end] and _ends_attribution(lines, end)):
            continue
        for count in range(1, _WRAPPED + 1):
            start = end - count + 1
            if start < 0 or not keep[start] or not lines[start].strip():
                break
            if _names_us([flat(" ".join(lines[start : end + 1]))], sent):
                start = _beginning(lines, keep, start, end)
                for number in range(start, end + 1):
                    keep[number] = False
                last = end
                break
    return last


def _beginning(lines: list[str], keep: list[bool], start: int, end: int) -> int:
    """The first line of the paragraph, if that is no longer than an attribution: the date may stand on a
    line above the one that names us. A paragraph that is longer begins with words of the person."""
    first = start
    while first > 0 and keep[first - 1] and lines[first - 1].strip():
        first -= 1
    return first if end - first < _WRAPPED and any(c.isdigit() for c in lines[first]) else start


def _ends_attribution(lines: list[str], at: int) -> bool:
    line = lines[at].rstrip()
    if line.endswith((":", "：")):
        return True
    following = next((each for each in lines[at + 1 : at + 4] if each.strip()), "")
    return bool(line) and following.lstrip().startswith(">")


def _names_us(block: list[str], sent: Sent) -> bool:
    return any(name in line for line in block for name in sent.names)


def unsigned(lines: list[str]) -> list[str]:
    """Without the signature, and without what phones add about themselves."""
    for at, line in enumerate(lines):
        if is_signature_mark(line):
            lines = lines[:at]
            break
    while lines and (
        not lines[-1].strip() or is_client_promotion(lines[-1]) or IS_RULE.match(lines[-1])
    ):
        lines = lines[:-1]
    return lines
