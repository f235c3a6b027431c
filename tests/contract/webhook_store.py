"""What the suites of the outbound webhook store share: a store, subscriptions, runs with events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from host.decisions import request as asking
from host.decisions.evolve import evolve
from host.decisions.state import NewEvent, Run, State
from host.ids import bound
from host.store.port import Store
from host.store.postgres.store import PostgresStore
from host.store.records import Commit
from host.store.sqlite.store import SqliteStore
from host.store.webhooks import Delivery, Subscription

NOW = 1_789_128_000_000
LEASE = 60_000
STORES = ["sqlite", "postgres"]


@pytest.fixture
def sqlite(tmp_path: Path) -> Callable[[], Store]:
    return lambda: SqliteStore(tmp_path / "store.db")


@pytest.fixture
def postgres(postgres_url: str) -> Callable[[], Store]:
    return lambda: PostgresStore(postgres_url)


@pytest.fixture(params=STORES)
def opening(request: pytest.FixtureRequest) -> Callable[[], Store]:
    """Makes store objects on one and the same database."""
    chosen: Callable[[], Store] = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
async def store(opening: Callable[[], Store]) -> AsyncIterator[Store]:
    opened = opening()
    await opened.start()
    yield opened
    await opened.stop()


def subscription(tenant: str = "acme", at: int = NOW, **more: object) -> Subscription:
    base: dict[str, object] = {
        "webhook_id": bound(tenant, at),
        "url": "https://hooks.example.com/x",
        "events": ("run.started", "sayso.note"),
        "secret": "a-secret-of-the-test",
        "created_at": at,
    }
    return Subscription(**{**base, **more})  # type: ignore[arg-type]


async def subscribed(store: Store, **more: object) -> str:
    one = subscription(**more)  # type: ignore[arg-type]
    await store.subscriptions.add(one)
    return one.webhook_id


async def begin(
    store: Store, tenant: str = "acme", tags: tuple[str, ...] = (), replay_of: str | None = None
) -> State:
    run = Run(bound(tenant, NOW), "sayso.external", created_at=NOW, tags=tags, replay_of=replay_of)
    events = asking.start_run(run, {"a": 1})
    state = evolve(State(run), events, NOW)
    await store.log.append(Commit(state.run, 0, tuple(events), NOW))
    return state


async def note(store: Store, state: State, count: int = 1, kind: str = "sayso.note") -> State:
    """Append `count` events of a type at once."""
    events = [NewEvent(kind, {"n": n}) for n in range(count)]
    after = evolve(state, events, NOW)
    await store.log.append(Commit(after.run, state.run.version, tuple(events), NOW))
    return after


async def claim(store: Store, webhook_id: str, now: int = NOW, limit: int = 10) -> list[Delivery]:
    return await store.outbox.claim(webhook_id, now, LEASE, limit)


async def drain(store: Store, webhook_id: str) -> list[tuple[str, int]]:
    """(run, sequence) of all that is owed, as it would be delivered."""
    found = []
    while claimed := await claim(store, webhook_id, limit=1):
        for one in claimed:
            assert await store.outbox.delivered(one)
            found.append((one.run_id, one.sequence))
    return found
