"""The metrics by themselves, and that dashboard and documentation name what exists and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.channel import DeliveryFailed
from gateway.metrics import Metrics, channel_of
from gateway.watch import Watch, last_change
from host.decisions.state import Interrupt, Outcome, Question, Vote
from host.store.census import Census

DOCS = Path(__file__).parents[2] / "docs"
_NAME = re.compile(r"\bsayso_[a-z_]+")


def exercised() -> Metrics:
    """Every instrument with a sample."""
    metrics = Metrics(lambda: {("shop", "stored"): 3}, lambda: {"signature": 2})
    metrics.requested("GET", "/runs/{runId}", 200)
    metrics.resolved("slack", "refused", "forbidden")
    metrics.durable("slack", 0.02)
    metrics.delivered("email", "shown")
    metrics.died("slack", "is_archived")
    metrics.converged("email", 1.5)
    metrics.removed()
    metrics.late(0.001)
    metrics.take(
        Census(
            pending={"approval": 2},
            late=1,
            shelf={"due": 0, "shelved": 5, "parked": 0, "failed": 1},
            messages={"due": 1, "dead": 2},
            outbox={"due": 3, "dead": 4},
            unaudited=6,
        )
    )
    metrics.up("store", True)
    metrics.up("coordination", False)
    metrics.waiting(7, 8)
    return metrics


def samples(metrics: Metrics) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    found: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def test_what_was_told_is_shown() -> None:
    found = samples(exercised())
    state = frozenset({("state", "dead")})
    assert found["sayso_messages"][state] == 2
    assert found["sayso_outbox_deliveries"][state] == 4
    assert found["sayso_shelf_events"][frozenset({("state", "failed")})] == 1
    assert found["sayso_interrupts_pending"][frozenset({("kind", "approval")})] == 2
    assert found["sayso_webhook_events_total"] == {
        frozenset({("source", "shop"), ("outcome", "stored")}): 3
    }
    assert found["sayso_slack_refusals_total"] == {frozenset({("reason", "signature")}): 2}
    assert found["sayso_up"][frozenset({("part", "coordination")})] == 0
    assert [found[f"sayso_{n}"][frozenset()] for n in ("deadlines_late", "audit_behind")] == [1, 6]
    assert [found[f"sayso_{n}"][frozenset()] for n in ("waiters", "streams_open")] == [7, 8]


def test_two_gateways_in_one_process_count_for_themselves() -> None:
    first, second = Metrics(), Metrics()
    first.late(0.1)
    assert samples(first)["sayso_event_loop_lag_seconds_count"][frozenset()] == 1
    assert samples(second)["sayso_event_loop_lag_seconds_count"][frozenset()] == 0


@pytest.mark.parametrize(
    ("via", "channel"),
    [
        ("slack", "slack"),
        ("hook:shop", "hook"),
        ("api", "api"),
        ("ada@example.com", "other"),
        ("", "other"),
    ],
)
def test_a_channel_is_one_of_a_fixed_set(via: str, channel: str) -> None:
    assert channel_of(via) == channel


def test_the_last_change_is_whatever_came_last() -> None:
    asked = Interrupt("t/i", "t/r", "n", "k", "approval", {}, requested_at=10)
    assert last_change(asked) == 10
    vote, question = Vote("ada", "Ada", "accept", 30), Question("bob", "Bob", "?", 40)
    asked = replace(asked, votes=(vote,), questions=(question,))
    assert last_change(asked) == 40
    assert last_change(replace(asked, outcome=Outcome(at=50))) == 50


@pytest.mark.parametrize("error", [DeliveryFailed("no"), TimeoutError(), ZeroDivisionError()])
def test_every_way_of_failing_is_counted(error: Exception) -> None:
    watch = Watch()
    asked = Interrupt("t/i", "t/r", "n", "k", "approval", {}, requested_at=1000)
    with pytest.raises(type(error)), watch.delivering("slack", asked):
        raise error
    with watch.delivering("slack", asked):
        watch.shown("slack", asked, 3500)
    found = samples(watch.metrics)
    for outcome in ("failed", "shown"):
        labels = frozenset({("channel", "slack"), ("outcome", outcome)})
        assert found["sayso_deliveries_total"][labels] == 1
    assert found["sayso_convergence_seconds_sum"][frozenset({("channel", "slack")})] == 2.5


# --- what is said of them -------------------------------------------------------------------------


def expressions() -> list[str]:
    board: dict[str, Any] = json.loads((DOCS / "grafana.json").read_text("utf-8"))
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [*found, *(v["query"] for v in board["templating"]["list"] if v["type"] == "query")]


def test_the_dashboard_names_only_metrics_that_exist() -> None:
    there = set(samples(exercised()))
    for expression in expressions():
        named = set(_NAME.findall(expression))
        assert named, expression
        assert named <= there, expression


def test_the_dashboard_filters_only_by_labels_that_exist() -> None:
    labels = {
        name: {label for each in values for label, _ in each} | {"instance"}
        for name, values in samples(exercised()).items()
    }
    for expression in expressions():
        for name, inside in re.findall(r"(sayso_[a-z_]+)\{([^}]*)\}", expression):
            used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside))
            assert used <= labels[name], expression


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {name for expression in expressions() for name in _NAME.findall(expression)}
    there = {re.sub(r"_(count|sum)$", "_bucket", name) for name in samples(exercised())}
    assert there - shown == set()


def test_the_page_names_every_metric_and_no_other() -> None:
    page = (DOCS / "operating.md").read_text("utf-8")
    named = set(_NAME.findall(page))
    there = set(samples(exercised()))
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in there}
    assert {n for n in named if n not in there | families} - {"sayso_key_", "sayso_dev_"} == set()
    table = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `sayso_")}
    assert families == table
