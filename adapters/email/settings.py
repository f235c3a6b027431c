"""What the email channel has to be told."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from email.utils import parseaddr
from typing import Final
from urllib.parse import unquote, urlsplit

from adapters.email.address import canonical

_PORTS: Final = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server, taken apart. `implicit_tls` is TLS from the first byte; `starttls` makes the
    upgrade a condition, because one that is merely tried can be stripped on the way."""

    host: str
    port: int
    implicit_tls: bool
    starttls: bool
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class EmailSettings:
    """How mail leaves.

    `smtp_url` is `smtps://user:password@host[:465]` (TLS from the first byte) or
    `smtp://user:password@host[:587]`, which requires STARTTLS, except to a host on loopback, which
    is spoken to in the clear. User and password are percent-encoded.
    `from_address` is `ada@example.com` or `Name <ada@example.com>`; its domain also makes our
    message ids. `public_url` is named at the foot of each mail, so that people know whose it is.
    `timeout` is in seconds, for one command and for the whole of one mail five times
    that. `connections` is how many mails are on their way at once. `ca_file` is a PEM file of the
    authority that signed the server's certificate, where the system does not know it.

    Raises `ValueError` with what to write instead; the text never holds the URL.
    """

    smtp_url: str = field(repr=False)
    from_address: str
    public_url: str = ""
    timeout: float = 20.0
    connections: int = 2
    ca_file: str | None = None

    def __post_init__(self) -> None:
        _parse_server(self.smtp_url)
        _, address = self.sender
        canonical(address)
        if self.timeout <= 0 or self.connections < 1:
            raise ValueError("the mail timeout and the number of connections must be above zero")

    @property
    def server(self) -> SmtpServer:
        """Where mail is handed in."""
        return _parse_server(self.smtp_url)

    @property
    def sender(self) -> tuple[str, str]:
        """The display name (may be empty) and the address that mail comes from."""
        name, address = parseaddr(self.from_address)
        if any(ord(each) < 32 or ord(each) == 127 for each in self.from_address):
            raise ValueError("the mail sender holds a control character")
        return name, address

    @property
    def domain(self) -> str:
        """The domain of the sender, in lower case."""
        return canonical(self.sender[1]).rpartition("@")[2]


def _parse_server(url: str) -> SmtpServer:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if parts.scheme not in _PORTS or not host or parts.path.strip("/") or parts.query:
        raise ValueError("the mail server is no smtp URL: write smtps://user:password@host:465")
    return SmtpServer(
        host=host,
        port=port or _PORTS[parts.scheme],
        implicit_tls=parts.scheme == "smtps",
        starttls=parts.scheme == "smtp" and not _is_loopback(host),
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
