"""Events that Stripe signs: before their wait, after it, twice, forged, too old."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
import stripe

from tests.acceptance.agent import Agent, payment
from tests.acceptance.program import Program

SECRET = "whsec_5Xc1vKq2pQwErTyUiOpAsDfGhJkLzXcV"
CONFIG = f"""
[hooks.shop-payments]
provider = "stripe"
secrets = ["{SECRET}"]
event_type = "type"
correlation = {{ orderId = "data.object.metadata.order_id" }}
"""
MARK = "the-card-holder-is-Ada-Lovelace"


class Stripe:
    """Stripe's side: signs with its own SDK, and sends."""

    def __init__(self, program: Program, session: aiohttp.ClientSession) -> None:
        self._program = program
        self._session = session

    async def send(
        self, event: dict[str, Any], *, secret: str = SECRET, age: int = 0, source: str = ""
    ) -> tuple[int, dict[str, Any]]:
        body = json.dumps(event, separators=(",", ":"))
        stamp = int(time.time()) - age
        mac = stripe.WebhookSignature._compute_signature(f"{stamp}.{body}", secret)
        header = f"t={stamp},v1={mac}"
        if secret == SECRET and age < 300:  # what we send is what Stripe's receiver accepts
            assert stripe.Webhook.construct_event(body, header, SECRET).id == event["id"]
        url = f"{self._program.url}/hooks/{source or 'shop-payments'}"
        headers = {"Stripe-Signature": header, "Content-Type": "application/json; charset=utf-8"}
        async with self._session.post(url, data=body, headers=headers) as response:
            return response.status, await response.json()


def paid(event_id: str, order: str) -> dict[str, Any]:
    """The event of a checkout that is through."""
    session = {
        "id": f"cs_{event_id}",
        "object": "checkout.session",
        "amount_total": 12000,
        "metadata": {"order_id": order},
        "customer_details": {"name": MARK},
    }
    return {
        "id": event_id,
        "object": "event",
        "type": "checkout.session.completed",
        "created": int(time.time()),
        "data": {"object": session},
    }


@pytest.fixture
async def shop(program: Callable[..., Program]) -> Program:
    made = program(config=CONFIG)
    await made.start()
    return made


@pytest.fixture
def agent(shop: Program, session: aiohttp.ClientSession) -> Agent:
    return Agent(shop, session)


@pytest.fixture
def provider(shop: Program, session: aiohttp.ClientSession) -> Stripe:
    return Stripe(shop, session)


async def test_the_event_comes_after_the_wait(agent: Agent, provider: Stripe) -> None:
    run = await agent.run()
    record = await agent.ask(run, payment("4711"))
    waiting = asyncio.create_task(agent.value(record))
    assert await provider.send(paid("evt_other", "9999")) == (200, {"status": "stored"})
    assert await provider.send(paid("evt_1", "4711")) == (200, {"status": "stored"})
    value = await waiting
    assert value["id"] == "evt_1"
    assert value["data"]["object"]["amount_total"] == 12000
    outcome = (await agent.look(record))["outcome"]
    assert outcome["via"] == "hook:shop-payments"


async def test_the_event_comes_before_the_wait(
    agent: Agent, provider: Stripe, shop: Program
) -> None:
    assert await provider.send(paid("evt_early", "4712")) == (200, {"status": "stored"})
    await shop.restart()  # it is kept, not remembered
    run = await agent.run()
    record = await agent.ask(run, payment("4712"))
    assert (await agent.value(record))["id"] == "evt_early"


async def test_the_same_event_twice_has_one_effect(agent: Agent, provider: Stripe) -> None:
    run = await agent.run()
    first = await agent.ask(run, payment("4713", "first"))
    event = paid("evt_twice", "4713")
    answers = await asyncio.gather(*(provider.send(event) for _ in range(5)))
    assert [status for status, _ in answers] == [200] * 5
    said = sorted(body["status"] for _, body in answers)
    assert said == ["duplicate"] * 4 + ["stored"]
    assert (await agent.value(first))["id"] == "evt_twice"
    # A second wait for the same order isn't answered by the old event, come it once more or not.
    second = await agent.ask(run, payment("4713", "second"))
    assert await provider.send(event) == (200, {"status": "duplicate"})
    assert await provider.send(paid("evt_next", "4713")) == (200, {"status": "stored"})
    assert (await agent.value(second))["id"] == "evt_next"
    types = [event["type"] for event in await agent.events(run)]
    assert types.count("interrupt.resolved") == 2


async def test_what_is_not_signed_now_and_with_our_secret_is_refused(
    agent: Agent, provider: Stripe, shop: Program
) -> None:
    run = await agent.run()
    record = await agent.ask(run, payment("4714"))
    forged = paid("evt_forged", "4714")
    refusals = [
        await provider.send(forged, secret="whsec_guessed"),
        await provider.send(forged, age=301),
        await provider.send(forged, age=86_400),
    ]
    assert [status for status, _ in refusals] == [401, 401, 401]
    assert {body["error"] for _, body in refusals} == {"unauthenticated"}
    assert len({body["message"] for _, body in refusals}) == 1
    status, _ = await provider.send(forged, source="another-shop")
    assert status == 404
    # The id of what was refused is not taken: the real event with it counts.
    assert (await agent.look(record))["status"] == "open"
    assert await provider.send(forged) == (200, {"status": "stored"})
    assert (await agent.value(record))["id"] == "evt_forged"
    assert await shop.stop() == 0
    for trace in (MARK, "whsec_", "cs_evt_forged"):
        assert trace not in shop.output
