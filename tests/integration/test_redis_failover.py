"""Coordination over Sentinel, over a cluster and over TLS, with real servers that fail in the middle."""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from time import monotonic

import pytest
import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from host.coordination.redis import RedisCoordination
from tests.fakes.valkeys import Cluster, Fronts, Valkey, Watched, running, until

_DEADLINE = 0.5
_SLACK = 1.0  # seconds that a busy test machine may take beside the deadline

Fail = Callable[[Valkey], None]


def killed(server: Valkey) -> None:
    server.kill()


def hung(server: Valkey) -> None:
    server.signal(signal.SIGSTOP)


@asynccontextmanager
async def connected(url: str, count: int = 1) -> AsyncIterator[list[RedisCoordination]]:
    made = [RedisCoordination(url, deadline=_DEADLINE, pause=0.05) for _ in range(count)]
    try:
        for one in made:
            await one.start()
        yield made
    finally:
        for one in made:
            await one.stop()


class Hammer:
    """Claims and locks without end, and what became of them."""

    def __init__(self, coordination: RedisCoordination) -> None:
        self._coordination = coordination
        self.answers: list[str] = []
        self.fences: list[int] = []
        self.slowest = 0.0

    async def run(self) -> None:
        number = 0
        while True:
            number += 1
            began = monotonic()
            self.answers.append(await self._coordination.claim(f"{id(self)}-{number}", 30))
            self.slowest = max(self.slowest, monotonic() - began)
            async with self._coordination.lock("sweep", 30) as lease:
                if lease is not None:
                    self.fences.append(lease.fence)
            await asyncio.sleep(0.002)

    async def won_again(self) -> None:
        """Until claims are won that were begun after now."""
        seen = len(self.answers) + 1

        async def won() -> bool:
            return "won" in self.answers[seen:]

        await until(won)


@pytest.mark.parametrize("fail", [killed, hung])
@pytest.mark.parametrize("kind", [Watched, Cluster])
async def test_a_failover_in_the_middle_of_everything_heals_by_itself(
    kind: type[Watched] | type[Cluster], fail: Fail, tmp_path: Path
) -> None:
    """No call takes longer than its deadline, fences never go back, wake-ups come again after an ""."""
    servers = kind(tmp_path)
    async with running(*servers.servers):
        await servers.ready()
        async with (
            connected(servers.url, 2) as (one, two),
            aclosing(two.listen("wake")) as heard,
        ):
            assert await anext(heard) == ""
            hammers = [Hammer(one), Hammer(two)]
            tasks = [asyncio.create_task(hammer.run()) for hammer in hammers]
            await hammers[0].won_again()
            fail(servers.servers[0])
            await servers.promoted()
            for hammer in hammers:
                await hammer.won_again()
            assert await one.healthy()
            assert await two.healthy()
            await _hears(one, heard)
            for task in tasks:
                assert not task.done()
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert max(hammer.slowest for hammer in hammers) < _DEADLINE + _SLACK
        for hammer in hammers:
            # A replica may lack the last grants, which are told apart by the clock that fences begin at.
            assert set(hammer.answers) <= {"won", "away"}
            assert hammer.fences == sorted(hammer.fences)


async def test_an_old_primary_that_comes_back_is_left_alone(tmp_path: Path) -> None:
    """It hung and was replaced; continued, it still thinks that it is the primary, for a moment."""
    servers = Watched(tmp_path)
    async with running(*servers.servers):
        await servers.ready()
        async with connected(servers.url) as [one]:
            assert await one.claim("before", 30) == "won"
            servers.primary.signal(signal.SIGSTOP)
            await servers.promoted()

            async def works() -> bool:
                return await one.first("probe", 0.001)

            await until(works)
            servers.primary.signal(signal.SIGCONT)

            async def demoted() -> bool:
                return b"role:slave" in await servers.primary.say("INFO", "replication")

            await until(demoted)

            async def won() -> bool:
                return await one.claim("after", 30) != "away"

            await until(won)
            assert await servers.replica.say("EXISTS", one._key("claim", _digest("after"))) == 1


async def test_a_sentinel_that_hangs_costs_nothing(tmp_path: Path) -> None:
    servers = Watched(tmp_path)
    async with running(*servers.servers):
        await servers.ready()
        for sentinel in servers.sentinels:
            sentinel.signal(signal.SIGSTOP)
            async with connected(servers.url) as [one]:
                assert await one.claim(f"key-{sentinel.port}", 30) == "won"
            sentinel.signal(signal.SIGCONT)


async def test_a_name_that_no_sentinel_knows_is_away(tmp_path: Path) -> None:
    servers = Watched(tmp_path)
    async with (
        running(*servers.servers),
        connected(servers.url.replace("/main", "/other")) as [one],
    ):
        assert await one.claim("key", 30) == "away"
        assert not await one.healthy()


async def test_a_cluster_takes_a_crowd(tmp_path: Path) -> None:
    """More callers at once than there are connections wait for one, within the deadline."""
    servers = Cluster(tmp_path)
    async with running(*servers.servers):
        await servers.ready()
        crowded = RedisCoordination(servers.url, deadline=10, connections=2)
        await crowded.start()
        try:
            answers = await asyncio.gather(*(crowded.claim(f"{n}", 30) for n in range(300)))
            assert set(answers) == {"won"}
        finally:
            await crowded.stop()


