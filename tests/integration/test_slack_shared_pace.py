"""Slack counts a workspace's calls, whichever gateway makes them: so all keep its limits together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.channel import Delivery, NotYet, Shown
from adapters.slack.app import SlackChannel
from adapters.slack.pace import Limits, Rate
from adapters.slack.settings import SlackSettings
from host.coordination.embedded import EmbeddedValkey
from host.coordination.redis import RedisCoordination
from tests.fakes.slack import FakeSlack
from tests.integration.conftest import Api, approval
from tests.integration.slack_office import PEOPLE
from tests.integration.slack_world import APPROVAL, Seen, StubIntake

Start = Callable[..., Awaitable[Api]]
FAST = 8.0  # times Slack's own time
FAST_LIMITS = Limits().times(FAST)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as found:
        found.limits.scale = FAST
        yield found


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path / "valkey")
    await server.start()
    yield server
    await server.stop()


@contextlib.asynccontextmanager
async def channels(
    slack: FakeSlack,
    valkey: EmbeddedValkey | None,
    count: int = 2,
    limits: Limits = FAST_LIMITS,
) -> AsyncIterator[list[SlackChannel]]:
    """The Slack channels of several gateways, each with a connection of its own to what they share."""
    async with contextlib.AsyncExitStack() as stack:
        found = []
        for _ in range(count):
            rates = None
            if valkey is not None:
                coordination = RedisCoordination(valkey.url, deadline=2)
                await coordination.start()
                stack.push_async_callback(coordination.stop)
                rates = coordination.rates
            settings = SlackSettings(
                bot_token=slack.bot_token,
                signing_secrets=(slack.signing_secret,),
                api_url=slack.api_url,
                limits=limits,
            )
            channel = SlackChannel(settings, StubIntake(), Seen(), rates=rates)
            await channel.start()
            stack.push_async_callback(channel.stop)
            found.append(channel)
        yield found


async def shown(channel: SlackChannel, name: str, address: str = "#ops") -> tuple[Shown, int]:
    """As the pump does it: whoever may not yet comes back when told. (what is shown, times put off)"""
    put_off = 0
    while True:
        try:
            card = replace(APPROVAL, interrupt_id=f"int_{name}")
            return await channel.show(Delivery(address, card)), put_off
        except NotYet as wait:
            put_off += 1
            await asyncio.sleep(wait.seconds)


async def all_shown(
    gateways: list[SlackChannel], each: int, addresses: tuple[str, ...] = ("#ops",)
) -> int:
    """Everything at once from everywhere; how often something was put off."""
    found = await asyncio.gather(
        *(
            shown(channel, f"{g}_{n}", addresses[(g + n) % len(addresses)])
            for g, channel in enumerate(gateways)
            for n in range(each)
        )
    )
    return sum(put_off for _, put_off in found)


async def test_two_gateways_post_no_faster_than_one_may(
    slack: FakeSlack, valkey: EmbeddedValkey
) -> None:
    async with channels(slack, valkey) as gateways:
        assert await all_shown(gateways, 6) > 0
    assert len(slack.called("chat.postMessage")) == 12
    assert slack.limits.refused == []


async def test_without_what_they_share_they_run_into_the_limit(slack: FakeSlack) -> None:
    """What the test above would show if nothing were shared."""
    async with channels(slack, None) as gateways:
        await all_shown(gateways, 6)
    assert slack.limits.refused


async def test_a_name_and_its_id_are_one_channel_for_all(
    slack: FakeSlack, valkey: EmbeddedValkey
) -> None:
    async with channels(slack, valkey) as gateways:
        for channel in gateways:  # each has learnt which id the name has
            await shown(channel, f"first{id(channel)}")
        await all_shown(gateways, 5, ("#ops", "C0OPS"))
    assert len(slack.called("chat.postMessage")) == 12
    assert slack.limits.refused == []


async def test_the_workspaces_updates_are_shared_too(
    slack: FakeSlack, valkey: EmbeddedValkey
) -> None:
    five = replace(FAST_LIMITS, updates=Rate(0.001, 5))  # and the sixth after some minutes
    for number in range(6):
        slack.space.add_channel(f"C0UP{number}", f"up{number}")
    async with channels(slack, valkey, limits=five) as gateways:
        refs = []
        for number, channel in enumerate(gateways * 3):
            found, _ = await shown(channel, str(number), f"C0UP{number}")
            refs.append(found.ref)
        went = 0
        for number, (channel, ref) in enumerate(zip(gateways * 3, refs, strict=True)):
            card = replace(APPROVAL, interrupt_id=f"int_{number}", state="resolved", version=4)
            try:
                await channel.show(Delivery(f"C0UP{number}", card, ref))
                went += 1
            except NotYet:
                continue
    assert went == 5


async def test_slack_refuses_one_and_all_of_them_rest(
    slack: FakeSlack, valkey: EmbeddedValkey
) -> None:
    async with channels(slack, valkey) as gateways:
        while not slack.limits.refused:  # somebody else fills the channel
            slack.limits.check("chat.postMessage", "C0OPS")
        slack.limits.refused.clear()
        with pytest.raises(NotYet):
            await gateways[0].show(Delivery("#ops", APPROVAL))
        assert len(slack.limits.refused) == 1
        with pytest.raises(NotYet):
            await gateways[1].show(Delivery("#ops", replace(APPROVAL, interrupt_id="int_two")))
        assert len(slack.called("chat.postMessage")) == 1  # the other one did not even ask


async def test_each_keeps_the_limit_for_itself_while_the_server_is_away(
    slack: FakeSlack, valkey: EmbeddedValkey
) -> None:
    async with channels(slack, valkey, count=1) as [channel]:
        await valkey.stop()
        assert await all_shown([channel], 8) > 0
    assert len(slack.called("chat.postMessage")) == 8
    assert slack.limits.refused == []


async def test_whole_gateways_on_one_database_and_one_redis(
    slack: FakeSlack, valkey: EmbeddedValkey, postgres_url: str, start: Start
) -> None:
    settings = {
        "store": {"url": postgres_url},
        "redis": {"url": valkey.url},
        "people": PEOPLE,
        "slack": {
            "bot_token": slack.bot_token,
            "signing_secret": slack.signing_secret,
            "api_url": slack.api_url,
            "pace": FAST,
        },
    }
    gateways = [await start(**settings), await start(**settings)]
    run = await gateways[0].run()
    for number in range(16):
        payload = approval(f"k{number}")
        api = gateways[number % 2]
        await api.ask(run, payload, node=f"n{number}", notify=["slack:#ops"])
    await slack.posted("C0OPS", 16)
    assert slack.limits.refused == []
