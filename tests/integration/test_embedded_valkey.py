"""The private Valkey, and the coordination on it, when things break."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from time import monotonic

import pytest
from redis.asyncio import Redis

from host.coordination.embedded import SOCKET_PATH_LIMIT, EmbeddedValkey
from host.coordination.port import Allowance
from host.coordination.redis import RedisCoordination


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await check():
            await asyncio.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether the process runs. A zombie, whose parent has not looked yet, doesn't."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def coordination(valkey: EmbeddedValkey) -> AsyncIterator[RedisCoordination]:
    made = RedisCoordination(valkey.url, deadline=0.5, pause=0.05)
    await made.start()
    yield made
    await made.stop()


async def test_it_is_private_bounded_and_keeps_nothing(
    valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    client = Redis.from_url(valkey.url)
    settings = await client.config_get("*")
    await client.aclose()
    assert settings["port"] == "0"
    assert settings["save"] == ""
    assert settings["appendonly"] == "no"
    assert settings["maxmemory"] == str(64 * 2**20)
    assert settings["maxmemory-policy"] == "noeviction"
    home = tmp_path / "valkey"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "valkey.sock").stat().st_mode) == 0o600


async def test_stop_leaves_no_process_and_no_socket(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path)
    await server.start()
    pid = server.pid
    assert pid is not None
    assert alive(pid)
    await server.stop()
    assert not alive(pid)
    assert server.pid is None
    assert not (tmp_path / "valkey" / "valkey.sock").exists()
    await server.stop()  # a second stop is no error


async def test_it_starts_again_after_a_stop(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path)
    for _ in range(2):
        await server.start()
        assert server.pid is not None
        await server.stop()


async def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path / ("d" * 120))
    await server.start()
    path = Path(server.url.removeprefix("unix://"))
    try:
        assert len(os.fsencode(path)) <= SOCKET_PATH_LIMIT
        assert path.is_socket()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        await server.stop()
    assert not path.parent.exists()


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    home = tmp_path / "valkey"
    home.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home / "valkey.sock"))
    server = EmbeddedValkey(tmp_path)
    await server.start()
    assert server.pid is not None
    await server.stop()


async def test_one_directory_serves_one_gateway(valkey: EmbeddedValkey, tmp_path: Path) -> None:
    second = EmbeddedValkey(tmp_path)
    with pytest.raises(RuntimeError, match="own data directory"):
        await second.start()
    await second.stop()  # must not take the first one's socket away
    assert second.pid is None
    client = Redis.from_url(valkey.url)
    assert await client.ping()
    await client.aclose()


async def test_a_server_that_cannot_start_is_a_clear_error(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path, memory="not a size")
    with pytest.raises(RuntimeError, match=r"valkey\.log says why"):
        await server.start()
    assert server.pid is None
    works = EmbeddedValkey(tmp_path)  # the directory has been given back
    await works.start()
    await works.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
async def test_it_dies_with_us_even_when_we_are_killed(tmp_path: Path) -> None:
    program = """
import asyncio, pathlib, sys
from host.coordination.embedded import EmbeddedValkey
async def main():
    server = EmbeddedValkey(pathlib.Path(sys.argv[1]))
    await server.start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert gateway.stdout is not None
    lines = [await gateway.stdout.readline()]
    while not lines[-1].strip().isdigit():
        assert lines[-1], "the gateway ended early"
        lines.append(await gateway.stdout.readline())
    pid = int(lines[-1])
    assert alive(pid)
    gateway.kill()
    await gateway.wait()

    async def dead() -> bool:
        return not alive(pid)

    await until(dead)


async def test_an_orphan_is_shut_down_by_the_next_start(tmp_path: Path) -> None:
    first = EmbeddedValkey(tmp_path)
    await first.start()
    orphan = first.pid
    assert orphan is not None
    assert first._supervisor is not None
    first._supervisor.cancel()  # as if its gateway had died without the kernel noticing
    first._lock_file.close()  # type: ignore[union-attr]
    second = EmbeddedValkey(tmp_path)
    await second.start()
    assert second.pid != orphan

    async def dead() -> bool:
        return not alive(orphan)

    await until(dead)
    await second.stop()


async def test_killed_it_comes_back_and_coordination_heals(
    valkey: EmbeddedValkey, coordination: RedisCoordination
) -> None:
    async with asyncio.timeout(60), aclosing(coordination.listen("wake")) as heard:
        assert await anext(heard) == ""
        async with coordination.lock("sweep", 30) as before:
            assert before is not None
            old = valkey.pid
            assert old is not None
            os.kill(old, signal.SIGKILL)

            async def restarted() -> bool:
                return valkey.pid not in (None, old) and await coordination.healthy()

            await until(restarted)
        assert await anext(heard) == ""  # the gap is told
        async with coordination.lock("sweep", 30) as after:
            assert after is not None
            assert after.fence > before.fence  # though nothing was kept
        other = RedisCoordination(valkey.url, deadline=0.5)
        await other.start()
        await other.announce("wake", "hello again")
        assert await anext(heard) == "hello again"
        await other.stop()


