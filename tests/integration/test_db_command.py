"""`sayso db`, and that commands which only look leave an older schema as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.listening import sole
from host.store.postgres.migrations import MIGRATIONS as POSTGRES
from host.store.sqlite.beside import version_of
from host.store.sqlite.store import MIGRATIONS as SQLITE
from tests.fakes.postgres import rows
from tests.integration.test_upgrades import old_postgres, old_sqlite

Sayso = Callable[..., Result]


@pytest.fixture(autouse=True)
def every_event_is_checked() -> None:
    """Not here: nothing is served."""


@pytest.fixture
def sayso(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sayso:
    """Runs a command on a data folder of the test's own."""
    monkeypatch.delenv("SAYSO_CONFIG", raising=False)
    monkeypatch.setenv("SAYSO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "300")
    return lambda *words: CliRunner().invoke(app, words)


async def schema(url: str) -> int:
    if not (await rows(url, "SELECT to_regclass('sayso_schema') IS NOT NULL"))[0][0]:
        return 0
    return int((await rows(url, "SELECT max(version) FROM sayso_schema"))[0][0])


async def test_postgres_is_upgraded_when_told_and_not_by_a_look(
    sayso: Sayso, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_STORE__URL", postgres_url)
    await old_postgres(postgres_url, 2)
    for look in (
        ["audit", "verify"],
        ["api-keys", "list"],
        ["events"],
        ["api-keys", "create", "x"],
    ):
        done = await asyncio.to_thread(sayso, *look)
        assert (done.exit_code, await schema(postgres_url)) == (1, 2), look
        assert "sayso db upgrade" in done.output
    status = await asyncio.to_thread(sayso, "db", "status")
    assert status.exit_code == 1
    assert f"schema 2, this Sayso knows {len(POSTGRES)}" in status.output
    done = await asyncio.to_thread(sayso, "db", "upgrade")
    assert (done.exit_code, done.output.strip()) == (0, f"schema 2 -> {len(POSTGRES)}")
    assert await schema(postgres_url) == len(POSTGRES)
    again = await asyncio.to_thread(sayso, "db", "upgrade")
    assert "nothing to do" in again.output
    assert (await asyncio.to_thread(sayso, "db", "status")).exit_code == 0
    assert (await asyncio.to_thread(sayso, "audit", "verify")).exit_code == 0


async def test_an_empty_postgres_gets_its_tables_by_the_first_key_alone(
    sayso: Sayso, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_STORE__URL", postgres_url)
    done = await asyncio.to_thread(sayso, "api-keys", "list")
    assert (done.exit_code, await schema(postgres_url)) == (1, 0)
    done = await asyncio.to_thread(sayso, "api-keys", "create", "agent")
    assert (done.exit_code, await schema(postgres_url)) == (0, len(POSTGRES))


def test_sqlite(sayso: Sayso, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    old_sqlite(data / "sayso.db", 1)
    done = sayso("audit", "verify")
    assert done.exit_code == 1
    assert "sayso db upgrade" in done.output
    with sole(data):
        done = sayso("db", "upgrade")
    assert done.exit_code == 1
    assert "Another Sayso runs" in done.output
    assert version_of(data / "sayso.db") == 1
    done = sayso("db", "upgrade")
    assert (done.exit_code, done.output.strip()) == (0, f"schema 1 -> {len(SQLITE)}")


def test_a_database_that_is_away_is_said_without_its_password(
    sayso: Sayso, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_STORE__URL", "postgresql://u:hunter2@127.0.0.1:1/d")
    done: Any = sayso("db", "status")
    assert done.exit_code == 1
    assert "hunter2" not in done.output
