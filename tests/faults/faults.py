"""What can go wrong, one function a fault. Each does its harm, waits until it was felt, and mends it.

None waits for a length of time: a fault lasts until a number of tries has failed, or the load is done in
spite of it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.acceptance.program import until
from tests.faults.proxy import Link
from tests.faults.world import AWAY, Replica, World

Felt = Callable[[int], Awaitable[None]]
"""Returns when so many more tries have failed, or the load is done."""
Fault = Callable[[World, random.Random, Felt], Awaitable[None]]


async def kill_gateway(world: World, chance: random.Random, felt: Felt) -> None:
    """SIGKILL of one program, in the middle of whatever it does."""
    program = chance.choice(world.replicas).program
    await program.kill()
    await felt(1)
    await program.start()


async def kill_both_gateways(world: World, chance: random.Random, felt: Felt) -> None:
    """Nobody is left; what is in the database is all there is."""
    programs = [replica.program for replica in world.replicas]
    await asyncio.gather(*(program.kill() for program in programs))
    await felt(chance.randint(1, 5))
    await asyncio.gather(*(program.start() for program in programs))


async def stop_gateway(world: World, chance: random.Random, felt: Felt) -> None:
    """SIGTERM, as a deployment does it."""
    program = chance.choice(world.replicas).program
    code = await program.stop()
    assert code == 0, f"it stopped with {code}:\n{program.output}"
    await felt(1)
    await program.start()


async def pause_gateway(world: World, chance: random.Random, felt: Felt) -> None:
    """SIGSTOP and SIGCONT: it comes back and believes that it still holds what it held."""
    process = chance.choice(world.replicas).program.process
    process.send_signal(signal.SIGSTOP)
    try:
        await felt(chance.randint(1, 3))
    finally:
        process.send_signal(signal.SIGCONT)


async def kill_valkey(world: World, _: random.Random, felt: Felt) -> None:
    """SIGKILL: every claim and lock is forgotten."""
    before = world.valkey.pid
    if before is not None:
        with suppress(ProcessLookupError):
            os.kill(before, signal.SIGKILL)
    await until(lambda: world.valkey.pid not in (None, before), "the next Valkey")
    await felt(0)


async def flush_valkey(world: World, _: random.Random, felt: Felt) -> None:
    """FLUSHALL: the same, and nobody notices."""
    client = Redis.from_url(world.valkey.url)
    with suppress(OSError, RedisError):  # it may just be starting again
        await client.flushall()
    await client.aclose()
    await felt(0)


async def kill_backend(world: World, chance: random.Random, felt: Felt) -> None:
    """SIGKILL of one connection's process: the server throws out everybody and recovers from its log."""
    pids = await _backends(world)
    if pids:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(pids), signal.SIGKILL)
    await felt(1)
    await until(lambda: _answers(world), "the database to have recovered")


async def terminate_backends(world: World, chance: random.Random, felt: Felt) -> None:
    """What an administrator or a failover does: connections end, some in the middle of a commit."""
    pids = await _backends(world)
    for pid in chance.sample(pids, chance.randint(0, len(pids))):
        with suppress(*AWAY):  # the fault before may still have an effect
            await world.rows("SELECT pg_terminate_backend($1)", pid)
    await felt(0)


async def crash_postgres(world: World, chance: random.Random, felt: Felt) -> None:
    """The server dies as a whole, and is started again after its clients have noticed."""
    await asyncio.to_thread(world.postgres.stop, "immediate")
    await felt(chance.randint(1, 6))
    await asyncio.to_thread(world.postgres.start)


async def restart_postgres(world: World, _: random.Random, felt: Felt) -> None:
    """An orderly restart, as for an upgrade."""
    await asyncio.to_thread(world.postgres.stop)
    await felt(1)
    await asyncio.to_thread(world.postgres.start)


async def cut_postgres(world: World, chance: random.Random, felt: Felt) -> None:
    """Connections of one replica, or of both, to the database are reset, and new ones too."""
    await _broken([r.postgres for r in _some(world, chance)], Link.cut, felt, chance.randint(1, 5))


async def cut_redis(world: World, chance: random.Random, felt: Felt) -> None:
    """The same to Valkey: nothing fails."""
    await _broken([r.redis for r in _some(world, chance)], Link.cut, felt, 1)


async def swallow_postgres(world: World, chance: random.Random, felt: Felt) -> None:
    """One replica's network to the database is a black hole."""
    link = chance.choice(world.replicas).postgres
    await _broken([link], Link.swallow, felt, 1)


async def swallow_redis(world: World, chance: random.Random, felt: Felt) -> None:
    """The network to Valkey is a black hole: every command runs into its deadline."""
    await _broken([r.redis for r in _some(world, chance)], Link.swallow, felt, 1)


async def delay(world: World, chance: random.Random, felt: Felt) -> None:
    """Everything from and to the servers is late, differently on each link."""
    links = [link for r in world.replicas for link in (r.postgres, r.redis)]
    for link in links:
        link.delay = chance.choice((0.0, 0.002, 0.02, 0.1))
    try:
        await felt(1)
    finally:
        for link in links:
            link.delay = 0.0


async def step_clock(world: World, chance: random.Random, felt: Felt) -> None:
    """One replica's clock is minutes off, and is put right again."""
    replica = chance.choice(world.replicas)
    replica.clock.offset = chance.choice((-1, 1)) * chance.randint(60_000, 600_000)
    try:
        await felt(1)
    finally:
        replica.clock.offset = 0


FAULTS: dict[Fault, int] = {
    kill_gateway: 5,
    kill_both_gateways: 1,
    stop_gateway: 3,
    pause_gateway: 3,
    kill_valkey: 5,
    flush_valkey: 6,
    kill_backend: 5,
    terminate_backends: 8,
    crash_postgres: 3,
    restart_postgres: 2,
    cut_postgres: 8,
    cut_redis: 4,
    swallow_postgres: 2,
    swallow_redis: 3,
    delay: 5,
    step_clock: 3,
}
"""Every fault and how often it is drawn; those that cost a program's start are rarer."""


def drawn(chance: random.Random, faults: Sequence[Fault] = ()) -> Fault:
    """One fault by weight, of all or of these."""
    pool = list(faults or FAULTS)
    return chance.choices(pool, [FAULTS[fault] for fault in pool])[0]


def _some(world: World, chance: random.Random) -> list[Replica]:
    return chance.choice(([world.replicas[0]], [world.replicas[1]], world.replicas))


async def _broken(
    links: list[Link], harm: Callable[[Link], None], felt: Felt, failures: int
) -> None:
    for link in links:
        harm(link)
    try:
        await felt(failures)
    finally:
        for link in links:
            link.heal()


async def _backends(world: World) -> list[int]:
    rows: list[Any] = []
    with suppress(*AWAY):
        rows = await world.rows(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'sayso' ORDER BY pid"
        )
    return [row[0] for row in rows]


async def _answers(world: World) -> bool:
    try:
        return bool(await world.rows("SELECT 1"))
    except AWAY:
        return False
