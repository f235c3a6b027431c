"""One trace holds the life of a question: asked, delivered, answered, resumed. With and without the SDK."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.tracing import Tracing, from_environment, traceparent
from schemas.ids import path_segment
from tests.acceptance.browser import Browser
from tests.acceptance.program import until
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Spans:
    """What a gateway's tracer has finished."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Tracing(provider.get_tracer("test"), provider.shutdown)

    def named(self, name: str, **attributes: str) -> list[ReadableSpan]:
        return [
            span
            for span in self.exporter.get_finished_spans()
            if span.name == f"sayso.{name}"
            and all(
                (span.attributes or {}).get(k.replace("__", ".")) == v
                for k, v in attributes.items()
            )
        ]

    def one(self, name: str, **attributes: str) -> ReadableSpan:
        [span] = self.named(name, **attributes)
        return span


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def linked(span: ReadableSpan) -> list[str]:
    return [f"{link.context.trace_id:032x}" for link in span.links]


@pytest.fixture
def spans() -> Spans:
    return Spans()


async def asked(api: Api, notify: list[str], **headers: str) -> dict[str, Any]:
    run = await api.run()
    body = {"nodeId": "gate", "payload": approval(), "notify": notify}
    path = f"/host/sayso/runs/{run}/interrupts"
    status, record, _ = await api.call("POST", path, body, headers=headers)
    assert status == 201
    return dict(record)


async def test_a_questions_life_is_one_trace(start: Start, spans: Spans) -> None:
    api = await start(tracing=spans.tracing)
    record = await asked(api, ["web:"], traceparent=PARENT)
    asking = spans.one("request", http__route="/host/sayso/runs/{runId}/interrupts")
    assert trace_of(asking) == TRACE
    assert asking.parent is not None
    assert f"{asking.parent.span_id:016x}" == "00f067aa0ba902b7"
    await until(lambda: bool(spans.named("deliver")), "the delivery's span")
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
    _, minted, _ = await api.call("POST", f"{path}/tokens", {"intent": "resolve"})
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        browser = Browser(session, api.gateway.url)
        page = await browser.read(minted["url"])
        status, _ = await browser.press(minted["url"], {"action": "accept"}, page.nonce)
        assert status == 303
    status, body, headers = await api.call("GET", f"{path}?wait=5")
    assert (status, body["status"]) == (200, "resolved")
    assert headers["traceparent"].split("-")[1] == TRACE  # the program goes on in its own trace
    deliver, resolve = spans.named("deliver")[0], spans.one("resolve")
    for span in (deliver, resolve):
        assert trace_of(span) == TRACE
        assert span.parent is not None
        assert asking.context is not None
        assert span.parent.span_id == asking.context.span_id
    click = spans.one("click")
    assert trace_of(click) != TRACE  # the person's browser is no part of the program's trace …
    assert linked(resolve) == [trace_of(click)]  # … and the answer says which click it was
    assert (resolve.attributes or {})["sayso.outcome"] == "decided"
    assert (resolve.attributes or {})["sayso.channel"] == "web"


async def test_a_wait_that_ends_is_a_span(start: Start, spans: Spans) -> None:
    api = await start(tracing=spans.tracing)
    record = await asked(api, [], traceparent=PARENT)
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
    waiting = asyncio.create_task(api.call("GET", f"{path}?wait=30"))
    topic = record["interruptId"]
    await until(lambda: topic in api.gateway.host.waiters._waiting, "the wait")
    run = path_segment(record["runId"])
    value = {"resumeValue": {"action": "accept"}}
    await api.call("POST", f"/runs/{run}/interrupts/gate", value)
    _, _, headers = await waiting
    assert headers["traceparent"].split("-")[1] == TRACE
    assert trace_of(spans.one("resume")) == TRACE
    [request] = [
        s
        for s in spans.named("request")
        if (s.attributes or {}).get("http.route", "").endswith("{nodeId}")
    ]
    assert linked(spans.one("resolve")) == [trace_of(request)]


async def test_a_refusal_is_an_error_with_its_code_alone(start: Start, spans: Spans) -> None:
    api = await start(tracing=spans.tracing)
    record = await asked(api, [])
    run = path_segment(record["runId"])
    secretive = {"resumeValue": {"action": "the-secret-wish"}}
    status, _, _ = await api.call("POST", f"/runs/{run}/interrupts/gate", secretive)
    assert status == 400
    span = spans.one("resolve")
    assert span.status.description == "validation_error"
    for one in spans.exporter.get_finished_spans():
        assert "the-secret-wish" not in one.to_json()
        assert api.key not in one.to_json()


async def test_without_a_tracer_the_callers_trace_is_handed_back(api: Api) -> None:
    record = await asked(api, [], traceparent=PARENT)
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}"
    _, _, headers = await api.call("GET", path)
    assert headers["traceparent"] == PARENT
    # It is in the record and not in the payload: no consumer of events sees it.
    run = path_segment(record["runId"])
    _, body, _ = await api.call("GET", f"/runs/{run}/events/poll?timeout=1")
    assert TRACE not in str(body)
    found = await asked(api, [])
    _, _, headers = await api.call(
        "GET", f"/host/sayso/interrupts/{path_segment(found['interruptId'])}"
    )
    assert "traceparent" not in headers


async def test_one_request_leaves_no_trace_on_the_next(api: Api) -> None:
    """Requests of one connection run in one task: what the first set must be gone."""
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(connector=connector) as session:
        one = Api(api.gateway, session)
        await asked(one, [], traceparent=PARENT)
        second = await asked(one, [])
        path = f"/host/sayso/interrupts/{path_segment(second['interruptId'])}"
        _, _, headers = await one.call("GET", path)
    assert "traceparent" not in headers


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (PARENT, PARENT),
        (PARENT.replace("00-", "cc-", 1), PARENT),  # of a later version: read as far as we know it
        ("", ""),
        (PARENT.replace("00-", "ff-", 1), ""),
        (PARENT.upper(), ""),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", ""),
        (f"00-{TRACE}-{'0' * 16}-01", ""),
        (PARENT + "-more", ""),
        (PARENT[:-1], ""),
        ("x" * 100_000, ""),
    ],
)
def test_only_a_well_formed_traceparent_is_taken(given: str, kept: str) -> None:
    assert traceparent(given) == kept


def test_nothing_is_traced_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    assert from_environment()._tracer is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert from_environment()._tracer is None
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    made = from_environment()
    assert made._tracer is not None
    made.stop()


def test_an_endpoint_without_the_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ValueError, match=r"sayso-gateway\[otel\]"):
        from_environment()
