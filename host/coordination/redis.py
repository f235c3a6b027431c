"""The coordination port on Redis or Valkey.

Every key that belongs to one lock carries the same hash tag (`{name}`), so a script's keys live in
one slot of a cluster. Callers' keys (idempotency keys, event ids) are stored as digests: they may
be long, and a dump of the server must not show them.

Fences count up by INCR under a key of their own, which outlives the lock. When that key is missing
(the first grant, a flushed server, a server that keeps nothing on disk and was started again), the
count begins at the server's clock in microseconds. No lock is granted a million times a second, so
the count never catches up with the clock, and a fence granted later is the greater one as long as
that clock doesn't run backwards.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from hashlib import blake2b
from time import monotonic
from typing import Any, Final, Literal

import structlog

from host.coordination.announcer import Announcer, listen
from host.coordination.connection import AWAY, Connection
from host.coordination.port import Lease
from host.coordination.rates import RedisRates

log = structlog.get_logger(__name__)

FENCE_KEPT_MS: Final = 7 * 24 * 3_600 * 1_000
_POLL: Final = (0.01, 0.05)  # seconds between two tries for a lock that somebody else holds

_LOCK: Final = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
if redis.call('EXISTS', KEYS[2]) == 0 then
  local now = redis.call('TIME')
  redis.call('SET', KEYS[2], string.format('%.0f', now[1] * 1000000 + now[2]))
end
local fence = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return fence
"""
_RENEW: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_FREE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""


class RedisCoordination:
    """`host.coordination.port.Coordination` over a `url` of `host.coordination.servers`.

    `prefix` is in front of every key, so that several installations can share a server. `deadline`
    is what one command may take, in seconds; when the server is away, one command in `pause`
    seconds pays it and the others are answered at once. Raises `ValueError` for a URL that is
    none.
    """

    def __init__(
        self,
        url: str,
        prefix: str = "sayso",
        *,
        deadline: float = 0.25,
        connections: int = 16,
        pause: float = 1.0,
    ) -> None:
        self._prefix = prefix
        self._id = secrets.token_hex(8)
        self._connection = Connection(url, deadline=deadline, connections=connections, pause=pause)
        self._announcer = Announcer(self._connection)
        register = self._connection.client.register_script
        self._lock, self._renew, self._free = register(_LOCK), register(_RENEW), register(_FREE)
        self.rates = RedisRates(self._connection, self._key)

    async def start(self) -> None:
        """Connect. A server that is away is no error. Raises `ValueError` when it refuses us."""
        await self._connection.start()
        self._announcer.start()

    async def stop(self) -> None:
        """Send the last announcements and close. Each block gives back the lock that it holds."""
        await self._announcer.stop()
        await self._connection.close()

    async def healthy(self) -> bool:
        """Whether the server answers within the deadline."""
        return await self._connection.healthy()

    @property
    def untrusted(self) -> str:
        """Why the server's certificate is not trusted, if one was refused since a command succeeded."""
        return self._connection.untrusted

    async def claim(self, key: str, ttl: float) -> Literal["won", "taken", "away"]:
        """Claim a key for `ttl` seconds. A claim that got lost on its way back ends by itself."""
        name = self._key("claim", _digest(key))
        answer = await self._set_new("claim", name, ttl)
        return "away" if answer is AWAY else "won" if answer else "taken"

    async def release(self, key: str) -> None:
        """Give up a claim of this process; somebody else's stays."""
        name = self._key("claim", _digest(key))
        await self._script("release", self._free, [name], [self._id])

    async def first(self, key: str, ttl: float) -> bool:
        """Whether the key is new in `ttl` seconds; True when the server is away."""
        answer = await self._set_new("first", self._key("seen", _digest(key)), ttl)
        return answer is AWAY or bool(answer)

    async def announce(self, channel: str, message: str) -> None:
        """Tell the other replicas, soon. Returns at once."""
        self._announcer.add(self._key("channel", channel), f"{self._id}|{message}")

    async def listen(self, channel: str) -> AsyncGenerator[str, None]:
        """What other replicas announce.

        "" comes whenever the subscription has just been made, the first time too: whoever looks at
        the store then, and after every message, misses nothing.
        """
        async with aclosing(listen(self._connection, self._key("channel", channel))) as raws:
            async for raw in raws:
                sender, _, message = raw.partition("|")
                if sender != self._id:
                    yield message

    @asynccontextmanager
    async def lock(self, name: str, ttl: float, wait: float = 0.0) -> AsyncIterator[Lease | None]:
        """Hold `name` for the block, or get None.

        The lock is renewed every third of `ttl`. If it is lost all the same (the server was away
        for longer than `ttl`, or flushed), the block goes on and the log says so: what it protects
        tells late writes by their fence.
        """
        lease = await self._acquire(name, ttl, wait)
        if lease is None:
            yield None
            return
        over = asyncio.Event()
        renewal = asyncio.create_task(self._keep(lease, ttl, over), name=f"lease-{name}")
        try:
            yield lease
        finally:
            over.set()
            await asyncio.wait((renewal,))
            await self._script("unlock", self._free, self._lock_keys(name)[:1], [lease.owner])

    async def _acquire(self, name: str, ttl: float, wait: float) -> Lease | None:
        owner = f"{self._id}:{secrets.token_hex(8)}"
        keys = self._lock_keys(name)
        until = monotonic() + wait
        kept = FENCE_KEPT_MS + _ms(ttl)
        while True:
            answer = await self._script("lock", self._lock, keys, [owner, _ms(ttl), kept])
            if answer is AWAY:
                return None  # it may have been granted, and the answer lost: it ends with its ttl
            if answer:
                return Lease(name, int(answer), owner)
            left = until - monotonic()
            if left <= 0:
                return None
            await asyncio.sleep(min(left, random.uniform(*_POLL)))  # noqa: S311 - jitter

    async def _keep(self, lease: Lease, ttl: float, over: asyncio.Event) -> None:
        """Renew a lease until it is `over`, or lost."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ttl / 3):
                    await over.wait()
            if over.is_set():
                return
            keys = self._lock_keys(lease.name)[:1]
            answer = await self._script("renew", self._renew, keys, [lease.owner, _ms(ttl)])
            if answer is not AWAY and not answer:
                log.warning("coordination.lease_lost", name=lease.name, fence=lease.fence)
                return

    async def _set_new(self, what: str, name: str, ttl: float) -> Any:
        client = self._connection.client
        return await self._connection.call(
            what, lambda: client.set(name, self._id, nx=True, px=_ms(ttl))
        )

    async def _script(self, what: str, script: Any, keys: list[str], args: list[Any]) -> Any:
        return await self._connection.call(what, lambda: script(keys=keys, args=args))

    def _lock_keys(self, name: str) -> list[str]:
        # What is between the first braces decides the slot; with nothing in between, all of the key does.
        tag = "{" + (name.replace("{", "(").replace("}", ")") or "-") + "}"
        return [self._key("lock", tag), self._key("fence", tag)]

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}:{kind}:{name}"


def _digest(key: str) -> str:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _ms(seconds: float) -> int:
    """Whole milliseconds, at least one: Redis refuses a time to live of none."""
    return max(1, round(seconds * 1_000))
