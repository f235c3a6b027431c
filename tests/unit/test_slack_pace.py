"""When a message may go: never more than the limits in any window, nothing lost, nobody held up by others."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.pace import Limits, Pace, Rate


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def made(limits: Limits | None = None) -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(limits or Limits(), clock), clock


def run(
    pace: Pace, clock: Clock, asks: list[tuple[str, str, bool]]
) -> dict[str, tuple[str, float]]:
    """Ask for all at once and come back when told, as the pump does. `asks`: (name, channel or "" for an
    update, urgent). Where each went and when."""
    went: dict[str, tuple[str, float]] = {}
    due = [(clock.now, number) for number in range(len(asks))]
    asked = 0
    while due:
        at, number = heapq.heappop(due)
        clock.now = max(clock.now, at)
        name, channel, urgent = asks[number]
        who = (name, channel)
        wait = pace.post(who, channel) if channel else pace.update(who, urgent=urgent)
        asked += 1
        if wait == 0:
            went[name] = channel, clock.now
        else:
            heapq.heappush(due, (clock.now + wait, number))
        assert asked < 400 * len(asks), "asked for ever"
    return went


def most_in(window: float, times: list[float]) -> int:
    times = sorted(times)
    return max(
        (sum(1 for t in times if start <= t < start + window - 1e-6) for start in times), default=0
    )


def test_a_burst_goes_at_once_and_the_rest_one_a_second() -> None:
    pace, clock = made()
    went = run(pace, clock, [(f"m{n}", "C1", False) for n in range(10)])
    offsets = [round(went[f"m{n}"][1] - 1000.0, 3) for n in range(10)]
    assert offsets == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    assert pace.waiting == 0


def test_a_full_channel_holds_up_no_other() -> None:
    pace, _ = made()
    for number in range(200):
        pace.post((f"m{number}", "a"), "C1")
    assert pace.waiting > 150
    assert pace.post(("other", "b"), "C2") == 0
    assert pace.update(("card", "a"), urgent=False) == 0


def test_who_comes_late_does_not_overtake_those_who_wait() -> None:
    pace, clock = made()
    for number in range(5):
        pace.post((f"m{number}", "a"), "C1")
    clock.now += 1.0  # the first of those who wait may go now, and has not come back yet
    assert pace.post(("late", "a"), "C1") > 0
    assert pace.post(("m3", "a"), "C1") == 0


def test_a_minute_has_no_more_updates_than_slack_allows() -> None:
    pace, clock = made()
    went = run(pace, clock, [(f"m{n}", "", False) for n in range(300)])
    times = [at for _, at in went.values()]
    assert len(went) == 300
    assert most_in(60.0, times) <= 50
    assert max(times) - 1000.0 <= 300 / 0.75


def test_a_decision_is_shown_before_ten_thousand_that_only_expired() -> None:
    pace, clock = made()
    for number in range(10_000):
        pace.update((f"m{number}", "a"), urgent=False)
    assert pace.update(("decided", "a"), urgent=True) == 0
    clock.now += 60
    assert pace.update(("m9999", "a"), urgent=True) == 0  # it waited, and was decided meanwhile


def test_urgent_ones_wait_for_each_other_too() -> None:
    pace, clock = made()
    went = run(pace, clock, [(f"m{n}", "", True) for n in range(60)])
    assert most_in(60.0, [at for _, at in went.values()]) <= 50


def test_votes_that_come_fast_are_shown_together() -> None:
    pace, clock = made()
    assert pace.update(("card", "a"), urgent=False) == 0
    clock.now += 0.5
    assert pace.update(("card", "a"), urgent=False) == pytest.approx(1.5)
    assert pace.update(("card", "a"), urgent=True) == 0  # decided: at once
    assert pace.update(("other", "a"), urgent=False) == 0


def test_retry_after_is_obeyed_and_then_spread() -> None:
    pace, clock = made()
    assert pace.update(("first", "a"), urgent=False) == 0
    pace.updates_limited(30.0)
    went = run(pace, clock, [(f"m{n}", "", n % 3 == 0) for n in range(40)])
    times = sorted(at for _, at in went.values())
    assert times[0] >= 1030.0
    assert most_in(1.0, times) <= 7
    assert pace.post(("post", "a"), "C1") == 0  # another method's limit


def test_one_refused_channel_rests_alone_and_two_mean_the_workspace() -> None:
    pace, clock = made()
    pace.post_limited("C1", 20.0)
    assert pace.post(("a", "a"), "C1") == pytest.approx(15, abs=1)  # looked at again before that
    assert pace.post(("b", "b"), "C2") == 0
    pace.post_limited("C2", 20.0)
    assert pace.post(("c", "c"), "C3") > 0
    clock.now += 20.3  # and after the one that waits already
    assert pace.post(("d", "d"), "C4") == 0


def test_a_name_and_its_id_are_one_channel() -> None:
    pace, _ = made()
    for number in range(3):
        assert pace.post((f"m{number}", "a"), "#ops") == 0
        pace.same("#ops", "C0OPS")
    assert pace.post(("m4", "a"), "C0OPS") > 0
    assert pace.post(("m5", "a"), "#ops") > 1


def test_who_waits_long_is_looked_at_now_and_then() -> None:
    pace, _ = made(Limits(updates=Rate(0.1, 1), kept=0))
    waits = [pace.update((f"m{n}", "a"), urgent=False) for n in range(100)]
    assert waits[0] == 0
    assert max(waits) <= 15.0 + 0.005 * 100


def test_ten_thousand_cards_over_fifty_channels_are_asked_for_few_times_each() -> None:
    """Half to post, half to update: how long it takes, by the limits alone, is in docs/slack.md."""
    pace, clock = made()
    asks = [
        (f"m{n}", f"C{n % 50}" if n % 2 else "", False)
        for n in range(1_000)  # a tenth of it
    ]
    went = run(pace, clock, asks)
    assert len(went) == 1_000
    posted: dict[str, list[float]] = defaultdict(list)
    for channel, at in went.values():
        posted[channel].append(at)
    updates = posted.pop("")
    assert most_in(60.0, updates) <= 50
    assert most_in(60.0, [at for times in posted.values() for at in times]) <= 300
    for times in posted.values():
        assert most_in(1.0, times) <= 3
    assert max(updates) - 1000.0 <= 500 / 0.75 * 1.05


def test_what_others_have_used_up_waits_and_keeps_its_place() -> None:
    pace, clock = made()
    assert pace.post(("first", "a"), "C1") == 0
    assert pace.post_taken(("first", "a"), "C1", 2.0, 0.0) == pytest.approx(2.0)
    assert pace.post(("second", "a"), "C1") > 2.0  # behind it
    assert pace.post(("other", "b"), "C2") == 0  # the workspace had room
    clock.now += 2.0
    assert pace.post(("first", "a"), "C1") == 0
    assert pace.post(("second", "a"), "C1") > 0


def test_an_update_that_others_have_used_up_is_no_update_of_its_card() -> None:
    pace, clock = made()
    assert pace.update(("card", "a"), urgent=False) == 0
    assert pace.update_taken(("card", "a"), 1.0, urgent=False) == pytest.approx(1.0)
    clock.now += 1.0  # and not the two seconds between two that were seen
    assert pace.update(("card", "a"), urgent=False) == 0


def test_a_channel_that_others_have_used_up_is_not_one_that_slack_refused() -> None:
    """Two that Slack refuses mean that the workspace has had too many; one of each does not."""
    pace, _ = made()
    assert pace.post(("a", "a"), "C1") == 0
    pace.post_taken(("a", "a"), "C1", 20.0, 0.0)
    pace.post_limited("C2", 20.0)
    assert pace.post(("c", "c"), "C3") == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "C1", "C2", "C3"]), st.booleans(), st.floats(0, 5)),
        min_size=1,
        max_size=80,
    )
)
def test_whatever_is_asked_everything_goes_within_the_limits(
    asked: list[tuple[str, bool, float]],
) -> None:
    limits = Limits(Rate(2.0, 2), Rate(5.0, 4), Rate(1.0, 3), kept=1, progress=0.0)
    pace, clock = made(limits)
    due = []
    at = clock.now
    for number, (channel, urgent, gap) in enumerate(asked):
        at += gap / 5
        due.append((at, number, channel, urgent))
    heapq.heapify(due)
    went: dict[str, list[float]] = defaultdict(list)
    rounds: Counter[int] = Counter()
    while due:
        at, number, channel, urgent = heapq.heappop(due)
        clock.now = max(clock.now, at)
        who = (str(number), channel)
        wait = pace.post(who, channel) if channel else pace.update(who, urgent=urgent)
        rounds[number] += 1
        assert rounds[number] < 100
        if wait:
            heapq.heappush(due, (clock.now + wait, number, channel, urgent))
        else:
            went[channel].append(clock.now)
    assert sum(map(len, went.values())) == len(asked)
    assert pace.waiting == 0
    for channel, times in went.items():
        rate = limits.channel_posts if channel else limits.updates
        for window in (1.0, 3.0, 10.0):
            assert most_in(window, times) <= rate.burst + rate.per_second * window
    posts = [at for channel, times in went.items() if channel for at in times]
    assert most_in(2.0, posts) <= 4 + 5.0 * 2
