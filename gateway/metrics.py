"""The metrics of one gateway, in a registry of their own: what happened here, and what there is to do.

A label is one of a fixed set (a route's pattern, a channel, a registered error code, a state) or the name
that the operator gave a webhook source. Never an id, an address, a tenant or anything that somebody sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, Metric

from host.store.census import Census

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CHANNELS: Final = frozenset({"api", "token", "slack", "email", "web", "hook"})

_FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
_SLOW: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nobody reads

Counts = Callable[[], Mapping[tuple[str, str], int]]
Reasons = Callable[[], Mapping[str, int]]


class Metrics:
    """All instruments. `webhooks` gives counts by (source, outcome), `slack` refusals by reason."""

    def __init__(self, webhooks: Counts = dict, slack: Reasons = dict) -> None:
        registry = self.registry = CollectorRegistry(auto_describe=True)
        self._resolves = Counter(
            "sayso_resolves",
            "Answers by what became of them: decided, vote, noted, refused, replayed, unavailable.",
            ["channel", "outcome", "code"],
            registry=registry,
        )
        self._click = Histogram(
            "sayso_click_to_durable_seconds",
            "From the receipt of an answer to its being durable.",
            ["channel"],
            buckets=_FAST,
            registry=registry,
        )
        self._deliveries = Counter(
            "sayso_deliveries",
            "Attempts to show a message: shown, failed, dead; postponed: a rate limit's turn to wait for.",
            ["channel", "outcome"],
            registry=registry,
        )
        self._dead = Counter(
            "sayso_dead_letters",
            "Messages that can't be shown until somebody mends the reason (a channel's own word, or other).",
            ["channel", "reason"],
            registry=registry,
        )
        self._convergence = Histogram(
            "sayso_convergence_seconds",
            "From the last change of an interrupt to its message showing it.",
            ["channel"],
            buckets=_SLOW,
            registry=registry,
        )
        self._removed = Counter(
            "sayso_runs_removed", "Runs that retention has removed.", registry=registry
        )
        self._lag = Histogram(
            "sayso_event_loop_lag_seconds",
            "How late the event loop was with a timer.",
            buckets=_FAST,
            registry=registry,
        )
        self._gauges = _gauges(registry)
        # Counted without a lock: by the event loop alone, and read by it.
        self._answered: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self._settled: dict[tuple[str, str, str], Counter] = {}
        registry.register(_Read(webhooks, slack, self._answered))

    def requested(self, method: str, route: str, status: int) -> None:
        """One request was answered. `route` is the pattern."""
        known = method if method in METHODS else "other"  # a made-up method may not fill the memory
        self._answered[known, route, status] += 1

    def resolved(self, via: str, outcome: str, code: str = "") -> None:
        """One answer. `code` is the registered code of a refusal."""
        name = (channel_of(via), outcome, code)
        counter = self._settled.get(name)
        if counter is None:
            counter = self._settled[name] = self._resolves.labels(*name)
        counter.inc()

    def durable(self, via: str, seconds: float) -> None:
        """An answer of a person became durable, so long after its receipt."""
        self._click.labels(channel_of(via)).observe(seconds)

    def delivered(self, channel: str, outcome: str) -> None:
        """One attempt to show a message: shown, failed, postponed or dead."""
        self._deliveries.labels(channel_of(channel), outcome).inc()

    def died(self, channel: str, code: str) -> None:
        """A message is dead. `code` is one of a fixed set of words, or empty."""
        self._dead.labels(channel_of(channel), code or "other").inc()

    def converged(self, channel: str, seconds: float) -> None:
        """A message shows what changed so many seconds ago."""
        self._convergence.labels(channel_of(channel)).observe(seconds)

    def removed(self) -> None:
        """A run that was over for long has been removed."""
        self._removed.inc()

    def late(self, seconds: float) -> None:
        """The event loop came so late."""
        self._lag.observe(seconds)

    def take(self, census: Census) -> None:
        """Show these counts."""
        for name, counts in (
            ("interrupts_pending", census.pending),
            ("shelf_events", census.shelf),
            ("messages", census.messages),
            ("outbox_deliveries", census.outbox),
        ):
            for label, count in counts.items():
                self._gauges[name].labels(label).set(count)
        self._gauges["deadlines_late"].set(census.late)
        self._gauges["audit_behind"].set(census.unaudited)

    def up(self, part: str, well: bool) -> None:
        """Whether the store or the coordination answers, and whether the store takes changes."""
        self._gauges["up"].labels(part).set(well)

    def waiting(self, waiters: int, streams: int) -> None:
        """Who waits in this process for something to happen, and how many event streams are open."""
        self._gauges["waiters"].set(waiters)
        self._gauges["streams_open"].set(streams)

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


def channel_of(via: str) -> str:
    """The channel of an answer's `via`, out of a fixed set: `hook:shop` is "hook"."""
    name = via.partition(":")[0]
    return name if name in CHANNELS else "other"


def _gauges(registry: CollectorRegistry) -> dict[str, Gauge]:
    """What there is at this moment, by name without the prefix."""
    found = {}
    for name, text, labels in (
        ("interrupts_pending", "Open interrupts.", ["kind"]),
        ("deadlines_late", "Open interrupts whose deadline has passed.", []),
        ("shelf_events", "External events: due, shelved, parked, failed.", ["state"]),
        ("messages", "Messages: due now, or dead.", ["state"]),
        ("outbox_deliveries", "Outbound webhook deliveries: due now, or dead.", ["state"]),
        ("audit_behind", "Commits that the audit trail has not taken up yet.", []),
        (
            "up",
            "1 when it answers (store, coordination) or can be written to (store_changes).",
            ["part"],
        ),
        ("waiters", "Long polls, streams and workers that wait in this process.", []),
        ("streams_open", "Open event streams.", []),
    ):
        found[name] = Gauge(f"sayso_{name}", text, labels, registry=registry)
    return found


class _Read:
    """Counters that others keep, read at each scrape."""

    def __init__(
        self, webhooks: Counts, slack: Reasons, answered: Mapping[tuple[str, str, int], int]
    ) -> None:
        self._webhooks = webhooks
        self._slack = slack
        self._answered = answered

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily(
            "sayso_requests", "Requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in sorted(self._answered.items()):
            requests.add_metric([method, route, str(status)], count)
        yield requests
        events = CounterMetricFamily(
            "sayso_webhook_events",
            "Events at /hooks by what became of them; refusals carry their reason.",
            labels=["source", "outcome"],
        )
        for (source, outcome), count in sorted(self._webhooks().items()):
            events.add_metric([source, outcome], count)
        yield events
        refusals = CounterMetricFamily(
            "sayso_slack_refusals", "Requests refused at /slack/events.", labels=["reason"]
        )
        for reason, count in sorted(self._slack().items()):
            refusals.add_metric([reason], count)
        yield refusals
