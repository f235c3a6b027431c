"""What the email channel has to be told."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from email.utils import parseaddr
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from adapters.email.address import canonical
from adapters.email.handles import check_place

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
class OAuth:
    """Where access tokens for a mail server come from, instead of a password. Without `refresh_token`
    the program itself is who logs in. Raises `ValueError`."""

    token_url: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    scope: str = ""

    def __post_init__(self) -> None:
        if not (self.token_url and self.client_id and (self.client_secret or self.refresh_token)):
            raise ValueError("oauth: set token_url, client_id, and client_secret or refresh_token")
        try:
            check_api_url(self.token_url)
        except ValueError:
            raise ValueError("oauth.token_url has to be https: secrets go there") from None


@dataclass(frozen=True, slots=True)
class SesAccount:
    """Amazon SES. `api_url` is for tests; it is the region's endpoint otherwise."""

    region: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)
    configuration_set: str = ""
    api_url: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", self.region):
            raise ValueError("ses.region has to look like eu-central-1")
        check_api_url(self.api_url)

    @property
    def origin(self) -> str:
        """Where its API is."""
        return self.api_url or f"https://email.{self.region}.amazonaws.com"

    def message_id(self, found: str) -> str:
        """The Message-ID that SES writes instead of ours, from the id that it answers."""
        host = "email" if self.region == "us-east-1" else self.region
        return f"<{found}@{host}.amazonses.com>"


@dataclass(frozen=True, slots=True)
class PostmarkAccount:
    """Postmark. `stream` is the message stream: mail that asks is transactional."""

    server_token: str = field(repr=False)
    stream: str = "outbound"
    api_url: str = ""

    def __post_init__(self) -> None:
        check_api_url(self.api_url)

    @property
    def origin(self) -> str:
        """Where its API is."""
        return self.api_url or "https://api.postmarkapp.com"


@dataclass(frozen=True, slots=True)
class MailgunAccount:
    """Mailgun. `domain` is the sending domain as it is set up there, `region` where it is."""

    domain: str
    api_key: str = field(repr=False)
    region: Literal["us", "eu"] = "us"
    api_url: str = ""

    def __post_init__(self) -> None:
        canonical(f"a@{self.domain}")
        check_api_url(self.api_url)

    @property
    def origin(self) -> str:
        """Where its API is."""
        return self.api_url or f"https://api.{'eu.' if self.region == 'eu' else ''}mailgun.net"


@dataclass(frozen=True, slots=True)
class EmailSettings:
    """How mail leaves: by exactly one of `smtp_url`, `ses`, `postmark` and `mailgun`.

    `smtp_url` is `smtps://user:password@host[:465]` (TLS from the first byte) or
    `smtp://user:password@host[:587]`, which requires STARTTLS, except to a host on loopback, which
    is spoken to in the clear. User and password are percent-encoded.
    `from_address` is `ada@example.com` or `Name <ada@example.com>`; its domain also makes our
    message ids. `public_url` is named at the foot of each mail, so that people know whose it is.
    `oauth` is where the password comes from where the server wants tokens; the URL names the user alone.
    `timeout` is in seconds, for one command and for the whole of one mail five times
    that. `connections` is how many mails are on their way at once. `ca_file` is a PEM file of the
    authority that signed the server's certificate, where the system does not know it.
    `place` is where replies and bounces arrive ("" nowhere: see `handles.check_place`) and
    `replies` how far a reply may go. `endings`: whether a mail says how a question ended; never to
    an address in `quiet`.

    Raises `ValueError` with what to write instead; the text never holds the URL.
    """

    smtp_url: str = field(repr=False, default="")
    from_address: str = ""
    public_url: str = ""
    timeout: float = 20.0
    connections: int = 2
    ca_file: str | None = None
    ses: SesAccount | None = None
    postmark: PostmarkAccount | None = None
    mailgun: MailgunAccount | None = None
    place: str = ""
    replies: Literal["off", "comment", "decide"] = "off"
    endings: bool = True
    quiet: frozenset[str] = frozenset()
    oauth: OAuth | None = None

    def __post_init__(self) -> None:
        ways = (self.smtp_url, self.ses, self.postmark, self.mailgun)
        if sum(1 for way in ways if way) != 1:
            raise ValueError("set exactly one of smtp_url, ses, postmark and mailgun")
        if self.smtp_url:
            _parse_server(self.smtp_url)
        if self.oauth is not None:
            check_token_user(self.smtp_url, "smtp_url")
        _, address = self.sender
        canonical(address)
        if self.place:
            check_place(self.place)
        if self.timeout <= 0 or self.connections < 1:
            raise ValueError("the mail timeout and the number of connections must be above zero")

    @property
    def server(self) -> SmtpServer:
        """Where mail is handed in by SMTP."""
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


def check_api_url(url: str) -> None:
    """Raises `ValueError` for the address of an API that is neither https nor on loopback: a key
    goes there. "" is the provider's own."""
    parts = urlsplit(url)
    plain = parts.scheme == "http" and _is_loopback(parts.hostname or "")
    if url and not (parts.hostname and (parts.scheme == "https" or plain)):
        raise ValueError("a mail provider's api_url has to be https")


def check_token_user(url: str, name: str) -> None:
    """Raises `ValueError` unless a URL (of this setting) names a user and no password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return  # told by whoever reads the whole of it
    if not parts.username or parts.password:
        raise ValueError(f"with oauth, {name} holds the user and no password: user@host")


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
