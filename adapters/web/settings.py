"""What the web channel has to be told."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Final

from yarl import URL

MIN_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where the answer page lives, and the key that seals its forms.

    `public_url` is the address that people reach the gateway at, path prefix included. It must be
    https, because an answer link is a bearer secret; plain http is taken on loopback alone.
    `secret` is at least 32 random bytes, the same on every replica. `extra_origins` are further
    origins that the page is served from (a second host name), each spelled `https://host[:port]`.

    Raises `ValueError` with what to write instead.
    """

    public_url: str
    secret: bytes = field(repr=False)
    extra_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_SECRET_BYTES:
            raise ValueError(f"the web form secret needs at least {MIN_SECRET_BYTES} bytes")
        for url in (self.public_url, *self.extra_origins):
            _require_safe(url)

    @property
    def secure(self) -> bool:
        """Whether cookies are `Secure`: always, except on plain http loopback."""
        return URL(self.public_url).scheme == "https"

    @property
    def cookie_prefix(self) -> str:
        """`__Host-` pins a cookie to this very host, so a sibling subdomain cannot plant one."""
        return "__Host-" if self.secure else ""

    @property
    def origins(self) -> frozenset[str]:
        """The values of `Origin` that are ours."""
        return frozenset(origin_of(url) for url in (self.public_url, *self.extra_origins))


def origin_of(url: str) -> str:
    """The origin as a browser writes it: lower case, punycode, no default port."""
    return str(URL(url).origin())


def is_loopback(host: str) -> bool:
    """Whether a host name (no port) can only mean this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _require_safe(url: str) -> None:
    """Refuse an address that no answer page may be served from."""
    parsed = URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError(f"{url!r} is no web address: write it as https://sayso.example.com")
    if parsed.scheme == "http" and not is_loopback(parsed.host):
        raise ValueError(
            f"{url!r} is plain http, and answer links are secrets: use https (or http on loopback)"
        )
