"""Reminders in the thread of a card: who is named, when, and once over any number of replicas."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from gateway.reminders import Reminders
from tests.fakes.slack_state import Message
from tests.integration.conftest import approval
from tests.integration.slack_office import Office, Start, office

HOUR = 3_600_000
NOON = round(datetime(2026, 6, 3, 12, 0, tzinfo=UTC).timestamp() * 1000)
QUORUM = {
    "requiredApprovals": 2,
    "approversList": ["ada", "bob"],
    "approverGroupRefs": ["payments"],
}


@pytest.fixture
async def world(start: Start) -> AsyncIterator[Office]:
    async with office(start, "http", slack={"reminders": False}) as found:
        found.slack.space.users["U0BOB"] |= {"tz": "Asia/Tokyo"}
        yield found


class Clock:
    """The gateway's time, set by the test. It starts in the morning of a working day."""

    def __init__(self, world: Office, now: int) -> None:
        self.now = now
        host = world.api.gateway.host
        host.clock = self.read
        host.journal._clock = self.read

    def read(self) -> int:
        return self.now


def reminders(world: Office) -> Reminders:
    gateway = world.api.gateway
    return Reminders(gateway.host, gateway.channels, gateway.people)


async def asked(world: Office, clock: Clock, hours: int = 4, **data: object) -> Message:
    """An approval with so many hours to answer, shown in #ops."""
    payload = approval("k", **{**QUORUM, **data}) | {"timeoutMs": hours * HOUR}
    record = await world.ask(payload)
    card = await world.card()
    await world.settled(record["interruptId"])
    return card


def replies(world: Office, card: Message) -> list[Message]:
    return [m for m in world.slack.messages.values() if m.thread_ts == card.ts]


async def test_those_who_are_missing_are_named_at_half_and_at_nine_tenths(world: Office) -> None:
    clock = Clock(world, NOON - 8 * HOUR)  # 4:00 in London: 13:00 in Tokyo, 6:00 in Berlin
    card = await asked(world, clock)
    one, other = reminders(world), reminders(world)  # two replicas
    await one.once()
    assert replies(world, card) == []
    clock.now += 2 * HOUR  # half: 8:00 in Berlin
    for replica in (one, other, one):
        await replica.once()
    (first,) = replies(world, card)
    assert "<@U0ADA>" in first.text
    assert "<@U0BOB>" in first.text
    assert "Still waiting" in first.shown()
    # Ada votes: she is not named again.
    await world.slack.click(card, "sayso.accept", user="U0ADA")
    clock.now += 2 * HOUR - 20 * 60_000
    for replica in (other, one):
        await replica.once()
    _, second = replies(world, card)
    assert "<@U0BOB>" in second.text
    assert "U0ADA" not in second.text
    assert "1 of 2" in second.shown()
    clock.now += 10 * 60_000
    await one.once()
    assert len(replies(world, card)) == 2


async def test_a_title_pings_nobody(world: Office) -> None:
    clock = Clock(world, NOON)
    card = await asked(world, clock, title="<!channel> *now* <https://evil.example|safe> @here")
    clock.now += 2 * HOUR
    await reminders(world).once()
    (reply,) = replies(world, card)
    for text in (reply.text, str(reply.blocks)):
        assert "<!channel>" not in text
        assert "<https" not in text


async def test_who_sleeps_is_not_named_and_when_all_do_it_waits(world: Office) -> None:
    clock = Clock(world, NOON + 4 * HOUR)  # 18:00 in Berlin, 1:00 in Tokyo
    card = await asked(world, clock)
    clock.now += 2 * HOUR  # 20:00 in Berlin, 3:00 in Tokyo
    await reminders(world).once()
    (first,) = replies(world, card)
    assert "<@U0ADA>" in first.text
    assert "U0BOB" not in first.text


async def test_all_asleep_are_reminded_when_the_first_is_up(world: Office) -> None:
    clock = Clock(world, NOON + 9 * HOUR)  # 23:00 in Berlin, 6:00 in Tokyo
    card = await asked(world, clock, hours=1 + 12, approversList=["ada"], approverGroupRefs=[])
    clock.now += 7 * HOUR  # past half: 6:00 in Berlin
    replica = reminders(world)
    await replica.once()
    assert replies(world, card) == []
    clock.now += HOUR + 60_000  # 7:01
    await replica.once()
    (first,) = replies(world, card)
    assert "<@U0ADA>" in first.text


async def test_after_a_downtime_only_the_later_one_comes(world: Office) -> None:
    clock = Clock(world, NOON)
    card = await asked(world, clock)
    clock.now += 4 * HOUR - 60_000
    replica = reminders(world)
    await replica.once()
    await replica.once()
    assert len(replies(world, card)) == 1


async def test_what_is_over_or_was_never_shown_is_not_reminded(world: Office) -> None:
    clock = Clock(world, NOON)
    payload = approval("hidden", approversList=["ada"]) | {"timeoutMs": 4 * HOUR}
    await world.ask(payload, notify=[])
    card = await asked(world, clock, requiredApprovals=1)
    await world.slack.click(card, "sayso.accept", user="U0BOB")
    clock.now += 2 * HOUR
    await reminders(world).once()
    assert replies(world, card) == []
