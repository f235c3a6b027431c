"""What other gateways are told of a change: what changed, and work where there is some."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from host.decisions.resolve import Answer
from host.decisions.state import Policy, Principal
from host.host import Host
from host.store.sqlite.store import SqliteStore
from schemas.payloads import check_payload
from schemas.runs import AskBody

ADA = Principal("ada", "acme", names=frozenset({"ada"}))
APPROVAL = {
    "kind": "approval",
    "key": "k",
    "data": {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept"]},
}
EVENT = {
    "kind": "external-event",
    "key": "k",
    "data": {"eventType": "paid", "correlation": {"order": "1"}},
}


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[tuple[Host, list[set[str]]]]:
    told: list[set[str]] = []

    async def announce(topics: Sequence[str]) -> None:
        told.append(set(topics))

    store = SqliteStore(tmp_path / "sayso.db")
    await store.start()
    yield Host(store, Policy(), lambda: 1_800_000_000_000, announce), told
    await store.stop()


@pytest.mark.parametrize(
    ("payload", "notify", "work"),
    [
        (APPROVAL, (), set()),
        (APPROVAL, ("web:",), {"messages"}),
        (EVENT, (), {"shelf"}),
        ({**APPROVAL, "timeoutMs": 1000}, (), {"deadlines"}),
    ],
    ids=["nobody is told", "somebody is told", "an event is awaited", "it has a deadline"],
)
async def test_a_worker_elsewhere_is_woken_for_work_alone(
    world: tuple[Host, list[set[str]]], payload: dict[str, Any], notify: tuple[str, ...], work: Any
) -> None:
    host, told = world
    body = AskBody.model_validate({"nodeId": "gate", "payload": payload})
    asked = await host.runs.ask(ADA, body, check_payload(payload), notify)
    assert told == [{asked.run_id, asked.interrupt_id} | work]
    value = {"action": "accept"} if payload["kind"] == "approval" else {"order": "1"}
    await host.resolve(asked.interrupt_id, Answer(ADA, value, "api"))
    assert told[1] == {asked.run_id, asked.interrupt_id} | (work & {"messages"})
