"""Where the coordination servers are, by URL: one server, Sentinel's primary, or a cluster.

    redis://user:password@host:6379/0
    redis+sentinel://user:password@host1:26379,host2:26379/master-name/0
    redis+cluster://user:password@host1:6379,host2:6379
    unix:///path

The `rediss` forms of the first three speak TLS. What redis-py takes for a connection may follow as a
query, such as `ssl_ca_certs=/etc/ssl/ours.pem`; Sentinels that want a password of their own take
`sentinel_username` and `sentinel_password`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from redis.asyncio.connection import parse_url

_FORMS: Final = (
    "The coordination URL must look like redis://host:6379/0, redis+sentinel://host:26379,host:26379/"
    "master-name, redis+cluster://host:6379,host:6379 (rediss for TLS) or unix:///path."
)
_PORTS: Final = {"": 6379, "sentinel": 26379, "cluster": 6379}
_FILES: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
MOST_HOSTS: Final = 64


@dataclass(frozen=True, slots=True)
class Servers:
    """`hosts` are the Sentinels, or nodes of the cluster to begin with; none for `one`, whose place is in
    `options`: what each connection is made with. `sentinel` has what those to the Sentinels take instead."""

    kind: Literal["one", "sentinel", "cluster"]
    options: dict[str, Any]
    hosts: tuple[tuple[str, int], ...] = ()
    name: str = ""
    tls: bool = False
    sentinel: dict[str, Any] | None = None


def parse(url: str) -> Servers:
    """Read a URL. Raises `ValueError`, whose text never quotes it: it may hold a password."""
    try:
        scheme, _, kind = urlsplit(url).scheme.partition("+")
        if kind not in _PORTS or (kind and scheme not in ("redis", "rediss")):
            raise ValueError
        found = _one(url) if not kind else _several(url, scheme, kind)
    except ValueError:
        raise ValueError(_FORMS) from None
    for name in _FILES:
        if name in found.options and not Path(found.options[name]).is_file():
            raise ValueError(f"The coordination URL's {name} names a file that is not there.")
    return found


def _one(url: str) -> Servers:
    options: dict[str, Any] = dict(parse_url(url))
    return Servers("one", options, tls=urlsplit(url).scheme == "rediss")


def _several(url: str, scheme: str, kind: str) -> Servers:
    parts = urlsplit(url)
    user, _, hosts = parts.netloc.rpartition("@")
    places = tuple(_place(host, _PORTS[kind]) for host in hosts.split(","))
    name, _, database = parts.path.lstrip("/").partition("/")
    if kind == "cluster":  # which has database 0 alone, and no name
        name, database = "", name
    known = name and (database or "0").isdecimal() if kind == "sentinel" else database in ("", "0")
    if not known or len(places) > MOST_HOSTS:
        raise ValueError
    plain = f"{scheme}://{user + '@' if user else ''}host/{database or 0}?{parts.query}"
    options: dict[str, Any] = dict(parse_url(plain))
    for put_by_us in ("host", "port", "connection_class"):
        options.pop(put_by_us, None)
    sentinel = {
        short: options.pop(f"sentinel_{short}")
        for short in ("username", "password")
        if f"sentinel_{short}" in options
    }
    tls = scheme == "rediss"
    if kind == "cluster":
        options.pop("db", None)
        return Servers("cluster", options, places, tls=tls)
    sentinel |= {name: value for name, value in options.items() if name.startswith("ssl_")}
    return Servers("sentinel", options, places, unquote(name), tls, sentinel)


def _place(text: str, port: int) -> tuple[str, int]:
    """`host`, `host:port` or `[v6]:port`."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.path or parts.username is not None:
        raise ValueError
    return unquote(parts.hostname), parts.port or port
