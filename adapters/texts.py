"""Untrusted text and times in words, as every page and mail writes them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

# Characters that change how the text around them is read: C0 and C1 controls, and the marks that
# reorder text, by which a title can be made to look like another one.
_DECEPTIVE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def visible(value: Any) -> Any:
    """Text with its deceptive characters made visible; markup and other values as they are.

    Made for Jinja's `finalize`, which sees every value that a template writes.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return _DECEPTIVE.sub("\N{REPLACEMENT CHARACTER}", value.replace("\r\n", "\n"))
    return value


def as_utc(at: datetime) -> datetime:
    """The same moment in UTC. One without a zone is taken as UTC."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def utc_iso(at: datetime) -> str:
    """The moment for machines: RFC 3339, whole seconds, `Z`."""
    return as_utc(at).isoformat(timespec="seconds").replace("+00:00", "Z")


def utc_words(at: datetime) -> str:
    """The moment for people, with its zone: `3 December 2026, 19:30 UTC`."""
    utc = as_utc(at)
    return f"{utc.day} {utc:%B %Y, %H:%M} UTC"
