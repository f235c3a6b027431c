"""DBOS on SQLite: a workflow that waits in `recv`, a `send` to it, its result.

In this process, without HTTP, with its defaults: it looks for messages once a second.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from dbos import DBOS, DBOSConfig, SetWorkflowID

NAME = "DBOS, SQLite"
PACKAGES = ("dbos",)


class Peer:
    def __init__(self, folder: Path) -> None:
        self._url = f"sqlite:///{folder / 'dbos.db'}"

    async def start(self) -> None:
        config: DBOSConfig = {
            "name": "bench",
            "system_database_url": self._url,
            "log_level": "ERROR",
        }
        DBOS(config=config)

        @DBOS.workflow()
        async def wait() -> str:
            return str(await DBOS.recv_async("answer", timeout_seconds=60))

        self._wait = wait
        DBOS.launch()

    async def trip(self, number: int) -> None:
        name = f"t{number}"
        with SetWorkflowID(name):
            handle = await DBOS.start_workflow_async(self._wait)
        await DBOS.send_async(name, "accept", "answer")
        assert await handle.get_result() == "accept"

    async def stop(self) -> None:
        await asyncio.to_thread(DBOS.destroy)