async def test_fences_rise_over_a_flush(
    valkey: EmbeddedValkey, coordination: RedisCoordination
) -> None:
    client = Redis.from_url(valkey.url)
    fences = []
    for _ in range(4):
        async with coordination.lock("sweep", 30) as lease:
            assert lease is not None
            fences.append(lease.fence)
        await client.flushall()
    await client.aclose()
    assert fences == sorted(set(fences))


async def test_a_full_server_is_away(
    valkey: EmbeddedValkey, coordination: RedisCoordination
) -> None:
    client = Redis.from_url(valkey.url)
    await client.config_set("maxmemory", 1)
    assert await coordination.claim("k", 30) == "away"
    await client.config_set("maxmemory", 0)
    await client.aclose()

    async def won() -> bool:
        return await coordination.claim("k", 30) == "won"

    await until(won)


async def test_away(tmp_path: Path) -> None:
    """Nobody listens: every operation has its documented answer."""
    gone = RedisCoordination(f"unix://{tmp_path}/nothing.sock", deadline=0.2)
    await gone.start()
    try:
        assert not await gone.healthy()
        assert await gone.claim("k", 30) == "away"
        assert await gone.first("k", 30)
        assert await gone.first("k", 30)
        await gone.release("k")
        await gone.announce("wake", "nobody hears")
        async with gone.lock("sweep", 30, wait=30) as lease:
            assert lease is None
        assert await gone.rates.take("T1", [Allowance("posts", 1.0)]) is None
        await gone.rates.rest("T1", Allowance("posts", 1.0), 30.0)
    finally:
        await gone.stop()


async def test_a_server_that_hangs_costs_one_deadline(valkey: EmbeddedValkey) -> None:
    """Stopped, it accepts and never answers. The first calls wait, the next thousand don't."""
    coordination = RedisCoordination(valkey.url, deadline=0.2, pause=60)
    await coordination.start()
    pid = valkey.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        began = monotonic()
        answers = await asyncio.gather(*(coordination.claim(f"a{n}", 30) for n in range(50)))
        assert set(answers) == {"away"}
        client = coordination._connection.client
        in_use = client.connection_pool._in_use_connections
        assert not in_use, "a connection that timed out is still in use"
        for n in range(1_000):
            assert await coordination.claim(f"b{n}", 30) == "away"
        # Two deadlines would be the bound for one refused call after the other; a thousand of them
        # would be 200 s. This is no measure of speed.
        assert monotonic() - began < 20
    finally:
        os.kill(pid, signal.SIGCONT)
    assert await coordination.healthy()
    assert await coordination.claim("c", 30) == "won"
    await coordination.stop()


async def test_a_url_that_can_never_work_is_refused_without_its_password() -> None:
    with pytest.raises(ValueError, match="redis://host") as caught:
        RedisCoordination("htp://user:hunter2@host")
    assert "hunter2" not in str(caught.value)


async def test_credentials_that_are_refused_end_the_start(valkey: EmbeddedValkey) -> None:
    client = Redis.from_url(valkey.url)
    await client.config_set("requirepass", "right")
    url = valkey.url.replace("unix://", "unix://:wrong-hunter2@")
    with pytest.raises(ValueError, match="refuses") as caught:
        await RedisCoordination(url, deadline=2).start()
    assert "hunter2" not in str(caught.value)
    right = RedisCoordination(valkey.url.replace("unix://", "unix://:right@"), deadline=2)
    await right.start()
    assert await right.claim("k", 30) == "won"
    await right.stop()
    await client.config_set("requirepass", "")
    await client.aclose()


async def test_keys_of_callers_are_not_readable(
    valkey: EmbeddedValkey, coordination: RedisCoordination
) -> None:
    await coordination.claim("secret-idempotency-key", 30)
    await coordination.first("secret-event-id", 30)
    client = Redis.from_url(valkey.url)
    keys = await client.keys("*")
    await client.aclose()
    assert len(keys) == 2
    assert not any(b"secret" in key for key in keys)


async def test_the_announcer_survives_an_error(
    valkey: EmbeddedValkey, coordination: RedisCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = RedisCoordination(valkey.url, deadline=2)
    await other.start()
    async with asyncio.timeout(60), aclosing(other.listen("wake")) as heard:
        assert await anext(heard) == ""
        failed = asyncio.Event()

        def broken(**_: object) -> None:
            failed.set()
            raise RuntimeError("a defect")

        with monkeypatch.context() as patch:
            patch.setattr(coordination._connection.client, "pipeline", broken)
            await coordination.announce("wake", "lost")
            await failed.wait()
        await coordination.announce("wake", "heard")
        assert await anext(heard) == "heard"
    await other.stop()
