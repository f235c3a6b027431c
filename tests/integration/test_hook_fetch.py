"""Mollie's classic webhooks: what a call names is fetched, through the guard, and only that is believed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from adapters.channel import InboundEvent
from adapters.egress import Egress
from adapters.webhooks.app import WebhooksChannel
from adapters.webhooks.fetch_back import BURST, FetchBack
from adapters.webhooks.settings import HookSource
from schemas.errors import Refusal
from schemas.ids import path_segment
from tests.fakes.mollie import KEY, Mollie, payment
from tests.integration.conftest import Api

NOW = 1_764_000_000.0
FORM = "application/x-www-form-urlencoded"
NOTICE = b"id=tr_d0b0E3EA3v"
RECEIVED = {"status": "received"}


class Filed:
    """Files events in memory, as the gateway's intake does in the store."""

    def __init__(self) -> None:
        self.events: list[InboundEvent] = []
        self.fails: Exception | None = None

    async def event(self, source: str, event: InboundEvent) -> str:
        if self.fails is not None:
            raise self.fails
        known = any(one.event_id == event.event_id for one in self.events)
        if not known:
            self.events.append(event)
        return "duplicate" if known else "stored"


@dataclass
class Shop:
    """A channel with sources of Mollie's, and the Mollie that it asks."""

    session: ClientSession
    url: str
    mollie: Mollie
    filed: Filed
    channel: WebhooksChannel
    counted: list[str]
    clock: list[float] = field(default_factory=lambda: [NOW])

    async def call(
        self, body: bytes = NOTICE, source: str = "pay", kind: str = FORM, query: str = ""
    ) -> tuple[int, Any, Any]:
        url = f"{self.url}/hooks/{source}{query}"
        headers = {"Content-Type": kind}
        async with self.session.post(url, data=body, headers=headers) as response:
            return response.status, await response.json(), response.headers

    async def refused(self, outcome: str, status: int, code: str) -> None:
        """One call is refused so, and nothing is stored."""
        got, said, headers = await self.call()
        assert (got, said["error"], self.counted[-1]) == (status, code, outcome)
        assert int(headers["Retry-After"]) > 0
        assert self.filed.events == []


def source(name: str, *secrets: str, **more: Any) -> HookSource:
    return HookSource.build(
        id=name,
        provider="mollie_classic",
        secrets=secrets or [KEY],
        correlation={"order": "metadata.order"},
        **more,
    )


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    counted: list[str] = []
    clock = [NOW]
    filed = Filed()
    sources = [
        source("pay", mode="live", max_body=4096),
        source("turn", "live_" + "n" * 30, KEY),
        source("far"),
    ]
    async with Mollie() as mollie:
        mollie.put(payment())
        egress = Egress([mollie.url])
        await egress.start()
        channel = WebhooksChannel(
            {one.id: one for one in sources},
            filed,  # type: ignore[arg-type]  # the one door that this channel knocks at
            lambda: clock[0],
            lambda _, outcome: counted.append(outcome),
            fetching=FetchBack(egress, {"mollie_classic": mollie.url}),
        )
        app = web.Application()
        app.add_routes(channel.routes())
        async with TestServer(app) as server, ClientSession() as session:
            url = str(server.make_url("")).rstrip("/")
            yield Shop(session, url, mollie, filed, channel, counted, clock)
        await egress.stop()


async def test_what_is_fetched_is_the_event(shop: Shop) -> None:
    status, said, _ = await shop.call()
    assert (status, said) == (200, RECEIVED)
    [event] = shop.filed.events
    assert (event.event_id, event.event_type) == ("tr_d0b0E3EA3v:paid", "payment.paid")
    assert event.correlation == {"order": "7"}
    assert event.payload["amount"] == {"value": "10.00", "currency": "EUR"}
    assert json.loads(event.raw) == payment()  # kept: never fetched again
    assert shop.mollie.asked == ["/v2/payments/tr_d0b0E3EA3v"]
    assert shop.mollie.keys == [f"Bearer {KEY}"]


async def test_only_a_change_is_an_event(shop: Shop) -> None:
    for status in ("open", "open", "paid", "paid"):
        shop.mollie.put(payment(status=status))
        assert (await shop.call())[:2] == (200, RECEIVED)
    assert shop.counted == ["stored", "duplicate", "stored", "duplicate"]
    assert [one.event_type for one in shop.filed.events] == ["payment.open", "payment.paid"]


