"""The example's worker, started as its page says, at a real gateway."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.session_world import SECRET, Start, client_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "session_worker.py"


@pytest.fixture
async def url(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setenv("WORKER_SECRET", SECRET)
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLE),
        "0",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert program.stdout is not None
    yield (await program.stdout.readline()).decode().strip()
    program.terminate()
    await program.wait()


@pytest.mark.parametrize(
    ("secret", "payload", "said"),
    [
        (SECRET, {"approved": True}, "Your email: sent."),
        (SECRET, None, "Your email: declined."),
        ("another-secret-123456", None, None),
    ],
    ids=["approved", "declined", "a wrong secret"],
)
async def test_the_example_asks_and_goes_on(
    start: Start, url: str, secret: str, payload: Any, said: str | None
) -> None:
    agent = {"url": url, "secret": secret}
    api = await start(
        substructure={"agents": {"bot": agent}, "attempts": 1},
        egress={"allow": [url.rstrip("/")]},
    )
    client = await client_of(api)
    await client.say("Dear Bob")
    if said is None:
        assert (await client.idle())["messages"] == []
        return
    session = await client.interrupted()
    await client.resume(session["interrupts"][0]["interrupt_id"], payload)
    assert (await client.idle())["messages"][-1]["content"] == said
