"""Calls pure functions on strangers' mail in a process of their own.

A thread is not enough. A regular expression of a library holds the interpreter for as long as it takes: of a
signature over 40 KB of blanks, dkimpy's whitespace rule takes five seconds, and four times that for twice as
many, in which nothing else of a gateway runs. No thread can be stopped, and a parser written in C can take
the process with it. A child can be stopped: it has so much memory, so many seconds, no secrets in its
environment and nothing to talk to, and when it hangs or dies, the mail that did it is "unreadable" and the
next one gets a new child.

Children are started with the first mail and stay. What they answer is read as data of a few classes
(`_Answer`), so a child that was taken over can lie about a mail, and no more.
"""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog

from adapters.email.inbound.bounds import Unreadable

log = structlog.get_logger(__name__)

Call = Callable[..., Awaitable[Any]]
"""(function, arguments) -> its result, wherever it is computed; `asyncio.to_thread` is one too."""

SECONDS: Final = 10.0
"""For one call, by the clock. Honest mails take milliseconds, and a busy machine may be slow."""
START: Final = 60.0
CHILDREN: Final = 2
MEMORY: Final = 512 * 2**20
"""Bytes of address space of a child, and `PER_BYTE` for each that a mail may have."""
PER_BYTE: Final = 32
MOST: Final = 256 * 2**20
"""Bytes of an answer."""

_HEAD: Final = 4
_INBOUND: Final = "adapters.email.inbound"
_CLASSES: Final = {
    (f"{_INBOUND}.{module}", name)
    for module, name in (
        ("mime", "Part"),
        ("head", "Head"),
        ("body", "Body"),
        ("reading", "Reading"),
        ("commands", "Command"),
    )
}


class Confined:
    """Up to `CHILDREN` children. `max_bytes` is the largest mail, `seconds` what one call may take."""

    def __init__(self, max_bytes: int, seconds: float = SECONDS) -> None:
        self._memory = MEMORY + PER_BYTE * max_bytes
        self.seconds = seconds
        self._slots = asyncio.Semaphore(CHILDREN)
        self._idle: list[_Child] = []
        self._closed = False

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function of a module, called with what can be pickled. Raises `Unreadable` when
        it does, takes too long or too much memory, or kills its process; `OSError` when no child starts.
        """
        async with self._slots:
            warm = bool(self._idle)
            child = self._idle.pop() if warm else await self._started()
            try:
                return await self._asked(child, function, arguments)
            except EOFError:
                if not warm:
                    raise Unreadable("its reader ended while it was read") from None
            # It may have gone before it was asked: whether this mail is to blame, a new one will tell.
            child = await self._started()
            try:
                return await self._asked(child, function, arguments)
            except EOFError:
                raise Unreadable("its reader ended while it was read") from None

    async def close(self) -> None:
        """End the children; those that are at work when they are done."""
        self._closed = True
        while self._idle:
            await self._idle.pop().end()

    async def _asked(
        self, child: _Child, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        well = False
        try:
            async with asyncio.timeout(self.seconds):
                kind, value = await child.ask(function, arguments)
            well = kind in ("done", "unreadable")
        except TimeoutError:
            log.warning("mail.reader_stopped", function=function.__name__, seconds=self.seconds)
            raise Unreadable("it takes too long to read") from None
        finally:
            # Whoever was interrupted in the middle of an answer would give it to the next question.
            if well and not self._closed:
                self._idle.append(child)
            else:
                await child.end()
        if kind == "done":
            return value
        if kind == "unreadable":
            raise Unreadable(str(value))
        log.error("mail.reader_failed", function=function.__name__, error=str(value))
        raise Unreadable(f"its reader stumbled over it ({value})")

    async def _started(self) -> _Child:
        while self._idle:
            await self._idle.pop().end()
        child = await _Child.start(self._memory)
        log.info("mail.reader_started")
        return child


class _Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._to, self._from = process.stdin, process.stdout

    @classmethod
    async def start(cls, memory: int) -> _Child:
        """Raises `OSError`."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            f"{_INBOUND}.confined_child",
            str(memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Where our modules are, and nothing of our own environment: secrets are in it.
            env={"PYTHONPATH": os.pathsep.join(each or os.getcwd() for each in sys.path)},
        )
        child = cls(process)
        try:
            async with asyncio.timeout(START):
                kind, _ = await child._read()
        except (EOFError, TimeoutError):
            kind = ""
        if kind != "ready":
            await child.end()
            raise OSError("the process that reads mail does not start")
        return child

    async def ask(
        self, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[str, Any]:
        """(`done`, result), (`unreadable`, why) or (`broken`, what). Raises `EOFError` when it is gone."""
        asked = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        try:
            self._to.write(len(asked).to_bytes(_HEAD, "big"))
            self._to.write(asked)
            await self._to.drain()
        except ConnectionError:
            raise EOFError from None
        return await self._read()

    async def _read(self) -> tuple[str, Any]:
        length = int.from_bytes(await self._from.readexactly(_HEAD), "big")
        if length > MOST:
            raise EOFError
        raw = await self._from.readexactly(length)
        try:
            kind, value = _Answer(io.BytesIO(raw)).load()
        except Exception:  # whatever else came: no child of ours writes it
            raise EOFError from None
        return str(kind), value

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        self._to.close()
        await self._process.wait()


class _Answer(pickle.Unpickler):
    """Reads what a child answers: plain values and `_CLASSES`."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError("no class that a reader answers with")
        return super().find_class(module, name)
