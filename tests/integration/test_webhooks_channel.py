"""The webhooks channel behind a real aiohttp server, with a stub for what lies behind it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from adapters.channel import Delivery, DeliveryFailed, InboundEvent
from adapters.views import Card
from adapters.webhooks.app import WebhooksChannel
from adapters.webhooks.providers import sign
from adapters.webhooks.receive import UNMAPPED
from adapters.webhooks.settings import HookSource
from schemas.errors import ErrorEnvelope, Refusal

NOW = 1_764_000_000.0
SECRET = "whsec_a_secret_of_decent_length"
EVENT = {"id": "evt_1", "type": "invoice.paid", "data": {"order": "4711"}}
BODY = json.dumps(EVENT).encode()


class StubIntake:
    """Files events in memory, as the gateway's does in the store."""

    def __init__(self) -> None:
        self.events: list[tuple[str, InboundEvent]] = []
        self.fails: Exception | None = None

    async def event(self, source: str, event: InboundEvent) -> str:
        if self.fails is not None:
            raise self.fails
        known = any((s, e.event_id) == (source, event.event_id) for s, e in self.events)
        if not known:
            self.events.append((source, event))
        return "duplicate" if known else "stored"


@dataclass
class Place:
    """A running channel and what it did."""

    session: ClientSession
    url: str
    intake: StubIntake
    channel: WebhooksChannel
    counted: list[tuple[str, str]] = field(default_factory=list)

    async def post(
        self, body: Any = BODY, *, source: str = "pay", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        if headers is None:
            headers = sign("stripe", [SECRET], body, now=NOW)
        headers = {"Content-Type": "application/json"} | headers
        async with self.session.post(
            f"{self.url}/hooks/{source}", data=body, headers=headers
        ) as response:
            return response.status, await response.json(), dict(response.headers)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    counted: list[tuple[str, str]] = []
    intake = StubIntake()
    hook = HookSource.build(
        id="pay",
        provider="stripe",
        secrets=[SECRET],
        correlation={"order": "data.order"},
        max_body=4096,
    )
    channel = WebhooksChannel(
        {"pay": hook},
        intake,  # type: ignore[arg-type]  # the one door that this channel knocks at
        lambda: NOW,
        lambda source, outcome: counted.append((source, outcome)),
        body_deadline=0.2,
    )
    app = web.Application()
    app.add_routes(channel.routes())
    await channel.start()
    async with TestServer(app) as server, ClientSession() as session:
        yield Place(session, str(server.make_url("")).rstrip("/"), intake, channel, counted)
    await channel.stop()


def assert_error(
    answer: tuple[int, dict[str, Any], dict[str, str]], status: int, code: str
) -> None:
    assert answer[0] == status
    assert ErrorEnvelope.model_validate(answer[1]).error == code


async def test_stored_then_duplicate(place: Place) -> None:
    assert (await place.post())[:2] == (200, {"status": "stored"})
    assert (await place.post())[:2] == (200, {"status": "duplicate"})
    [(source, event)] = place.intake.events
    assert source == "pay"
    assert (event.event_id, event.event_type) == ("evt_1", "invoice.paid")
    assert event.correlation == {"order": "4711"}
    assert event.raw == BODY
    assert place.counted == [("pay", "stored"), ("pay", "duplicate")]


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({}, "refused_missing"),
        ({"Stripe-Signature": "t=1,v1=00"}, "refused_mismatch"),
        ({"Stripe-Signature": "v1=00"}, "refused_malformed"),
        (sign("stripe", [SECRET], BODY, now=NOW - 301), "refused_stale"),
        (sign("stripe", [SECRET], BODY, now=NOW + 301), "refused_future"),
        (sign("stripe", ["whsec_another_secret"], BODY, now=NOW), "refused_mismatch"),
        (sign("stripe", [SECRET], BODY + b" ", now=NOW), "refused_mismatch"),
    ],
)
async def test_a_signature_that_does_not_hold(
    place: Place, headers: dict[str, str], outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await place.post(headers=headers)
    assert_error(answer, 401, "unauthenticated")
    assert answer[1] == (await place.post(headers={}))[1]  # the same words, whatever was wrong
    assert place.intake.events == []
    assert place.counted[0] == ("pay", outcome)
    assert "4711" not in caplog.text
    assert SECRET not in caplog.text


async def test_two_signature_headers_are_one_list(place: Place) -> None:
    good = sign("stripe", [SECRET], BODY, now=NOW)["Stripe-Signature"]
    headers = [
        ("Content-Type", "application/json"),
        ("Stripe-Signature", good),
        ("Stripe-Signature", "t=1,v1=0"),
    ]
    async with place.session.post(f"{place.url}/hooks/pay", data=BODY, headers=headers) as response:
        assert response.status == 401


async def test_an_unknown_source_has_one_constant_answer(place: Place) -> None:
    one = await place.post(source="nobody")
    other = await place.post(b"x" * 10_000, source="pay2")
    assert_error(one, 404, "not_found")
    assert one[:2] == other[:2]
    assert place.counted == [("unknown", "unknown_source")] * 2


async def test_coded_bodies_are_refused(place: Place) -> None:
    headers = sign("stripe", [SECRET], BODY, now=NOW) | {"Content-Encoding": "gzip"}
    assert_error(await place.post(headers=headers), 415, "unsupported_media_type")
    assert place.counted == [("pay", "unsupported")]
    headers["Content-Encoding"] = "identity"
    assert (await place.post(headers=headers))[0] == 200


async def test_a_form_is_told_what_to_change(place: Place) -> None:
    headers = sign("stripe", [SECRET], BODY, now=NOW)
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    answer = await place.post(headers=headers)
    assert_error(answer, 415, "unsupported_media_type")
    assert "application/json" in answer[1]["message"]


async def test_the_body_is_bounded_with_and_without_a_length(place: Place) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * 1024

    assert_error(await place.post(b"x" * 4097), 413, "payload_too_large")
    assert_error(await place.post(chunks(), headers={}), 413, "payload_too_large")
    assert_error(await place.post(b"x" * 4096, headers={}), 401, "unauthenticated")
    assert place.counted[:2] == [("pay", "too_large")] * 2


async def test_a_body_that_never_ends_is_given_up(place: Place) -> None:
    released = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await released.wait()

    answer = await place.post(slow(), headers={})
    released.set()
    assert_error(answer, 400, "validation_error")
    assert place.counted == [("pay", "incomplete")]


@pytest.mark.parametrize("body", [b'{"id":"evt_2","type":"x"}', b"not json", b'{"a":1,"a":1}'])
async def test_what_cannot_be_mapped_is_kept_and_not_retried(place: Place, body: bytes) -> None:
    assert (await place.post(body))[:2] == (200, {"status": "stored"})
    assert (await place.post(body))[:2] == (200, {"status": "duplicate"})
    [(_, event)] = place.intake.events
    assert event.event_type == UNMAPPED
    assert event.payload["reason"]
    assert event.raw == body
    assert place.counted == [("pay", "unmapped"), ("pay", "duplicate")]


async def test_a_store_that_is_away_asks_for_a_retry(place: Place) -> None:
    place.intake.fails = Refusal("sayso.unavailable", "the store does not answer; try again")
    answer = await place.post()
    assert_error(answer, 503, "sayso.unavailable")
    assert int(answer[2]["Retry-After"]) > 0
    place.intake.fails = None
    assert (await place.post())[:2] == (200, {"status": "stored"})
    assert place.counted == [("pay", "unavailable"), ("pay", "stored")]


async def test_a_defect_is_never_acknowledged(place: Place) -> None:
    place.intake.fails = RuntimeError("a defect")
    headers = {"Content-Type": "application/json"} | sign("stripe", [SECRET], BODY, now=NOW)
    async with place.session.post(f"{place.url}/hooks/pay", data=BODY, headers=headers) as response:
        assert response.status == 500
    assert place.counted == [("pay", "failed")]


async def test_only_post(place: Place) -> None:
    async with place.session.get(f"{place.url}/hooks/pay") as response:
        assert response.status == 405


async def test_it_shows_nothing_and_has_no_addresses(place: Place) -> None:
    card = Card("i", "approval", "open", 1, "title")
    with pytest.raises(DeliveryFailed) as failed:
        await place.channel.show(Delivery("x", card))
    assert failed.value.permanent
    with pytest.raises(ValueError, match="only receive"):
        place.channel.check_address("https://example.com/hook")