async def test_an_order_is_fetched_as_an_order(shop: Shop) -> None:
    shop.mollie.put(payment("ord_pbjz8x", resource="order"))
    assert (await shop.call(b"id=ord_pbjz8x"))[0] == 200
    assert shop.mollie.asked == ["/v2/orders/ord_pbjz8x"]
    assert shop.filed.events[0].event_type == "order.paid"


async def test_an_unknown_id_is_answered_like_a_known_one(shop: Shop) -> None:
    known = await shop.call()
    unknown = await shop.call(b"id=tr_unknown1")
    shop.mollie.answer = web.json_response({}, status=410)
    gone = await shop.call()
    assert known[:2] == unknown[:2] == gone[:2] == (200, RECEIVED)
    assert shop.counted == ["stored", "no_object", "no_object"]
    assert len(shop.filed.events) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"id=", b"tr_d0b0E3EA3v", b"id=tr_", b"id=sub_8JfGzs6v3K", b"id=tr_a/../../x",
        b"id=tr_d0b0%2F..%2Fme", b"id=tr_abcd%3Fa%3Db", b"id=tr_abcd%0d%0aHost:x", b"id=TR_abcd12",
        b"id=tr_abcd12&id=tr_abcd13", b"id=tr_" + b"a" * 65, b"id=tr_\xc3\xa4bcd",
        b"a=1&" * 9 + b"id=tr_abcd", b"id=https://evil.example/tr_abcd", b"id=tr_abcd%00",
        b'{"id":"tr_abcd12"}',
    ],
)  # fmt: skip
async def test_nothing_but_an_id_is_ever_asked_for(shop: Shop, body: bytes) -> None:
    status, said, _ = await shop.call(body)
    assert (status, said["error"]) == (400, "validation_error")
    assert shop.counted == ["refused_malformed"]
    assert shop.mollie.asked == []


async def test_nothing_of_a_call_but_the_id_counts(shop: Shop) -> None:
    body = NOTICE + b"&status=paid&testmode=1"
    shop.mollie.put(payment(status="failed"))
    assert (await shop.call(body, query="?testmode=true&url=http://evil.example"))[0] == 200
    assert shop.mollie.asked == ["/v2/payments/tr_d0b0E3EA3v"]
    assert [one.event_type for one in shop.filed.events] == ["payment.failed"]
    assert shop.filed.events[0].headers == {}
    assert (await shop.call(b'{"id":"tr_d0b0E3EA3v"}', kind="application/json"))[0] == 415


