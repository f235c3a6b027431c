"""The audit trail of a running gateway, and what `sayso audit` says of it, untouched and tampered with."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from schemas.ids import path_segment
from tests.acceptance.program import until
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]


async def taken_up(api: Api) -> None:
    """Returns when the trail has taken up all of the log."""
    store = api.gateway.host.store

    async def done() -> bool:
        return (await store.statistics.census(0, 10)).unaudited == 0

    await until(done, "the trail to take up the log")


async def lived(api: Api) -> None:
    """A run with a decision, one with a refusal and a cancelled question."""
    run = await api.run()
    await api.ask(run, approval(approversList=["robot"]))
    value = {"resumeValue": {"action": "accept"}}
    await api.call("POST", f"/runs/{run}/interrupts/gate", value)
    other = await api.run()
    await api.ask(other, approval(approversList=["ada"]))
    status, _, _ = await api.call("POST", f"/runs/{other}/interrupts/gate", value)
    assert status == 403
    await api.call("POST", f"/runs/{other}/cancel", {})
    await taken_up(api)


async def test_the_trail_follows_what_happens(api: Api) -> None:
    await lived(api)
    entries = await api.gateway.host.store.audit.entries("acme", 0, 100)
    assert [(e.number, e.what, e.by, e.via, e.because) for e in entries] == [
        (1, "requested", "robot", "", ""),
        (2, "decided", "robot", "api", "principal"),
        (3, "requested", "robot", "", ""),
        (4, "cancelled", "robot", "", ""),
        (5, "run-cancelled", "robot", "", ""),
    ]


async def test_what_a_fork_takes_over_is_nobodys_new_decision(api: Api) -> None:
    await lived(api)
    [decided] = [
        e for e in await api.gateway.host.store.audit.entries("acme", 0, 100) if e.what == "decided"
    ]
    run = path_segment(decided.run_id)
    for body in ({"mode": "branch", "fromSeq": decided.sequence + 1}, {"mode": "replay"}):
        status, made, _ = await api.call("POST", f"/runs/{run}:fork", body)
        assert status == 201
        if body["mode"] == "replay":  # its program asks what was never asked, under the same key
            await api.ask(path_segment(made["runId"]), approval(title="Something else"))
    await taken_up(api)
    entries = await api.gateway.host.store.audit.entries("acme", 0, 100)
    later = [e for e in entries if e.run_id != decided.run_id and e.what == "decided"]
    assert [(e.by, e.because) for e in later] == [("robot", f"copied:{decided.run_id}")] * 2


async def test_it_goes_on_after_a_restart(start: Start, tmp_path: Path) -> None:
    first = await start()
    await lived(first)
    await first.gateway.stop()
    again = await start(data_dir=first.gateway.settings.data_dir)
    await lived(again)
    entries = await again.gateway.host.store.audit.entries("acme", 0, 100)
    assert [e.number for e in entries] == list(range(1, 11))
    assert [e.before for e in entries[1:]] == [e.hash for e in entries[:-1]]


# --- the commands ---------------------------------------------------------------------------------


@pytest.fixture
async def folder(start: Start, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a gateway that lived and was stopped."""
    api = await start()
    await lived(api)
    await api.gateway.stop()
    found = api.gateway.settings.data_dir
    monkeypatch.setenv("SAYSO_DATA_DIR", str(found))
    monkeypatch.setenv("SAYSO_TENANT", "acme")
    return found


def sayso(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, list(arguments))
    return found.exit_code, found.stdout, found.stderr


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "sayso.db")) as database:
        for statement in statements:
            assert database.execute(statement).rowcount > 0, statement
        database.commit()


async def test_a_whole_trail_verifies(folder: Path) -> None:
    code, out, _ = await asyncio.to_thread(sayso, "audit", "verify")
    assert code == 0
    assert out.startswith("acme: 5 entries, whole, ends with 5:")
    code, exported, said = await asyncio.to_thread(sayso, "audit", "export", "--tenant", "acme")
    lines = [orjson.loads(line) for line in exported.splitlines()]
    assert [line["what"] for line in lines][:2] == ["requested", "decided"]
    assert said.strip() == f"acme ends with 5:{lines[-1]['hash']}"
    head = ["--tenant", "acme", "--head"]
    good = await asyncio.to_thread(sayso, "audit", "verify", *head, f"2:{lines[1]['hash']}")
    assert good[0] == 0
    bad = await asyncio.to_thread(sayso, "audit", "verify", *head, f"2:{'0' * 64}")
    assert (bad[0], "not the one written down" in bad[2]) == (1, True)
    cut = await asyncio.to_thread(sayso, "audit", "verify", *head, f"9:{'0' * 64}")
    assert (cut[0], "the end was cut off" in cut[2]) == (1, True)


TAMPERING = [
    (
        [
            "UPDATE audit SET body = replace(CAST(body AS TEXT), '\"robot\"', '\"alice\"') WHERE number = 2"
        ],
        "changed",
    ),
    (["DELETE FROM audit WHERE number = 2"], "missing or out of order"),
    (["DELETE FROM audit WHERE number = 5"], "has no entry"),
    (["DELETE FROM audit"], "has no entry"),
    (
        [
            "UPDATE audit SET number = 99 WHERE number = 1",
            "UPDATE audit SET number = 1 WHERE number = 2",
            "UPDATE audit SET number = 2 WHERE number = 99",
        ],
        "missing or out of order",
    ),
    (
        ["UPDATE log SET events = replace(CAST(events AS TEXT), '\"accept\"', '\"reject\"')"],
        "differs from its event",
    ),
    (["DELETE FROM log WHERE position = (SELECT max(position) FROM log)"], "no event in the log"),
]


@pytest.mark.parametrize(("statements", "words"), TAMPERING)
async def test_tampering_is_found(folder: Path, statements: list[str], words: str) -> None:
    change(folder, *statements)
    code, out, said = await asyncio.to_thread(sayso, "audit", "verify")
    assert code == 1, out
    assert words in said
    assert "acme" in said
