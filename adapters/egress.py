"""The guard on all that goes out: https, to public addresses, checked on the socket that is connected.

A URL is checked when it is registered, and once more on every connection: the resolver refuses a name
that has any address inside, and the socket factory refuses the very address that is about to be connected.
The latter is the choke point (a resolver is not asked for an IP literal), and leaves no gap in which a name
could be resolved anew. Proxies of the environment are not used: behind one only its own address would be
checked.

The operator's exceptions name an origin exactly. They go through a session of their own, so that an
exception for a loopback port is none for a public name that leads to it.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from adapters.public_addresses import is_public

LONGEST_URL: Final = 2048
_INSIDE: Final = ("localhost", "local", "internal", "localdomain", "home.arpa", "onion")
_NUMERIC: Final = re.compile(r"(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+))*\.?", re.IGNORECASE)
_CONNECT_SECONDS: Final = 5.0
_PRIVATE: Final = (
    "The host of the URL is not public: it leads to a private, loopback, link-local or "
    "reserved address."
)


class UrlRejected(Exception):
    """Nothing may be sent to this URL. The text says why, and never quotes it."""


class AddressRefused(OSError):
    """A connection to an address that is not public was stopped before it was made."""

    def __init__(self) -> None:
        super().__init__("the address is not public")


class Egress:
    """Checks URLs and makes guarded HTTP sessions.

    `allow` lists origins (`https://hooks.corp.example:8443`) that are let through as they are;
    `loopback` lets any `http://127.0.0.1:<port>` through, for tests of conformance. Raises `ValueError`
    for an exception that is no origin.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        *,
        loopback: bool = False,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._allow = frozenset(_origin(text) for text in allow)
        self._loopback = loopback
        self._names = resolver
        self._guarded: aiohttp.ClientSession | None = None
        self._plain: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        self._names = self._names or aiohttp.ThreadedResolver()
        guarded = aiohttp.TCPConnector(
            resolver=GuardedResolver(self._names),
            socket_factory=guarded_socket,
            use_dns_cache=False,
            force_close=True,
            limit=0,
        )
        self._guarded = _session(guarded)
        self._plain = _session(aiohttp.TCPConnector(force_close=True, limit=0))

    async def stop(self) -> None:
        for session in (self._guarded, self._plain):
            if session is not None:
                await session.close()
        self._guarded = self._plain = None

    async def check(self, url: str) -> None:
        """Refuse a URL to which nothing would be sent. Raises `UrlRejected`.

        A name that can't be looked up right now passes: the connection is checked anyway.
        """
        target = parse(url)
        if self.allows(target):
            return
        check_public(target)
        try:
            assert self._names is not None, "not started"
            async with asyncio.timeout(_CONNECT_SECONDS):
                found = await self._names.resolve(
                    target.host or "", target.port or 443, socket.AF_UNSPEC
                )
        except TimeoutError:
            return
        except OSError as error:
            if _unknown_name(error):
                raise UrlRejected("The host of the URL has no address: correct its name.") from None
            return
        if not all(is_public(one["host"]) for one in found):
            raise UrlRejected(_PRIVATE)

    def session(self, url: str) -> aiohttp.ClientSession:
        """The session for this URL: guarded, unless the operator excepted its origin.

        Raises `UrlRejected` when the URL alone rules it out, an exception that was withdrawn included.
        """
        target = parse(url)
        allowed = self.allows(target)
        if not allowed:
            check_public(target)
        session = self._plain if allowed else self._guarded
        assert session is not None, "not started"
        return session

    def allows(self, target: URL) -> bool:
        """Whether the operator excepted the origin of `target`."""
        if str(target.origin()) in self._allow:
            return True
        explicit = target.explicit_port is not None
        return (
            self._loopback and explicit and target.scheme == "http" and target.host == "127.0.0.1"
        )


def _origin(text: str) -> str:
    """An exception as it is compared. Raises `ValueError`."""
    try:
        return str(URL(text).origin())
    except ValueError:
        raise ValueError(f"egress.allow: {text!r} is no origin like 'https://host:8443'") from None


def parse(url: str) -> URL:
    """The URL, absolute, bounded, and without what has no place in it. Raises `UrlRejected`."""
    if len(url) > LONGEST_URL:
        raise UrlRejected(f"The URL is longer than {LONGEST_URL} characters.")
    if any(ord(c) <= 32 or ord(c) == 127 for c in url):
        raise UrlRejected("The URL has spaces or control characters in it.")
    try:
        target = URL(url)
        usable = target.scheme in ("http", "https") and bool(target.host) and bool(target.port)
    except ValueError:
        usable = False
    if not usable:
        raise UrlRejected("The URL is not an absolute https URL.")
    if target.user is not None or target.password is not None:
        raise UrlRejected("The URL has a user name or password in it: use the signing secret.")
    if "#" in url:
        raise UrlRejected("The URL has a fragment, which is never sent.")
    return target


def check_public(target: URL) -> None:
    """What the URL alone says about where it leads. Raises `UrlRejected`."""
    if target.scheme != "https":
        raise UrlRejected("The URL is not https.")
    host = (target.raw_host or "").rstrip(".").lower()
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        if _NUMERIC.fullmatch(host):
            raise UrlRejected("The host of the URL is an address in an unusual spelling.") from None
        if any(host == name or host.endswith(f".{name}") for name in _INSIDE):
            raise UrlRejected(_PRIVATE) from None
        return
    if not is_public(host):
        raise UrlRejected(_PRIVATE)


class GuardedResolver(AbstractResolver):
    """Another resolver's answer, if all of it is public: a mixed one is an attempt to slip inside."""

    def __init__(self, names: AbstractResolver) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        if not all(is_public(one["host"]) for one in found):
            raise AddressRefused
        return found

    async def close(self) -> None:
        await self._names.close()


def guarded_socket(
    info: tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]],
) -> socket.socket:
    """A socket for an address that is about to be connected. Raises `AddressRefused`."""
    family, kind, protocol, _, address = info
    if not is_public(str(address[0])):
        raise AddressRefused
    return socket.socket(family=family, type=kind, proto=protocol)


def _unknown_name(error: OSError) -> bool:
    """Whether the name does not exist, as opposed to: could not be looked up right now."""
    cause = error.__cause__ or error
    known = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
    return isinstance(cause, socket.gaierror) and cause.errno in known


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        headers={"User-Agent": "Sayso-Webhooks/1"},
        timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS),
    )
