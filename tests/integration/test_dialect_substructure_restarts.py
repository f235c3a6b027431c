"""Sessions over restarts and several gateways. Numbers: docs/dialects/substructure.md."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from host.coordination.embedded import EmbeddedValkey
from host.decisions.evolve import evolve
from host.decisions.session import WORKFLOW
from host.decisions.session_fold import fold
from host.decisions.state import Run, State
from host.history import all_events, told
from tests.fakes.session_worker import Worker
from tests.integration.conftest import Api
from tests.integration.session_world import (
    BASE,
    Start,
    client_of,
    opened,
    seed_worker,
    worker,
)

__all__ = ["worker"]


@pytest.fixture
async def shared(postgres_url: str, tmp_path: Path) -> AsyncIterator[dict[str, object]]:
    """The settings that two gateways of one deployment have in common."""
    server = EmbeddedValkey(tmp_path / "valkey")
    await server.start()
    yield {"store": {"url": postgres_url}, "redis": {"url": server.url}}
    await server.stop()


async def test_32_34_everything_is_there_after_a_restart(
    start: Start, worker: Worker, tmp_path: Path
) -> None:
    """An interrupt, an async tool and a held decision; the second gateway folds its log from zero."""
    data = tmp_path / "shared"
    api = await opened(start, worker, data_dir=data)
    client = await client_of(api)
    await client.say("bob@example.com", turn_id="turn-1")
    await client.interrupted()
    settle = {"type": "tool.result", "id": "call-bob@example.com", "result": "by hand"}
    await api.call("POST", f"{BASE}/machine/sessions/s1/calls/settle", settle)
    before, log = await client.look(), await client.log()
    assert before["waiting"]
    await api.gateway.stop()

    again = await opened(start, worker, data_dir=data)
    client = replace(client, api=again)
    assert await client.look() == before
    assert await client.log() == log
    worker.decide = lambda r: {} if r["trigger"]["type"] == "interrupt.resumed" else seed_worker(r)
    await client.resume("int-call-bob@example.com", None)
    session = await client.idle()
    assert session["messages"][-1]["content"] == "The tool said: by hand"
    assert worker.triggers.count("interrupt.resumed") == 1
    assert worker.triggers.count("tool.finished") == 1


async def live(api: Api, run_id: str) -> tuple[Any, ...]:
    """What a gateway has: the session in its memory, the run and its interrupts in its store."""
    host = api.gateway.host
    run = await host.store.log.run(run_id)
    assert run is not None
    page = await host.store.log.interrupts("acme", None, 100, None)
    interrupts = sorted(page.interrupts, key=lambda one: one.interrupt_id)
    return await host.sessions.of(run), run.version, run.status, run.open, interrupts


async def folded(api: Api, run_id: str) -> tuple[Any, ...]:
    """The same from the stored log alone, from its first event."""
    session, state = None, State(Run(run_id, WORKFLOW, created_at=0))
    for event in await all_events(api.gateway.host.store.log, run_id):
        session = fold(session, told(event))
        state = evolve(state, [told(event)], event.at)
    run, interrupts = state.run, sorted(state.interrupts, key=lambda one: one.interrupt_id)
    return session, run.version, run.status, run.open, interrupts


async def check_fold(api: Api, run_id: str) -> None:
    """Both, at one version: a worker may append in between."""
    kept, now = await folded(api, run_id), await live(api, run_id)
    while kept[1] != now[1]:
        await asyncio.sleep(0)
        kept, now = await folded(api, run_id), await live(api, run_id)
    assert kept == now


@pytest.fixture(params=["sqlite", "postgres"])
def chosen(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The settings of a gateway on each store."""
    there = {"data_dir": tmp_path / "shared"}
    if request.param == "sqlite":
        return there
    return there | {"store": {"url": request.getfixturevalue("postgres_url")}}


