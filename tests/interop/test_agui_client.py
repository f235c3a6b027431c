"""The published AG-UI client drives a pause and a resume, where it is installed: see the skip's text."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.session_worker import Worker
from tests.integration.conftest import start
from tests.integration.session_world import BASE, Start, client_of, opened, worker

__all__ = ["start", "worker"]

SCRIPT = Path(__file__).with_name("agui_client.mjs")
FOLDER = os.environ.get("SAYSO_AGUI_CLIENT", "")

pytestmark = pytest.mark.skipif(
    not FOLDER or shutil.which("node") is None,
    reason="set SAYSO_AGUI_CLIENT to a folder in which `npm install @ag-ui/client@1.0.0` was run",
)


async def test_a_pause_and_a_resume(start: Start, worker: Worker) -> None:
    api = await opened(start, worker)
    client = await client_of(api)
    url = f"{api.gateway.url}{BASE}/channels/ag-ui/agents/bot/run"
    node = await asyncio.create_subprocess_exec(
        "node", str(SCRIPT), FOLDER, url, client.token, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        out, _ = await node.communicate()
    steps: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert len(steps) == 6, steps
    for thread, said, (asked, cold, resumed) in (
        ("yes", "The tool said: sent", steps[:3]),
        ("no", "The tool said: declined", steps[3:]),
    ):
        name = f"int-call-m-{thread}"
        [entry] = asked["pending"]
        assert asked["error"] is None
        assert entry == {"id": name, "reason": "confirm", "message": "Send the email?"}
        assert name in cold["error"], "a client that forgot is told what is missing"
        assert (resumed["error"], resumed["pending"], resumed["said"][-1]) == (None, [], said)
