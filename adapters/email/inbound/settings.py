"""What receiving has to be told, checked at start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from adapters.email.handles import check_place
from adapters.email.inbound.meaning import Policy
from adapters.email.settings import OAuth, check_token_user

_IMAP_PORTS: Final = {"imaps": 993, "imap": 143}


@dataclass(frozen=True, slots=True)
class Imap:
    """A mailbox to read. With `oauth` its password is "", and a token is fetched instead."""

    host: str
    port: int
    tls: bool
    username: str
    password: str = field(repr=False)
    folder: str = "INBOX"
    oauth: OAuth | None = None


@dataclass(frozen=True, slots=True)
class InboundSettings:
    """See `[email.inbound]`. Raises `ValueError`, without a secret in its text."""

    address: str
    policy: Policy = "decide"
    authserv_id: str = ""
    dkim: bool = False
    smtp: str = ""
    lmtp: str = ""
    imap_url: str = field(default="", repr=False)
    oauth: OAuth | None = None
    ses_topics: tuple[str, ...] = ()
    postmark_password: str = field(default="", repr=False)
    mailgun_key: str = field(default="", repr=False)
    sendgrid_key: str = ""
    max_bytes: int = 5 * 2**20

    def __post_init__(self) -> None:
        check_place(self.address)
        for each in (self.smtp, self.lmtp):
            if each:
                listening(each)
        if self.imap_url:
            _imap(self.imap_url, self.oauth)
        if self.sendgrid_key:
            from adapters.email.inbound.providers.sendgrid import public_key

            public_key(self.sendgrid_key)
        ways = (self.smtp, self.lmtp, self.imap_url, self.ses_topics, self.postmark_password)
        if not any((*ways, self.mailgun_key, self.sendgrid_key)):
            raise ValueError(
                "no way in is set up: set smtp, lmtp, imap_url, or the key of a provider's webhook"
            )
        only_ses = bool(self.ses_topics) and not any(
            (*ways[:3], self.postmark_password, self.mailgun_key, self.sendgrid_key)
        )
        if self.policy == "decide" and not (self.authserv_id or self.dkim or only_ses):
            raise ValueError(
                "replies may decide, but nothing says who sent them: set authserv_id to the name that "
                "our mail server writes into Authentication-Results, or dkim = true, or policy = "
                '"comment"'
            )

    @property
    def place(self) -> str:
        """`address`, canonical."""
        return check_place(self.address)

    @property
    def imap(self) -> Imap | None:
        """The mailbox, if there is one."""
        return _imap(self.imap_url, self.oauth) if self.imap_url else None


def listening(text: str) -> tuple[str, int]:
    """`host:port` -> both; `unix:/path` -> the path and -1. Raises `ValueError`."""
    if text.startswith("unix:/"):
        return text.removeprefix("unix:"), -1
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is no place to listen: write 127.0.0.1:2525 or unix:/path")
    return host.strip("[]"), int(port)


def _imap(url: str, oauth: OAuth | None = None) -> Imap:
    if oauth is not None:
        check_token_user(url, "imap_url")
    wrong = ValueError("imap_url is no mailbox: write imaps://user:password@host/INBOX")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    known = parts.hostname and parts.username and (parts.password or oauth)
    if parts.scheme not in _IMAP_PORTS or not known:
        raise wrong
    tls = parts.scheme == "imaps"
    if not tls and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise ValueError("imap_url has to be imaps:// beyond this machine")
    return Imap(
        parts.hostname or "",
        port or _IMAP_PORTS[parts.scheme],
        tls,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        unquote(parts.path.strip("/")) or "INBOX",
        oauth,
    )
