"""One way to the server for all commands: a deadline, a circuit breaker, and `AWAY`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Final

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ReadOnlyError,
    RedisError,
)

from host.coordination.circuit import Circuit

log = structlog.get_logger(__name__)


class Away(Enum):
    """The server did not answer in time, or can't do its work now."""

    AWAY = "away"


AWAY: Final = Away.AWAY

_NEVER: Final = (AuthenticationError, AuthorizationError)


class Connection:
    """Redis or Valkey behind a URL (`redis://`, `rediss://`, `unix://`).

    Every command has `deadline` seconds in all, connecting included. Refused connections, timeouts,
    and a server that says it can't (LOADING, READONLY, MISCONF, OOM, CLUSTERDOWN) are all `AWAY`.
    Raises `ValueError` for a URL that is none.
    """

    def __init__(self, url: str, *, deadline: float, connections: int, pause: float) -> None:
        self._deadline = deadline
        self._circuit = Circuit(pause)
        options: dict[str, Any] = {
            # No timeout of the library's own: for it, redis-py sends within `asyncio.wait_for`, which
            # in Python 3.11 loses a cancellation that comes as the sending ends. `call` has one.
            "socket_timeout": None,
            "socket_connect_timeout": deadline,
            "retry": Retry(NoBackoff(), 0),
            "max_connections": connections,
            "timeout": deadline,
        }
        try:
            pool = BlockingConnectionPool.from_url(url, **options)
        except ValueError:
            # The library's own text may quote the URL, and a URL may hold a password.
            raise ValueError(
                "The coordination URL must look like redis://host:6379/0, rediss://host:6380/0 "
                "or unix:///path."
            ) from None
        self.client: Redis = Redis.from_pool(pool)
        # Listeners hold a connection each; they must not take those of the commands.
        self._listeners = BlockingConnectionPool.from_url(url, **options)

    def listener(self) -> Redis:
        """A client for a subscription, which may be silent for long."""
        return Redis(connection_pool=self._listeners)

    async def start(self) -> None:
        """Connect. Raises `ValueError` only for credentials that the server refuses."""
        try:
            async with asyncio.timeout(self._deadline):
                await self.client.ping()
        except (RedisError, OSError, TimeoutError) as error:
            # The library raises a ConnectionError for refused credentials; the reason is its cause.
            if any(isinstance(e, _NEVER) for e in (error, error.__cause__)):
                await self.close()
                raise ValueError(
                    "The coordination server refuses the user or the password of its URL."
                ) from None
            self._failed("start", error)

    async def close(self) -> None:
        """Close every connection."""
        for pool in (self.client.connection_pool, self._listeners):
            try:
                await pool.disconnect()
            except (RedisError, OSError, TimeoutError):
                continue

    async def healthy(self) -> bool:
        """Whether the server answers a PING in time, whatever the circuit says."""
        try:
            async with asyncio.timeout(self._deadline):
                await self.client.ping()
        except (RedisError, OSError, TimeoutError) as error:
            self._failed("ping", error)
            return False
        self._succeeded()
        return True

    async def call(self, what: str, command: Callable[[], Awaitable[Any]]) -> Any:
        """The answer of one command, or `AWAY`. `what` names it in the log; never raises."""
        if not self._circuit.allows():
            return AWAY
        try:
            async with asyncio.timeout(self._deadline):
                answer = await command()
        except (RedisError, OSError, TimeoutError) as error:
            self._failed(what, error)
            if isinstance(error, ReadOnlyError):
                # A replica since a failover: connect again, to whoever is the primary now.
                await self.client.connection_pool.disconnect(inuse_connections=False)
            return AWAY
        self._succeeded()
        return answer

    def _succeeded(self) -> None:
        if self._circuit.succeeded():
            log.info("coordination.back")

    def _failed(self, what: str, error: Exception) -> None:
        if self._circuit.failed():
            # The kind alone: the text of an error may quote a command, and so a key.
            log.warning("coordination.away", command=what, error=type(error).__name__)
