"""Wake-ups between replicas: announcements in pipelines, and listening that survives everything."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, Final

import structlog
from redis.asyncio.client import PubSub

from host.coordination.connection import AWAY, FAILURES, Connection

log = structlog.get_logger(__name__)

BUFFERED: Final = 10_000  # announcements; the oldest are dropped, since a reader looks at the store
QUIET: Final = 5.0  # seconds without a word after which a listener asks whether anyone is there
SLOWEST_RETRY: Final = 2.0  # seconds


class Announcer:
    """Sends announcements in the background. A reader that misses one looks at the store again at
    its next chance, so nothing here is worth waiting for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._buffer: deque[tuple[str, str]] = deque(maxlen=BUFFERED)
        self._filled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ending = False

    def start(self) -> None:
        """Begin sending."""
        self._ending = False
        self._task = asyncio.create_task(self._run(), name="coordination-announcer")

    async def stop(self) -> None:
        """Send what is buffered, once, and end."""
        if self._task is not None:
            self._ending = True
            self._task.cancel()
            await asyncio.wait((self._task,))
            self._task = None
            await self._flush()

    def add(self, key: str, message: str) -> None:
        """Put one announcement in the buffer."""
        self._buffer.append((key, message))
        self._filled.set()

    async def _run(self) -> None:
        while not self._ending:
            await self._filled.wait()
            self._filled.clear()
            try:
                while self._buffer and await self._flush():
                    pass
            except Exception as error:  # an error must not end the wake-ups of all replicas
                log.error("coordination.announcer_failed", error=type(error).__name__)

    async def _flush(self) -> bool:
        """Send one pipeline. False when the server is away; then those announcements are lost."""
        connection = self._connection
        most = min(connection.at_once, len(self._buffer))
        batch = [self._buffer.popleft() for _ in range(most)]
        if not batch:
            return True
        return await connection.call("publish", lambda: connection.publish(batch)) is not AWAY


async def listen(connection: Connection, key: str) -> AsyncGenerator[str, None]:
    """Raw messages of one channel; "" each time the subscription has just been made.

    Ends only when its reader does. Between two subscriptions messages may be lost, and "" says so.
    """
    failures = 0
    while True:
        pubsub = connection.pubsub()
        try:
            async with aclosing(_subscribed(pubsub, key)) as messages:
                async for message in messages:
                    failures = 0
                    yield message
        except FAILURES as error:
            failures += 1
            if failures == 1:
                log.warning("coordination.listener_lost", error=type(error).__name__)
        finally:
            with suppress(*FAILURES):
                await pubsub.aclose()  # type: ignore[no-untyped-call]
        slowest = min(SLOWEST_RETRY, 0.05 * 2 ** min(failures, 10))
        await asyncio.sleep(random.uniform(slowest / 2, slowest))  # noqa: S311 - jitter


async def _subscribed(pubsub: PubSub, key: str) -> AsyncGenerator[str, None]:
    """The messages of one subscription, until the connection is lost (raises `RedisError`)."""
    async with asyncio.timeout(QUIET):
        await pubsub.subscribe(key)
    asked = False
    while True:
        frame: dict[str, Any] | None = await pubsub.get_message(timeout=QUIET)
        if frame is None:
            if asked:
                raise TimeoutError("no answer to a ping")
            async with asyncio.timeout(QUIET):
                await pubsub.ping()
            asked = True
            continue
        asked = False
        if frame["type"] == "subscribe":
            yield ""
        elif frame["type"] == "message":
            yield frame["data"].decode("utf-8", "replace")
