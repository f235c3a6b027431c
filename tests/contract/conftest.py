"""Every store, so that one suite runs against all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from host.store.port import Store
from host.store.postgres.store import PostgresStore
from host.store.sqlite.store import SqliteStore


@pytest.fixture
def sqlite(tmp_path: Path) -> Callable[[], Store]:
    return lambda: SqliteStore(tmp_path / "store.db")


@pytest.fixture
def postgres(postgres_url: str) -> Callable[[], Store]:
    return lambda: PostgresStore(postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
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
