"""Connections through the egress guard: rebinding, literals, proxies, exceptions."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from adapters.egress import (
    AddressRefused,
    Egress,
    GuardedResolver,
    UrlRejected,
    guarded_socket,
)
from adapters.webhooks.deliver import Sender


class Names(AbstractResolver):
    """A resolver that answers its list one after the other, then the last for ever."""

    def __init__(self, *answers: list[str] | OSError) -> None:
        self.answers = list(answers)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OSError):
            raise answer
        return [
            ResolveResult(
                hostname=host,
                host=one,
                port=port,
                family=socket.AF_INET6 if ":" in one else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for one in answer
        ]

    async def close(self) -> None:
        pass


class Listener:
    """Counts the connections that arrive on a loopback port."""

    def __init__(self) -> None:
        self.connections = 0

    async def __aenter__(self) -> Listener:
        self.server = await asyncio.start_server(self._met, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        await self.server.wait_closed()

    def _met(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with Listener() as found:
        yield found


async def guarded(names: Names) -> Egress:
    egress = Egress(resolver=names)
    await egress.start()
    return egress


async def test_a_name_that_leads_inside_is_refused_at_registration() -> None:
    for answer in (["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::ffff:10.0.0.1"], ["fd00::1"]):
        egress = await guarded(Names(answer))
        with pytest.raises(UrlRejected, match="not public"):
            await egress.check("https://hooks.example.com/x")
        await egress.stop()


async def test_a_public_name_passes_and_so_does_one_that_cannot_be_looked_up_now() -> None:
    temporary = socket.gaierror(socket.EAI_AGAIN, "try again")
    for answer in (["8.8.8.8"], ["2606:4700::1111", "1.1.1.1"], temporary):
        egress = await guarded(Names(answer))
        await egress.check("https://hooks.example.com/x")
        await egress.stop()


async def test_a_name_that_does_not_exist_is_refused() -> None:
    egress = await guarded(Names(socket.gaierror(socket.EAI_NONAME, "no such name")))
    with pytest.raises(UrlRejected, match="no address"):
        await egress.check("https://hooks.example.com/x")
    await egress.stop()


async def test_a_name_that_is_bound_anew_after_its_check_is_not_connected(
    listener: Listener,
) -> None:
    egress = await guarded(Names(["8.8.8.8"], ["127.0.0.1"]))
    url = f"https://hooks.example.com:{listener.port}/x"
    await egress.check(url)
    outcome = await Sender(egress).deliver(url, b"{}", {})
    assert not outcome.delivered
    assert outcome.reason == "its host leads to an address that is not public"
    assert listener.connections == 0
    await egress.stop()


async def test_the_socket_is_guarded_even_when_the_resolver_is_not(listener: Listener) -> None:
    """The choke point alone: an unguarded resolver, and a literal for which none is asked."""
    connector = aiohttp.TCPConnector(
        resolver=Names(["127.0.0.1"]), socket_factory=guarded_socket, force_close=True
    )
    async with aiohttp.ClientSession(connector=connector) as session:
        for host in ("hooks.example.com", "127.0.0.1", "[::ffff:127.0.0.1]"):
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.post(f"http://{host}:{listener.port}/x")
    assert listener.connections == 0


async def test_every_connection_of_the_guard_goes_through_the_choke_point(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its resolver's check taken away, the guard still connects to nothing inside."""
    monkeypatch.setattr(GuardedResolver, "resolve", Names(["127.0.0.1"]).resolve)
    egress = await guarded(Names(["8.8.8.8"]))
    outcome = await Sender(egress).deliver(f"https://x.example:{listener.port}/", b"{}", {})
    assert outcome.reason == "its host leads to an address that is not public"
    assert listener.connections == 0
    await egress.stop()


async def test_the_listener_can_be_met_at_all(listener: Listener) -> None:
    """Without the guard the very same request arrives: the tests above can fail."""
    connector = aiohttp.TCPConnector(resolver=Names(["127.0.0.1"]))
    async with aiohttp.ClientSession(connector=connector) as session:
        with pytest.raises(aiohttp.ClientError):
            await session.post(f"http://hooks.example.com:{listener.port}/x")
    assert listener.connections > 0


async def test_a_mixed_answer_is_refused_as_a_whole() -> None:
    resolver = GuardedResolver(Names(["8.8.8.8", "127.0.0.1"]))
    with pytest.raises(AddressRefused):
        await resolver.resolve("hooks.example.com", 443)
    good = await GuardedResolver(Names(["8.8.8.8"])).resolve("hooks.example.com", 443)
    assert [one["host"] for one in good] == ["8.8.8.8"]


async def test_an_exception_for_a_port_is_none_for_a_name_that_leads_there(
    listener: Listener,
) -> None:
    egress = Egress([f"http://127.0.0.1:{listener.port}"], resolver=Names(["127.0.0.1"]))
    await egress.start()
    outcome = await Sender(egress).deliver(f"https://evil.example:{listener.port}/x", b"{}", {})
    assert not outcome.delivered
    assert listener.connections == 0
    await Sender(egress).deliver(f"http://127.0.0.1:{listener.port}/x", b"{}", {})
    assert listener.connections > 0
    await egress.stop()


async def test_proxies_of_the_environment_are_not_used(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an exception too, which the address check does not stop: port 1 refuses, the proxy would not."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    egress = Egress(["http://127.0.0.1:1"], resolver=Names(["8.8.8.8"]))
    await egress.start()
    outcome = await Sender(egress).deliver("http://127.0.0.1:1/x", b"{}", {})
    assert outcome.reason == "it could not be connected to"
    assert listener.connections == 0
    await egress.stop()
