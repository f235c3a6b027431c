"""Mail: the way out, and the ways in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr

from config.section import Section


class OAuth(Section):
    """Access tokens for a mail server that takes no passwords (XOAUTH2: Gmail, Microsoft 365). With
    `refresh_token` those of a mailbox that somebody consented for, without it those of the program."""

    token_url: str
    client_id: str
    client_secret: SecretStr = SecretStr("")
    refresh_token: SecretStr = SecretStr("")
    scope: str = ""


class EmailInbound(Section):
    """Replies by mail. Nothing comes in until `address` and one way in are set.

    `address`: where replies arrive: a domain whose every address is ours (`r.example.com`) or one
    mailbox that takes a plus (`sayso@example.com`). `policy`: how far a reply may go. Deciding asks for
    an authenticated sender, by our own mail server's word (`authserv_id`), by DKIM computed here
    (`dkim`), or by SES's verdict. Ways in: `smtp`, `lmtp` (`host:port`, or `unix:/path`), `imap_url`, and
    the webhooks of a provider.
    """

    address: Annotated[str, Field(max_length=254)] = ""
    policy: Literal["off", "comment", "decide"] = "decide"
    authserv_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,253}$")] = ""
    dkim: bool = False
    smtp: str = ""
    lmtp: str = ""
    imap_url: SecretStr | None = None
    oauth: OAuth | None = None
    ses_topics: tuple[
        Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:sns:[^:]+:\d{12}:\S+$")], ...
    ] = ()
    postmark_password: SecretStr | None = None
    mailgun_key: SecretStr | None = None
    sendgrid_key: str = ""
    max_bytes: Annotated[int, Field(ge=2**14, le=32 * 2**20)] = 5 * 2**20


class Ses(Section):
    """Mail by Amazon SES's API. `api_url` is for tests."""

    region: str
    access_key_id: str
    secret_access_key: SecretStr
    session_token: SecretStr = SecretStr("")
    configuration_set: str = ""
    api_url: str = ""


class Postmark(Section):
    """Mail by Postmark's API. `api_url` is for tests."""

    server_token: SecretStr
    stream: str = "outbound"
    api_url: str = ""


class Mailgun(Section):
    """Mail by Mailgun's API. `api_url` is for tests."""

    domain: str
    api_key: SecretStr
    region: Literal["us", "eu"] = "us"
    api_url: str = ""


class Email(Section):
    """Outgoing mail, by one of `smtp_url`, `ses`, `postmark` and `mailgun`. `smtp://` upgrades by
    STARTTLS (and must, unless the host is loopback). `endings`: whether those who were asked get a
    short mail that says how it ended."""

    smtp_url: SecretStr | None = None
    oauth: OAuth | None = None
    ses: Ses | None = None
    postmark: Postmark | None = None
    mailgun: Mailgun | None = None
    endings: bool = True
    connections: Annotated[int, Field(ge=1, le=50)] = 2
    from_: Annotated[str, Field(validation_alias=AliasChoices("from", "from_"))] = (
        "Sayso <sayso@localhost>"
    )
    inbound: EmailInbound = EmailInbound()

    @property
    def is_on(self) -> bool:
        """Whether there is a way out."""
        return any((self.smtp_url, self.ses, self.postmark, self.mailgun))
