"""What a check found: one line, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `sayso doctor`. `do` is empty when there is nothing to do. Neither text holds a secret."""

    level: Level
    subject: str
    sentence: str
    do: str = ""


LARGE_BYTES = 10 << 30
"""A database above this has a log that somebody should decide about."""


def ok(subject: str, sentence: str) -> Finding:
    return Finding("ok", subject, sentence)


def warn(subject: str, sentence: str, do: str) -> Finding:
    return Finding("warn", subject, sentence, do)


def fail(subject: str, sentence: str, do: str) -> Finding:
    return Finding("fail", subject, sentence, do)
