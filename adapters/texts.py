"""Untrusted text and times in words, as every page and mail writes them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from markupsafe import Markup

from adapters.languages.catalogue import words_of
from adapters.views import Reader

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


def check_zone(name: str) -> str:
    """The name of a time zone that there is. Raises `ValueError` with what a right one looks like."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is no time zone: write one like Europe/Berlin, or UTC"
        ) from None
    return name


def moment_words(at: datetime, reader: Reader) -> str:
    """The moment for a person, in their language and zone, which is named with what it is ahead of
    UTC: `3 December 2026, 20:30 CET (UTC+1)`. In UTC where the zone is not known here."""
    words = words_of(reader.locale)
    try:
        local = as_utc(at).astimezone(ZoneInfo(reader.zone))
    except (KeyError, ValueError, OSError):
        local = as_utc(at)
    date = words(
        "language.date",
        day=local.day,
        month=words.all_of("language.months")[local.month - 1],
        year=local.year,
    )
    return words("language.moment", date=date, time=f"{local:%H:%M}", zone=_zone_words(local))


def _zone_words(local: datetime) -> str:
    """`UTC`, `CET (UTC+1)`, and `UTC+7` where the zone has no letters of its own."""
    offset = local.utcoffset()
    minutes = 0 if offset is None else round(offset.total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    ahead = f"UTC{'-' if minutes < 0 else '+'}{hours}{f':{rest:02}' if rest else ''}"
    name = local.tzname() or ""
    if not name[:1].isalpha():
        return ahead if minutes else "UTC"
    return name if name == "UTC" else f"{name} ({ahead if minutes else 'UTC'})"
