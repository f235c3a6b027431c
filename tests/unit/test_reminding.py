"""When somebody is reminded, who, and who is left in peace."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.reminding import QuietHours
from host.decisions import reminding
from host.decisions.state import Interrupt, Principal, Vote

MINUTE = 60_000
ASKED = 1_000_000_000_000


def request(window: int | None, **more: Any) -> Interrupt:
    deadline = None if window is None else ASKED + window
    payload = {"kind": "approval", "data": {"actions": ["accept"]}}
    base = Interrupt("t/1", "t/r", "n", "k", "approval", payload, ASKED, deadline=deadline)
    return replace(base, **more)


@pytest.mark.parametrize(
    ("window", "at", "share"),
    [
        (100 * MINUTE, 0, 0),
        (100 * MINUTE, 50 * MINUTE - 1, 0),
        (100 * MINUTE, 50 * MINUTE, 50),
        (100 * MINUTE, 90 * MINUTE - 1, 50),
        (100 * MINUTE, 90 * MINUTE, 90),
        (100 * MINUTE, 100 * MINUTE, 0),  # its deadline has passed
        (9 * MINUTE, 5 * MINUTE, 0),  # too short to forget
        (None, 50 * MINUTE, 0),
    ],
)
def test_what_is_due(window: int | None, at: int, share: int) -> None:
    assert reminding.due(request(window), ASKED + at) == share


@pytest.mark.parametrize("more", [{"status": "resolved"}, {"kind": "external-event"}])
def test_what_nobody_has_to_answer_has_no_reminder(more: dict[str, Any]) -> None:
    interrupt = request(100 * MINUTE, **more)
    assert reminding.due(interrupt, ASKED + 95 * MINUTE) == 0
    assert reminding.following(interrupt, ASKED) is None


@given(st.integers(10 * MINUTE, 10**12), st.integers(0, 10**12))
def test_the_next_one_is_never_in_the_past_and_both_come(window: int, at: int) -> None:
    interrupt, now, seen = request(window), ASKED, []
    while (following := reminding.following(interrupt, now)) is not None:
        assert following > now
        now = following
        seen.append(reminding.due(interrupt, now))
    assert seen == [50, 90]
    share = reminding.due(interrupt, ASKED + at)
    assert (share != 0) == (window * 50 // 100 <= at < window)


def test_those_who_voted_are_not_missing() -> None:
    people = [Principal(name, "t") for name in ("ada", "bob", "ada", "eve")]
    interrupt = request(MINUTE, votes=(Vote("bob", "Bob", "accept", 1),))
    assert [p.id for p in reminding.missing(interrupt, people)] == ["ada", "eve"]


def at(hours: int, minutes: int = 0, day: int = 3) -> int:
    return round(datetime(2026, 6, day, hours, minutes, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("hours", "zone", "now", "until"),
    [
        ("22:00-07:00", "Europe/Berlin", at(19, 59), 0),  # 21:59 there
        ("22:00-07:00", "Europe/Berlin", at(20), at(5, 0, 4)),  # 22:00 there
        ("22:00-07:00", "Europe/Berlin", at(3), at(5)),  # 5:00 there
        ("22:00-07:00", "Europe/Berlin", at(5), 0),  # 7:00 there
        ("12:00-13:00", "UTC", at(12, 30), at(13)),
        ("12:00-13:00", "Asia/Tokyo", at(12, 30), 0),
        ("09:00-09:00", "UTC", at(9), 0),
        ("22:00-07:00", "", at(23), 0),
        ("22:00-07:00", "Mars/Olympus", at(23), 0),
        ("22:00-07:00", "../../etc/passwd", at(23), 0),
    ],
)
def test_quiet_hours_are_those_of_the_person(hours: str, zone: str, now: int, until: int) -> None:
    quiet = QuietHours.read(hours)
    assert quiet is not None
    assert quiet.until(zone, now) == until


def test_no_quiet_hours_and_wrong_ones() -> None:
    assert QuietHours.read("") is None
    for wrong in ("22-7", "24:00-07:00", "22:00-07:00\n", "22:00", "aa:bb-cc:dd"):
        with pytest.raises(ValueError, match="22:00-07:00"):
            QuietHours.read(wrong)


@given(
    st.integers(0, 2 * 10**12),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
)
def test_quiet_hours_end_in_the_future_and_within_a_day(now: int, zone: str) -> None:
    quiet = QuietHours.read("22:00-07:00")
    assert quiet is not None
    until = quiet.until(zone, now)
    assert until == 0 or now < until <= now + 11 * 3_600_000