async def test_tls_is_trusted_by_its_authority_alone(tmp_path: Path) -> None:
    authority, certificate, key = _certificates(tmp_path)
    stranger, _, _ = _certificates(tmp_path / "other")
    server, fronts = Valkey(tmp_path), Fronts(certificate, key)
    port = fronts.of(server.port)
    async with running(server), fronts:
        trusted = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={authority}"
        async with connected(trusted, 2) as (one, two), aclosing(two.listen("wake")) as heard:
            assert await anext(heard) == ""
            assert await one.claim("key", 30) == "won"
            assert await two.claim("key", 30) == "taken"
            await _hears(one, heard)
        issuer, name = "unable to get local issuer certificate", "certificate is not valid for"
        for url, why in (
            (trusted.replace(str(authority), str(stranger)), "certificate"),
            (trusted.partition("?")[0], issuer),  # the machine's authorities
            (trusted.replace("127.0.0.1", "localhost"), name),
            (trusted.replace("rediss://", "redis://").partition("?")[0], ""),  # no TLS at all
        ):
            async with connected(url) as [one]:
                await _refused(one, why)
                assert await one.claim("key", 30) == "away"


@pytest.mark.parametrize("kind", [Watched, Cluster])
async def test_tls_to_several_servers_lasts_through_a_failover(
    kind: type[Watched] | type[Cluster], tmp_path: Path
) -> None:
    authority, certificate, key = _certificates(tmp_path)
    fronts = Fronts(certificate, key, plain=True)  # the servers among themselves
    servers = kind(tmp_path, fronts)
    async with fronts, running(*servers.servers):
        await servers.ready()
        url = f"{servers.url}?ssl_ca_certs={authority}"
        async with connected(url, 2) as (one, two), aclosing(two.listen("wake")) as heard:
            assert await anext(heard) == ""
            assert await one.claim("key", 30) == "won"
            assert await two.claim("key", 30) == "taken"
            await _hears(one, heard)
            servers.servers[0].kill()
            await servers.promoted()
            hammer = Hammer(one)
            hammering = asyncio.create_task(hammer.run())
            await hammer.won_again()
            hammering.cancel()
            await asyncio.gather(hammering, return_exceptions=True)
            await _hears(one, heard)
        assert fronts.begun["tls"] >= 4


@pytest.mark.parametrize("kind", [Watched, Cluster])
async def test_several_servers_of_a_stranger_s_certificate_are_refused(
    kind: type[Watched] | type[Cluster], tmp_path: Path
) -> None:
    _, certificate, key = _certificates(tmp_path)
    stranger, _, _ = _certificates(tmp_path / "other")
    fronts = Fronts(certificate, key, plain=True)
    servers = kind(tmp_path, fronts)
    async with fronts, running(*servers.servers):
        await servers.ready()
        for trust in (f"?ssl_ca_certs={stranger}", ""):
            with structlog.testing.capture_logs() as logs:
                async with connected(servers.url + trust) as [one]:
                    await _refused(one, "certificate")
                    assert await one.claim("key", 30) == "away"
            told = [line["certificate"] for line in logs if "certificate" in line]
            assert len(told) == 1, logs
            assert "certificate" in told[0]


async def _refused(coordination: RedisCoordination, why: str) -> None:
    """Not healthy, and it says why; a machine that is slow may need more than one deadline for that."""

    async def said() -> bool:
        assert not await coordination.healthy()
        return why in coordination.untrusted

    await until(said)
    assert bool(coordination.untrusted) == bool(why)


async def _hears(speaker: RedisCoordination, heard: AsyncIterator[str]) -> None:
    """Until an announcement comes through; those that are made while the listener connects are lost."""

    async def speak() -> None:
        while True:
            await speaker.announce("wake", "hello")
            await asyncio.sleep(0.05)

    speaking = asyncio.create_task(speak())
    try:
        async with asyncio.timeout(30):
            while await anext(heard) != "hello":
                continue
    finally:
        speaking.cancel()


def _digest(key: str) -> str:
    from host.coordination.redis import _digest as digest

    return digest(key)


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, and a certificate of it for 127.0.0.1 with its key."""
    folder.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    root = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])

    def certificate(
        subject: x509.Name, public: ec.EllipticCurvePublicKey, ca: bool
    ) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]),
                critical=False,
            )
            .sign(root, hashes.SHA256())
        )

    own = ec.generate_private_key(ec.SECP256R1())
    server = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    files = {
        "ca.pem": certificate(name, root.public_key(), True).public_bytes(
            serialization.Encoding.PEM
        ),
        "server.pem": certificate(server, own.public_key(), False).public_bytes(
            serialization.Encoding.PEM
        ),
        "server.key": own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    }
    for file, content in files.items():
        (folder / file).write_bytes(content)
    assert ssl.create_default_context(cafile=folder / "ca.pem").get_ca_certs()
    return folder / "ca.pem", folder / "server.pem", folder / "server.key"
