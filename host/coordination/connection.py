"""One way to the server for all commands: a deadline, a circuit breaker, and `AWAY`."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from typing import Any, Final

import structlog
from redis.asyncio.client import PubSub
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
)

from host.coordination.circuit import Circuit
from host.coordination.clients import connect
from host.coordination.servers import parse

log = structlog.get_logger(__name__)


class Away(Enum):
    """The server did not answer in time, or can't do its work now."""

    AWAY = "away"


AWAY: Final = Away.AWAY

_NEVER: Final = (AuthenticationError, AuthorizationError)
FAILURES: Final = (RedisError, RedisClusterException, OSError, TimeoutError)
"""What a command raises when the server, or the way to it, is to blame."""


class Connection:
    """Redis or Valkey behind a URL of `host.coordination.servers`.

    Every command has `deadline` seconds in all, connecting and finding the primary included. Refused
    connections, timeouts, and a server that says it can't (LOADING, READONLY, MISCONF, OOM, CLUSTERDOWN)
    are all `AWAY`. Raises `ValueError` for a URL that is none.
    """

    def __init__(self, url: str, *, deadline: float, connections: int, pause: float) -> None:
        self._deadline = deadline
        self._circuit = Circuit(pause)
        self._clients = connect(parse(url), deadline, connections)
        self.client = self._clients.commands
        self.publish, self.at_once = self._clients.publish, self._clients.at_once
        self._turn = self._clients.turn
        self._looking: asyncio.Task[None] | None = None
        self.untrusted = ""
        """Why the server's certificate is not trusted, if one was refused since a command succeeded."""

    def pubsub(self) -> PubSub:
        """A subscription, which may be silent for long."""
        return self._clients.pubsub()

    async def start(self) -> None:
        """Connect. Raises `ValueError` only for credentials that the server refuses."""
        try:
            async with asyncio.timeout(self._deadline):
                await self._clients.ping()
        except FAILURES as error:
            # The library raises a ConnectionError for refused credentials; the reason is its cause.
            if any(isinstance(e, _NEVER) for e in (error, error.__cause__)):
                await self.close()
                raise ValueError(
                    "The coordination server refuses the user or the password of its URL."
                ) from None
            self._failed("start", error)

    async def close(self) -> None:
        """Close every connection."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
        with suppress(*FAILURES):
            await self._clients.close()

    async def healthy(self) -> bool:
        """Whether the server answers a PING in time, whatever the circuit says."""
        try:
            async with asyncio.timeout(self._deadline):
                await self._clients.ping()
        except FAILURES as error:
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
                answer = await (command() if self._turn is None else self._in_turn(command))
        except FAILURES as error:
            self._failed(what, error)
            return AWAY
        self._succeeded()
        return answer

    def _succeeded(self) -> None:
        self.untrusted = ""
        if self._circuit.succeeded():
            log.info("coordination.back")

    async def _in_turn(self, command: Callable[[], Awaitable[Any]]) -> Any:
        assert self._turn is not None
        async with self._turn:
            return await command()

    def _failed(self, what: str, error: Exception) -> None:
        why = _untrusted(error)
        told, self.untrusted = why in ("", self.untrusted), why or self.untrusted
        if self._circuit.failed() or not told:
            # The kinds alone: the text of an error may quote a command, and so a key.
            under = error.__cause__ or error.__context__
            log.warning(
                "coordination.away",
                command=what,
                error=type(error).__name__,
                cause=type(under).__name__ if under is not None else "",
                **({"certificate": why} if why else {}),
            )
        # A server that hangs, or is a replica since a failover, may still have connections of ours that
        # look well. Let go of them, and ask anew who is the primary; not within this command's time.
        gone = isinstance(error, ReadOnlyError | TimeoutError)
        if gone and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_again(), name="coordination-look-again")

    async def _look_again(self) -> None:
        with suppress(*FAILURES):
            async with asyncio.timeout(self._deadline):
                await self._clients.look_again()


def _untrusted(error: BaseException | None) -> str:
    """What OpenSSL says of the certificate, if it is to blame: it names no more than the host."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return ""