async def test_34_the_stored_log_folds_to_the_live_state(
    start: Start, worker: Worker, chosen: dict[str, Any]
) -> None:
    """After each step, and after a restart: parked, a result held, another branch, back, answered."""
    api = await opened(start, worker, **chosen)
    client = await client_of(api)
    await client.say("bob@example.com")
    await client.interrupted()
    session = await client.look()
    run_id, parked = session["run_id"], [m["id"] for m in session["messages"]]
    settle = {"type": "tool.result", "id": "call-bob@example.com", "result": "by hand"}
    for step in (
        lambda: api.call("POST", f"{BASE}/machine/sessions/s1/calls/settle", settle),
        lambda: client.view(new="eve@example.com"),
        lambda: client.until(lambda s: len(s["interrupts"]) == 2),
        lambda: client.resume("int-call-eve@example.com", {"approved": True}),
        lambda: client.until(lambda s: s["messages"][-1].get("content") == "The tool said: sent"),
        lambda: client.view(*parked),
        client.interrupted,
    ):
        await step()
        await check_fold(api, run_id)
    before = await live(api, run_id)
    session, _, _, waiting, interrupts = before
    assert len(session.nodes) > 4, "two branches"
    assert waiting
    assert [one.status for one in interrupts].count("resolved") == 1
    await api.gateway.stop()

    again = await opened(start, worker, **chosen)
    assert await live(again, run_id) == before
    assert await folded(again, run_id) == before
    client = replace(client, api=again)
    worker.decide = lambda r: {} if r["trigger"]["type"] == "interrupt.resumed" else seed_worker(r)
    await client.resume("int-call-bob@example.com", None)
    await client.idle()
    await check_fold(again, run_id)


async def test_13_of_fifty_resumes_at_two_gateways_one_counts(
    start: Start, worker: Worker, shared: dict[str, object], tmp_path: Path
) -> None:
    """The client token is good at both: replicas share their secret file."""
    api = await opened(start, worker, **shared, data_dir=tmp_path / "one")
    other = await opened(start, worker, **shared, data_dir=tmp_path / "one")
    client = await client_of(api)
    there = replace(client, api=other)
    await client.say("bob@example.com")
    await there.interrupted()
    answers = await asyncio.gather(
        *(
            (client, there)[n % 2].resume("int-call-bob@example.com", {"approved": True, "n": n})
            for n in range(50)
        )
    )
    assert {status for status, _ in answers} == {202}
    session = await there.idle()
    assert session["messages"][-1]["content"] == "The tool said: sent"
    types = Counter(e["type"] for e in await client.log())
    assert types["session.interrupt_resumed"] == 1
    assert await client.look() == await there.look()
    assert worker.triggers.count("interrupt.resumed") == 1


async def test_a_dead_gateway_s_question_is_taken_over(
    start: Start, worker: Worker, shared: dict[str, object], tmp_path: Path
) -> None:
    """It goes on at the other gateway, once the lease of the first has run out; its answer counts once."""
    settings = {**shared, "data_dir": tmp_path / "one", "substructure": {"timeout_seconds": 1}}
    api = await opened(start, worker, **settings)
    client = await client_of(api)
    worker.held = asyncio.Event()
    await client.say("bob@example.com")
    await worker.wait("session.start")
    deciders = next(
        t for t in asyncio.all_tasks() if "_work" in repr(t.get_coro()) and "Decid" in repr(t)
    )
    api.gateway.host.store.log.append = broken  # type: ignore[method-assign]
    deciders.cancel()
    other = await opened(start, worker, **settings)
    await worker.wait("session.start", 2)
    worker.held.set()
    session = await replace(client, api=other).interrupted()
    assert session["interrupts"]
    first, second = worker.requests[:2]
    assert first["decision_id"] == second["decision_id"]
    assert (first["attempts"], second["attempts"]) == (1, 2)


async def broken(commit: object) -> None:
    raise ConnectionError("this gateway is dead")


async def test_a_stopping_gateway_hands_its_question_back(
    start: Start, worker: Worker, shared: dict[str, object], tmp_path: Path
) -> None:
    settings = {**shared, "data_dir": tmp_path / "one", "substructure": {"timeout_seconds": 600}}
    api = await opened(start, worker, **settings)
    client = await client_of(api)
    worker.held = asyncio.Event()
    await client.say("bob@example.com")
    await worker.wait("session.start")
    other = await opened(start, worker, **settings)
    await api.gateway.stop()
    await worker.wait("session.start", 2)
    worker.held.set()
    assert (await replace(client, api=other).interrupted())["interrupts"]
