"""Follows one run's log and writes it to one reader, until the run ends, the reader goes or we stop.

A reader who doesn't read holds up to one page of events and is cut off after `PATIENCE_SECONDS`; it comes
back with `Last-Event-ID` and has missed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from gateway.streams.frames import Batch, Frame, Snapshots, event_frame
from gateway.streams.modes import FLUSHING_TYPES, TERMINAL_TYPES, Mode, admitting, is_update
from host.decisions.state import Run
from host.host import Host
from host.store.records import StoredEvent
from schemas.errors import Refusal
from schemas.versions import ProtocolVersion

KEEP_ALIVE_SECONDS: Final = 15.0
PATIENCE_SECONDS = 30.0
_PAGE: Final = 50
_LARGEST_BATCH: Final = 500


class Subscribers:
    """How many streams are open. A bound for resource protection, never a limit a run."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.open = 0

    @contextlib.contextmanager
    def seat(self) -> Iterator[None]:
        """One place. Raises `Refusal` (`rate_limited`) when all are taken."""
        if self.open >= self._most:
            raise Refusal(
                "rate_limited", "Too many event streams are open here. Try again, or poll instead."
            )
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader asked for. `after` is the sequence it has seen last; None shows everything."""

    modes: tuple[Mode, ...]
    buffer_ms: int
    after: int | None


class Stream:
    """One reader of one run. `response` is prepared."""

    def __init__(
        self, host: Host, response: web.StreamResponse, wanted: Wanted, version: ProtocolVersion
    ) -> None:
        self._host = host
        self._response = response
        self._wanted = wanted
        self._version = version
        self._seen = -1 if wanted.after is None else wanted.after
        self._batch = Batch()
        self._loop = asyncio.get_running_loop()
        self._written = self._loop.time()
        self._flush_at: float | None = None

    async def follow(self, run: Run, stopping: asyncio.Event) -> None:
        """Raises `ConnectionError` when the reader has gone, `TimeoutError` when it doesn't read."""
        cursor = min(self._seen, run.version - 1)
        snapshots = await self._snapshots(run, cursor)
        while not stopping.is_set():
            events = await self._host.wait_events(run.run_id, cursor, self._patience(), _PAGE)
            for event in events:
                await self._show(event, snapshots)
            if events:
                cursor = events[-1].sequence
            await self._flush_or_keep_alive()
            if any(event.type in TERMINAL_TYPES for event in events):
                break
        await self._flush()

    async def _snapshots(self, run: Run, cursor: int) -> Snapshots | None:
        """The state at the cursor, in the mode `values`; a reader that resumes gets it at once."""
        if self._wanted.modes != ("values",):
            return None
        snapshots, at = Snapshots(run), -1
        while at < cursor:
            for event in await self._host.store.log.events(run.run_id, at, _PAGE):
                at = event.sequence
                if at <= cursor:
                    snapshots.fold(event)
        if self._wanted.after is not None and cursor >= 0:
            await self._write(snapshots.frame())
        return snapshots

    async def _show(self, event: StoredEvent, snapshots: Snapshots | None) -> None:
        if snapshots is not None:
            snapshots.fold(event)
            if is_update(event.type) and event.sequence > self._seen:
                await self._write(snapshots.frame())
            return
        if event.sequence <= self._seen:
            return
        if self._wanted.buffer_ms == 0:
            frame = event_frame(event, self._wanted.modes, self._version)
            if frame is not None:
                await self._write(frame)
            return
        if admitting(self._wanted.modes, event.type) is not None:
            self._batch.add(event, self._version)
            if self._flush_at is None:
                self._flush_at = self._loop.time() + self._wanted.buffer_ms / 1000
        if event.type in FLUSHING_TYPES or len(self._batch.docs) >= _LARGEST_BATCH:
            await self._flush()

    def _patience(self) -> float:
        """Seconds until something must be written: what is buffered, or a sign of life."""
        until = self._written + KEEP_ALIVE_SECONDS
        if self._flush_at is not None:
            until = min(until, self._flush_at)
        return max(until - self._loop.time(), 0.0)

    async def _flush_or_keep_alive(self) -> None:
        now = self._loop.time()
        if self._flush_at is not None and now >= self._flush_at:
            await self._flush()
        elif now >= self._written + KEEP_ALIVE_SECONDS:
            await self._send(b": keep-alive\n\n")

    async def _flush(self) -> None:
        self._flush_at = None
        if self._batch.docs:
            await self._write(self._batch.take())

    async def _write(self, frame: Frame) -> None:
        await self._send(frame.encode())

    async def _send(self, raw: bytes) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._response.write(raw)
        self._written = self._loop.time()
