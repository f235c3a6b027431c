"""Traces: W3C trace context in and out, and spans when OpenTelemetry is installed and told where to send.

The extra `otel` brings the SDK; its own variables configure it (`OTEL_EXPORTER_OTLP_ENDPOINT`,
`OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, `OTEL_SDK_DISABLED`). Without either there are no spans, and a
caller's `traceparent` is still kept with what it asked and handed back to who waits. Spans carry kinds,
channels, codes and ids, and never what somebody wrote.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import Refusal

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_PARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})"
)
_FLUSH_SECONDS: Final = 5.0
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def traceparent(text: str) -> str:
    """A well-formed `traceparent` of version 00, or "" (W3C Trace Context, 3.2)."""
    found = _PARENT.fullmatch(text[:64])
    return f"00-{found[1]}-{found[2]}-{found[3]}" if found else ""


class Tracing:
    """Makes spans with `tracer`, or none without one. `stop` sends what is still here, and ends."""

    def __init__(
        self, tracer: Tracer | None = None, stop: Callable[[], None] | None = None
    ) -> None:
        self._tracer = tracer
        self.on = tracer is not None
        self.stop = stop or (lambda: None)

    async def flush(self) -> None:
        """Send the last spans and end, for as long as a stop may take and no longer."""
        # A thread that nobody waits for: an unreachable collector must not hold up the end.
        done = asyncio.Event()
        loop = asyncio.get_running_loop()

        def work() -> None:
            self.stop()
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=work, name="traces-flush", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await done.wait()

    def span(
        self, name: str, parent: str = "", link: str = "", **attributes: Any
    ) -> AbstractContextManager[Span]:
        """A span for the block, below `parent` (a traceparent; "" is the current span). Without a tracer
        its traceparent is that of `parent`."""
        if self._tracer is None:
            return nullcontext(Span(parent))
        return self._span(self._tracer, name, parent, link, attributes)

    @contextmanager
    def _span(
        self, tracer: Tracer, name: str, parent: str, link: str, attributes: Mapping[str, Any]
    ) -> Iterator[Span]:
        from opentelemetry import trace

        links = [trace.Link(_context(link))] if link else []
        above = (
            trace.set_span_in_context(trace.NonRecordingSpan(_context(parent))) if parent else None
        )
        with tracer.start_as_current_span(
            f"sayso.{name}",
            context=above,
            links=links,
            attributes=_named(attributes),
            record_exception=False,  # the text of an exception may quote what somebody wrote
            set_status_on_exception=False,
        ) as current:
            context = current.get_span_context()
            text = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
            try:
                yield Span(text, lambda found: current.set_attributes(_named(found)))
            except Exception as error:
                code = error.code if isinstance(error, Refusal) else type(error).__name__
                current.set_status(trace.Status(trace.StatusCode.ERROR, code))
                raise


class Span:
    """A span at work: its `traceparent`, and attributes that are known later."""

    __slots__ = ("_set", "traceparent")

    def __init__(
        self, traceparent: str, note: Callable[[Mapping[str, Any]], None] | None = None
    ) -> None:
        self.traceparent = traceparent
        self._set = note

    def note(self, **attributes: Any) -> None:
        """Add attributes."""
        if self._set is not None:
            self._set(attributes)


def from_environment() -> Tracing:
    """Traces as OpenTelemetry's variables say, none when there is no endpoint. Raises `ValueError` when
    there is one and the SDK is not installed."""
    wanted = any(os.environ.get(name) for name in _ENDPOINTS)
    if not wanted or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return Tracing()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ValueError(
            f"{_ENDPOINTS[0]} is set and OpenTelemetry is not installed: pip install "
            "'sayso-gateway[otel]', or unset it."
        ) from None

    name = os.environ.get("OTEL_SERVICE_NAME", "sayso-gateway")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider.get_tracer("sayso"), provider.shutdown)


def _context(text: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    _, trace_id, span_id, flags = text.split("-")
    return SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16))
    )


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """`http_route` is the attribute `http.route`; what has no name of the conventions is ours."""
    return {
        key.replace("_", ".", 1) if key.startswith("http_") else f"sayso.{key}": value
        for key, value in attributes.items()
    }
