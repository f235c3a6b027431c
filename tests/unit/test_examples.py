"""The examples do what the README says they do, and are what it shows."""

from __future__ import annotations

import asyncio
import re
import runpy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from tests.fakes.sdk_gateway import KEY, Gateway

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
AGENT = ROOT / "examples" / "refund_agent.py"


@pytest.fixture
async def gateway(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    gateway = Gateway()
    async with TestServer(gateway.app()) as server:
        gateway.url = str(server.make_url("")).rstrip("/")
        monkeypatch.setenv("SAYSO_URL", gateway.url)
        monkeypatch.setenv("SAYSO_API_KEY", KEY)
        yield gateway


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_compiles(path: Path) -> None:
    compile(path.read_text("utf-8"), str(path), "exec")


def test_the_readme_shows_the_example() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert AGENT.read_text("utf-8") in blocks


def test_the_example_is_short() -> None:
    assert len(AGENT.read_text("utf-8").splitlines()) <= 25


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "accept", "decidedBy": "ada"}, "Refunding 4000.00, approved by ada.\n"),
        (
            {"action": "reject", "feedback": "Paid already."},
            "Not refunding: reject. Paid already.\n",
        ),
        ("expired", "Not refunding: timeout. \n"),
    ],
)
async def test_the_agent_does_what_was_decided(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], answer: Any, said: str
) -> None:
    gateway.answer = lambda kind, data: answer
    program = runpy.run_path(str(AGENT))
    await asyncio.to_thread(program["main"])
    assert capsys.readouterr().out == said
    [asked] = gateway.asked
    assert asked["payload"]["data"]["artifactData"] == program["ORDER"]


async def test_the_agent_asks_nobody_twice(
    gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway.answer = lambda kind, data: {"action": "accept", "decidedBy": "ada"}
    for _ in range(2):
        await asyncio.to_thread(runpy.run_path(str(AGENT))["main"])
    assert capsys.readouterr().out == "Refunding 4000.00, approved by ada.\n" * 2
    assert len(gateway.asked) == 1