def redirect() -> web.Response:
    return web.Response(status=302, headers={"Location": "/v2/payments/tr_other1"})


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda: web.Response(status=500), "fetch_status"),
        (lambda: web.Response(status=429), "fetch_status"),
        (lambda: web.Response(status=401), "fetch_unauthorized"),
        (redirect, "fetch_status"),
        (lambda: web.Response(text="<html>"), "fetch_unreadable"),
        (lambda: web.json_response([payment()]), "fetch_unreadable"),
        (lambda: web.json_response(payment("tr_another1")), "fetch_unreadable"),
        (lambda: web.Response(body=b'{"id":"tr_d0b0E3EA3v","id":"x"}'), "fetch_unreadable"),
        (lambda: web.json_response(payment(note="x" * 5000)), "fetch_too_large"),
    ],
)
async def test_a_failed_fetch_asks_for_the_call_again(
    shop: Shop,
    answer: Callable[[], web.Response],
    outcome: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    shop.mollie.answer = answer()
    await shop.refused(outcome, 503, "sayso.unavailable")
    assert len(shop.mollie.asked) == 1  # no redirect was followed
    printed = capsys.readouterr()
    assert KEY not in caplog.text + printed.out + printed.err
    shop.mollie.answer = None
    assert (await shop.call())[:2] == (200, RECEIVED)
    assert len(shop.filed.events) == 1


async def test_a_mollie_that_does_not_answer_is_given_up(shop: Shop) -> None:
    shop.mollie.hold = asyncio.Event()
    egress = Egress([shop.mollie.url])
    await egress.start()
    origins = {"mollie_classic": shop.mollie.url}
    shop.channel.fetching = FetchBack(egress, origins, seconds=0.05)
    await shop.refused("fetch_timeout", 503, "sayso.unavailable")
    shop.mollie.hold.set()
    await egress.stop()


async def test_a_mollie_that_is_away(shop: Shop) -> None:
    await shop.mollie.__aexit__()
    await shop.refused("fetch_unreachable", 503, "sayso.unavailable")


@pytest.mark.parametrize("origin", ["", "https://[::ffff:127.0.0.1]", "https://mollie.internal"])
async def test_the_guard_stands_before_the_fetch(shop: Shop, origin: str) -> None:
    egress = Egress()  # the operator excepted nothing
    await egress.start()
    origins = {"mollie_classic": origin or shop.mollie.url}
    shop.channel.fetching = FetchBack(egress, origins)
    await shop.refused("fetch_blocked", 503, "sayso.unavailable")
    assert shop.mollie.asked == []
    await egress.stop()


async def test_a_new_key_and_an_old_one(shop: Shop) -> None:
    assert (await shop.call(source="turn"))[:2] == (200, RECEIVED)
    assert len(shop.mollie.keys) == 2
    assert len(shop.filed.events) == 1


async def test_a_test_payment_ends_no_live_wait(shop: Shop) -> None:
    shop.mollie.put(payment(mode="test"))
    assert (await shop.call())[:2] == (200, RECEIVED)
    assert shop.counted == ["unmapped"]
    assert "a test event at a source for live" in shop.filed.events[0].payload["reason"]


async def test_calls_of_a_source_have_a_rate(shop: Shop) -> None:
    for _ in range(BURST):
        assert (await shop.call(b"id=tr_unknown1"))[0] == 200
    await shop.refused("rate_limited", 429, "rate_limited")
    assert len(shop.mollie.asked) == BURST
    assert (await shop.call(b"id=nonsense"))[0] == 400
    assert (await shop.call(source="far"))[0] == 200  # others have their own
    shop.clock[0] += 0.25
    assert [(await shop.call())[0] for _ in range(2)] == [200, 429]
    shop.clock[0] -= 3600  # a clock that is set back gives nothing
    assert (await shop.call())[0] == 429
    shop.clock[0] += 0.25
    assert [(await shop.call())[0] for _ in range(2)] == [200, 429]


async def test_a_store_that_is_away_asks_for_the_call_again(shop: Shop) -> None:
    shop.filed.fails = Refusal("sayso.unavailable", "the store does not answer; try again")
    await shop.refused("unavailable", 503, "sayso.unavailable")


def test_a_source_that_cannot_ask_is_found_at_the_start() -> None:
    with pytest.raises(ValueError, match=r"hooks\.pay: mollie_classic"):
        WebhooksChannel(
            {"pay": source("pay")},
            Filed(),  # type: ignore[arg-type]  # never knocked at
            lambda: NOW,
            lambda _, __: None,
        )


async def test_a_payment_ends_the_wait_of_a_run(start: Callable[..., Awaitable[Api]]) -> None:
    """Through a whole gateway: anybody's call, the guard, Mollie, and one answer."""
    async with Mollie() as mollie:
        pay = {
            "provider": "mollie_classic",
            "secrets": [KEY],
            "correlation": {"order": "metadata.order"},
        }
        api = await start(hooks={"pay": pay}, egress={"allow": [mollie.url]})
        channel = api.gateway.channels["webhooks"]
        assert isinstance(channel, WebhooksChannel)
        assert channel.fetching is not None, "the gateway hands its guard down"
        channel.fetching = FetchBack(api.gateway.egress, {"mollie_classic": mollie.url})
        data = {"eventType": "payment.paid", "correlation": {"order": "7"}}
        asked = await api.ask(await api.run(), {"kind": "external-event", "key": "k", "data": data})
        for status in ("open", "paid", "paid"):
            mollie.put(payment(status=status))
            url = f"{api.gateway.url}/hooks/pay"
            headers = {"Content-Type": FORM}
            async with api.session.post(url, data=NOTICE, headers=headers) as response:
                assert (response.status, await response.json()) == (200, RECEIVED)
        path = f"/host/sayso/interrupts/{path_segment(asked['interruptId'])}?wait=20"
        _, record, _ = await api.call("GET", path)
        assert record["status"] == "resolved"
        assert record["resumeValue"] == payment()
        counts = [api.gateway.counts[("pay", one)] for one in ("stored", "duplicate")]
        assert counts == [2, 1]
