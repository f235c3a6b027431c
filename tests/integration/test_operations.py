"""What an operator asks a running gateway: metrics, readiness, request ids."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.lifecycle import Gateway
from schemas.ids import path_segment
from tests.acceptance.browser import Browser
from tests.acceptance.program import until
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]
Sample = tuple[str, frozenset[tuple[str, str]]]


async def text(api: Api, path: str, **headers: str) -> tuple[int, str, Any]:
    async with api.session.get(api.gateway.url + path, headers=headers) as response:
        return response.status, await response.text(), response.headers


async def scrape(api: Api) -> dict[Sample, float]:
    """All samples by name and labels."""
    status, body, headers = await text(api, "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0.0)


def count_again(api: Api) -> None:
    """Let the next scrape count anew instead of showing what was counted a moment ago."""
    assert api.gateway.health is not None
    api.gateway.health._counted_at = -3600.0


async def test_answers_are_counted_by_outcome_and_channel(api: Api) -> None:
    run = await api.run()
    await api.ask(run, approval(requiredApprovals=2, approversList=["robot", "key:x"]))
    path = f"/runs/{run}/interrupts/gate"
    accept = {"resumeValue": {"action": "accept"}}
    status, _, _ = await api.call("POST", path, accept, headers={"Idempotency-Key": "k" * 22})
    assert status == 200
    await api.call("POST", path, accept, headers={"Idempotency-Key": "k" * 22})
    await api.call("POST", path, {"resumeValue": {"action": "nonsense"}})
    await api.call("POST", path, {"resumeValue": {"action": "reject"}})
    found = await scrape(api)

    def resolves(outcome: str, code: str = "") -> float:
        labels = {"channel": "api", "outcome": outcome, "code": code}
        return value(found, "sayso_resolves_total", **labels)

    assert resolves("vote") == 1
    assert resolves("replayed") == 1
    assert resolves("refused", "validation_error") == 1
    assert resolves("decided") == 1
    route = {"method": "POST", "route": "/runs/{runId}/interrupts/{nodeId}"}
    assert value(found, "sayso_requests_total", status="200", **route) == 3
    assert value(found, "sayso_requests_total", status="400", **route) == 1


async def test_a_persons_answer_is_timed_and_its_message_converges(api: Api) -> None:
    run = await api.run()
    asked = await api.ask(run, notify=["web:"])
    interrupt = path_segment(asked["interruptId"])

    async def shown() -> bool:
        _, body, _ = await api.call("GET", f"/host/sayso/interrupts/{interrupt}")
        return bool(body["messages"][0]["state"] == "shown")

    await until(shown, "the message to be shown")
    _, minted, _ = await api.call(
        "POST", f"/host/sayso/interrupts/{interrupt}/tokens", {"intent": "resolve"}
    )
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        browser = Browser(session, api.gateway.url)
        page = await browser.read(minted["url"])
        status, _ = await browser.press(minted["url"], {"action": "accept"}, page.nonce)
        assert status == 303
    await until(shown, "the outcome to be shown")
    found = await scrape(api)
    assert value(found, "sayso_resolves_total", channel="web", outcome="decided", code="") == 1
    assert value(found, "sayso_click_to_durable_seconds_count", channel="web") == 1
    assert 0 < value(found, "sayso_click_to_durable_seconds_sum", channel="web") < 10
    assert value(found, "sayso_convergence_seconds_count", channel="web") >= 1
    assert value(found, "sayso_deliveries_total", channel="web", outcome="shown") >= 1


async def test_what_there_is_to_do_is_counted(api: Api) -> None:
    run = await api.run()
    await api.ask(run)
    count_again(api)
    found = await scrape(api)
    assert value(found, "sayso_interrupts_pending", kind="approval") == 1
    assert value(found, "sayso_interrupts_pending", kind="custom") == 0
    for name in ("sayso_deadlines_late", "sayso_streams_open"):
        assert found[(name, frozenset())] == 0
    assert value(found, "sayso_waiters") >= 3  # the workers
    for part in ("store", "coordination"):
        assert value(found, "sayso_up", part=part) == 1
    for name in ("sayso_shelf_events", "sayso_messages", "sayso_outbox_deliveries"):
        assert (name, frozenset({("state", "due")})) in found
        assert name == "sayso_shelf_events" or (name, frozenset({("state", "dead")})) in found
    await api.call("POST", f"/runs/{run}/cancel", {})
    assert value(await scrape(api), "sayso_interrupts_pending", kind="approval") == 1  # cached
    count_again(api)
    assert value(await scrape(api), "sayso_interrupts_pending", kind="approval") == 0


async def test_the_event_loops_lag_is_measured(api: Api) -> None:
    async def measured() -> bool:
        return value(await scrape(api), "sayso_event_loop_lag_seconds_count") >= 2

    await until(measured, "two measurements")


async def test_refused_webhooks_are_counted_by_source_and_reason(start: Start) -> None:
    hook = {"provider": "stripe", "secrets": ["whsec_0123456789abcdef0123456789abcdef"]}
    api = await start(hooks={"shop": hook})
    async with api.session.post(api.gateway.url + "/hooks/shop", json={}) as response:
        assert response.status in (400, 401)
    async with api.session.post(api.gateway.url + "/hooks/nobody", data=b"{}") as response:
        assert response.status == 404
    labels = {
        dict(found)["source"]: dict(found)["outcome"]
        for name, found in await scrape(api)
        if name == "sayso_webhook_events_total"
    }
    assert labels["shop"].startswith("refused_")
    assert labels["unknown"] == "unknown_source"


async def test_no_metric_holds_what_a_tenant_sent(api: Api) -> None:
    run = await api.run()
    asked = await api.ask(run, approval("secretive-key", title="Secret title"), notify=["web:"])
    await api.call("GET", "/runs/zzz-not-an-id-zzz")
    await api.call("GET", "/nowhere/zzz-a-path-zzz")
    await api.call("PURGE", "/nowhere/zzz-a-path-zzz")
    _, body, _ = await text(api, "/metrics")
    for content in (
        run,
        asked["interruptId"],
        "acme",
        "Secret",
        "secretive",
        "zzz",
        "PURGE",
        api.key,
    ):
        assert content not in body, content
    assert 'route="unmatched"' in body
    assert 'method="other"' in body


async def test_ready_says_so_in_text_and_json(api: Api) -> None:
    assert (await text(api, "/readyz"))[:2] == (200, "ready\n")
    status, body, headers = await text(api, "/readyz", Accept="application/json")
    assert (status, body) == (200, '{"status":"ready"}')
    assert headers["Content-Type"].startswith("application/json")
    assert (await text(api, "/healthz"))[:2] == (200, "ok\n")


async def test_without_redis_it_is_degraded_and_serves(start: Start) -> None:
    api = await start(redis={"url": "redis://127.0.0.1:1/0"})
    assert (await text(api, "/readyz"))[:2] == (200, "degraded: redis\n")
    status, body, _ = await text(api, "/readyz", Accept="application/json")
    assert (status, body) == (200, '{"status":"degraded","reason":"redis"}')
    assert value(await scrape(api), "sayso_up", part="coordination") == 0
    await api.ask(await api.run())


async def test_without_its_store_it_is_not_ready(api: Api) -> None:
    await api.gateway.host.store.stop()

    async def away() -> bool:
        status, body, headers = await text(api, "/readyz")
        if status == 200:
            return False
        assert (status, body) == (503, "unavailable: the store is away\n")
        assert headers["Retry-After"] == "1"
        return True

    await until(away, "the store to be missed")
    assert (await text(api, "/healthz"))[0] == 200  # alive: a restart would not help
    assert value(await scrape(api), "sayso_up", part="store") == 0


@pytest.mark.parametrize("phase", ["starting", "stopping"])
async def test_while_it_starts_or_stops_it_is_not_ready(api: Api, phase: str) -> None:
    assert api.gateway.health is not None
    api.gateway.health.phase = phase
    status, body, headers = await text(api, "/readyz")
    assert (status, body, headers["Retry-After"]) == (503, f"unavailable: {phase}\n", "1")
    assert (await text(api, "/healthz"))[:2] == (503, f"{phase}\n")


async def test_stopping_is_told_before_the_door_closes(start: Start) -> None:
    api = await start()
    gateway: Gateway = api.gateway
    stopping = asyncio.create_task(gateway.stop())
    await asyncio.wait([stopping])
    assert gateway.health is not None
    assert gateway.health.phase == "stopping"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a1b2c3d4-0000", True),
        ("short", False),
        ("x" * 65, False),
        ("ow2.hs256.k.payload.mac", False),
        ("has space in it", False),
    ],
)
async def test_a_request_has_an_id(api: Api, given: str, kept: bool) -> None:
    _, _, headers = await api.call("GET", "/readyz-not", headers={"X-Request-Id": given})
    named = headers["X-Request-Id"]
    assert (named == given) is kept
    assert re.fullmatch(r"[A-Za-z0-9-]{8,64}", named)


async def test_a_stream_has_an_id_too(api: Api) -> None:
    run = await api.run()
    await api.call("POST", f"/runs/{run}/cancel", {})
    headers = {"Authorization": f"Bearer {api.key}", "X-Request-Id": "stream-0001"}
    url = f"{api.gateway.url}/runs/{run}/events"
    async with api.session.get(url, headers=headers) as response:
        assert response.headers["X-Request-Id"] == "stream-0001"
        assert b"run.cancelled" in await response.read()
