"""The embedded form: one `sayso dev` with SQLite and its own Valkey, killed and filled up over and over."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import secrets
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from tests.acceptance.program import Program, until
from tests.faults.checker import OverHttp
from tests.faults.load import STYLES, Case, Client, Play

pytestmark = pytest.mark.faults

RUNS = int(os.environ.get("SAYSO_FAULT_RUNS", "200")) // 20  # each starts a program
CASES = 8


@pytest.fixture
async def dev(tmp_path: Path) -> AsyncIterator[Program]:
    made = Program(tmp_path, "dev", "--no-sample", settings={"SAYSO_LOG_LEVEL": "error"})
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def only(dev: Program, session: aiohttp.ClientSession) -> Client:
    """A client of that one program, wherever it listens after a restart."""
    return Client(session, dev.key, lambda: [dev.url])


async def test_whatever_is_killed_what_was_acknowledged_is_there_once(
    dev: Program, only: Client
) -> None:
    seed = int(os.environ.get("SAYSO_FAULT_SEED") or secrets.randbits(32))
    print(f"SAYSO_FAULT_SEED={seed}")
    acknowledged = 0
    for number in range(RUNS):
        chance = random.Random(f"{seed}/{number}")
        cases = [Case(f"e{seed}-r{number}-c{n}", chance.choice(STYLES)) for n in range(CASES)]
        playing = asyncio.gather(*(Play(only, chance).case(case) for case in cases))
        await _begun(only, playing, chance.randint(0, 3 * CASES))
        if chance.random() < 0.7:
            await dev.kill()
            await dev.start()
        else:
            await _kill_valkey(dev)
        await playing
        await OverHttp(only, replicas=1).cases(cases, chance)
        await OverHttp(only, replicas=1).shown(cases, chance)
        acknowledged += sum(len(case.won) for case in cases)
    assert acknowledged >= RUNS
    assert only.failed > 0


async def test_a_full_disk_acknowledges_nothing_and_heals_without_a_restart(
    dev: Program, only: Client, session: aiohttp.ClientSession
) -> None:
    """No file of the process may grow any more: what SQLite is told is what a full disk tells it."""
    chance = random.Random(7)
    play = Play(only, chance)
    before = [Case(f"before-{n}", "left") for n in range(4)]
    await asyncio.gather(*(play.case(case) for case in before))
    largest = max(path.stat().st_size for path in dev.data.glob("sayso.db*"))
    pid = dev.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest, hard))
    cases = [Case(f"full-{n}", chance.choice(STYLES)) for n in range(20)]
    playing = asyncio.gather(*(play.case(case) for case in cases))
    await until(lambda: only.failed >= 10, "the store to refuse what it can't keep")
    assert dev.running
    full = "degraded: the store takes no changes"
    await until(lambda: _says(session, dev, full), "/readyz to tell of it")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
    await until(lambda: _says(session, dev, "ready"), "/readyz to be well again")
    await playing
    assert dev.process.pid == pid
    await OverHttp(only, replicas=1).cases([*before, *cases], chance)
    await OverHttp(only, replicas=1).shown([*before, *cases], chance)
    # And what is on the disk is what was said.
    await dev.kill()
    await dev.start()
    await OverHttp(only, replicas=1).cases([*before, *cases], chance)


async def _begun(client: Client, playing: asyncio.Future[Any], answers: int) -> None:
    goal = client.told + answers
    await until(lambda: client.told >= goal or playing.done(), f"{answers} answers")


async def _says(session: aiohttp.ClientSession, dev: Program, wanted: str) -> bool:
    async with session.get(f"{dev.url}/readyz") as response:
        return (await response.text()).strip() == wanted


async def _kill_valkey(dev: Program) -> None:
    """The private Valkey is started again by the gateway; meanwhile answers go on."""
    for child in dev.children():
        with suppress(psutil.Error):
            child.send_signal(signal.SIGKILL)
    await until(lambda: [c for c in dev.children() if c.is_running()], "the next Valkey")
