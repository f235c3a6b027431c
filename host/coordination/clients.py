"""redis-py's clients for one server, a Sentinel's primary and a cluster, behind one shape.

Nothing here has a deadline or a retry of its own: `Connection` has the one deadline of a command, and what
fails is `AWAY` for a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster, SSLConnection
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import (
    MasterNotFoundError,
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from host.coordination.servers import Servers
from host.coordination.tls import sharing

_CHANNELS = 8  # of a cluster's node, for subscriptions beside what the commands have
_PIPELINE = 500  # announcements
_ONE_BY_ONE = 50  # announcements, which have one command's deadline together


@dataclass(frozen=True, slots=True)
class Clients:
    """`commands` is the client. `ping` asks every primary. `pubsub` makes a subscription, on a connection of
    its own. `publish` sends (channel, message)s in order, at most `at_once`. `look_again` forgets which
    server is the primary, and drops what is idle. `turn` bounds how many commands are under way."""

    commands: Redis | RedisCluster
    ping: Callable[[], Awaitable[Any]]
    pubsub: Callable[[], PubSub]
    publish: Callable[[list[tuple[str, str]]], Awaitable[None]]
    at_once: int
    look_again: Callable[[], Awaitable[None]]
    close: Callable[[], Awaitable[None]]
    turn: asyncio.Semaphore | None = None


def connect(servers: Servers, deadline: float, connections: int) -> Clients:
    """Clients that connect when they are used. `deadline` (seconds) is for one connecting."""
    common: dict[str, Any] = {
        # No timeout of the library's own: for it, redis-py sends within `asyncio.wait_for`, which in
        # Python 3.11 loses a cancellation that comes as the sending ends.
        "socket_timeout": None,
        "socket_connect_timeout": deadline,
        "retry": Retry(NoBackoff(), 0),
    }
    if servers.kind == "cluster":
        return _cluster(servers, common, connections)
    if servers.kind == "sentinel":
        return _sentinel(servers, common, deadline, connections)
    options = {**common, "max_connections": connections, "timeout": deadline, **servers.options}
    if servers.tls:
        options["connection_class"] = sharing(SSLConnection)
    return _pools(lambda: BlockingConnectionPool(**options))


def _sentinel(
    servers: Servers, common: dict[str, Any], deadline: float, connections: int
) -> Clients:
    to_sentinels = {**common, **(servers.sentinel or {}), "ssl": servers.tls}
    kind = sharing(SentinelManagedSSLConnection) if servers.tls else SentinelManagedConnection
    options = {
        **common,
        "connection_class": kind,
        "max_connections": connections,
        "timeout": deadline,
        **servers.options,
    }
    sentinels = _Sentinels(servers.hosts, sentinel_kwargs=to_sentinels)  # type: ignore[no-untyped-call]
    if servers.tls:
        shared = sharing(SSLConnection)
        for one in sentinels.sentinels:
            one.connection_pool.connection_class = shared
    found = _pools(lambda: _PrimaryPool(servers.name, sentinels, **options))  # type: ignore[no-untyped-call]

    async def close() -> None:
        await found.close()
        await sentinels.aclose()

    return replace(found, close=close)


def _pools(pool: Callable[[], BlockingConnectionPool]) -> Clients:
    commands = pool()
    # Listeners hold a connection each; they must not take those of the commands.
    listeners = pool()

    async def look_again() -> None:
        await commands.disconnect(inuse_connections=False)

    async def close() -> None:
        await asyncio.gather(commands.disconnect(), listeners.disconnect(), return_exceptions=True)

    async def publish(batch: list[tuple[str, str]]) -> None:
        pipeline = client.pipeline(transaction=False)
        for key, message in batch:
            pipeline.publish(key, message)
        await pipeline.execute()

    client = Redis.from_pool(commands)
    return Clients(
        client,
        client.ping,
        lambda: Redis(connection_pool=listeners).pubsub(),
        publish,
        _PIPELINE,
        look_again,
        close,
    )


def _cluster(servers: Servers, common: dict[str, Any], connections: int) -> Clients:
    client = RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in servers.hosts],
        max_connections=connections + _CHANNELS,
        ssl=servers.tls,
        **{**common, **servers.options},
    )
    if (
        servers.tls
    ):  # the library takes no class here: these are the nodes it begins with, and the later ones
        client.connection_kwargs["connection_class"] = shared = sharing(SSLConnection)
        for node in client.startup_nodes:
            node.connection_class = shared

    async def publish(batch: list[tuple[str, str]]) -> None:
        for key, message in batch:  # the library takes no PUBLISH in a cluster's pipeline
            await client.publish(key, message)

    # A node's pool raises when it is empty, where the other pools wait: so it never gets empty.
    return Clients(
        client,
        lambda: client.ping(target_nodes=RedisCluster.PRIMARIES),
        lambda: client.pubsub(),
        publish,
        _ONE_BY_ONE,
        client.aclose,
        client.aclose,
        asyncio.Semaphore(connections),
    )


class _PrimaryPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to whichever server the Sentinels call the primary; waits for a free one."""


class _Sentinels(Sentinel):
    """Asks all Sentinels at once and takes the first that knows. One after the other, as the library does,
    a Sentinel that hangs would cost the whole deadline of every command."""

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """The primary's address. Raises `MasterNotFoundError`."""
        asked = [asyncio.create_task(self._ask(one, service_name)) for one in self.sentinels]
        failure: Exception | None = None
        try:
            for answer in asyncio.as_completed(asked):
                try:
                    address = await answer
                except (RedisError, OSError) as error:
                    failure = error
                    continue
                if address is not None:
                    return address
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        raise MasterNotFoundError("no Sentinel knows a primary of this name") from failure

    async def _ask(self, sentinel: Redis, service_name: str) -> tuple[str, int] | None:
        masters: Any = await sentinel.sentinel_masters()
        state = masters.get(service_name)
        if not state or not self.check_master_state(state, service_name):
            return None
        return str(state["ip"]), int(state["port"])
