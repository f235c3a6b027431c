"""What the Slack channel is told at start. Read by the gateway from its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from adapters.slack.pace import Limits

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """One Slack app: with a `bot_token`, in one workspace (or one Enterprise Grid organisation); with
    `client_id` and `client_secret`, wherever it is installed by OAuth; with both, in both.

    `signing_secrets` holds every secret that is accepted now: the current one, and during a
    rotation the one before. With `app_token` set the channel receives over Socket Mode; the HTTP
    route then stays, and refuses everything while `signing_secrets` is empty. Times are in seconds.

    Raises `ValueError` with what to set when the values can never work.
    """

    bot_token: str = field(default="", repr=False)
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    app_token: str = field(default="", repr=False)
    api_url: str = "https://slack.com/api/"
    default_team: str = ""  # used where Slack names no workspace; empty: the bot's own
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    public_url: str = ""  # ours, where people come back to after an installation
    workspaces: frozenset[str] = frozenset()  # who may install without a link of the operator's
    install_secret: bytes = field(default=b"", repr=False)  # signs the links of the operator
    installations_check: float = 10.0  # how often the store is asked what is installed
    staleness: float = 60.0  # how long a profile or a group's members may be believed
    request_timeout: float = 10.0
    socket_check: float = 5.0  # how often the socket's health is looked at
    socket_connections: int = 2  # while one is refreshed the other takes over
    socket_concurrency: int = 64  # envelopes handled at once
    limits: Limits = field(default_factory=Limits)
    drain: float = 3.0  # how long stop waits for what is in flight: Slack's own patience

    def __post_init__(self) -> None:
        if bool(self.client_id) != bool(self.client_secret):
            raise ValueError("set both of SLACK_CLIENT_ID and SLACK_CLIENT_SECRET, or neither")
        if not self.bot_token and not self.client_id:
            raise ValueError("set SLACK_BOT_TOKEN, or SLACK_CLIENT_ID and SLACK_CLIENT_SECRET")
        if self.bot_token and not self.bot_token.startswith(("xoxb-", "xoxe.xoxb-")):
            raise ValueError("the Slack bot token must start with 'xoxb-': set SLACK_BOT_TOKEN")
        if any(not secret for secret in self.signing_secrets):
            raise ValueError(
                "a Slack signing secret is empty: set SLACK_SIGNING_SECRET or unset it"
            )
        if self.app_token and not self.app_token.startswith("xapp-"):
            raise ValueError("the Slack app token must start with 'xapp-': set SLACK_APP_TOKEN")
        if not self.signing_secrets and not self.app_token:
            raise ValueError(
                "Slack can't reach this gateway: set SLACK_SIGNING_SECRET (HTTP) or SLACK_APP_TOKEN"
                " (Socket Mode)"
            )
        if self.client_id and not (self.public_url.startswith("https://") or self.is_loopback):
            raise ValueError("Slack sends people back to an https address: set http.public_url")
        url = urlsplit(self.api_url)
        if url.scheme != "https" and not (url.scheme == "http" and self.is_loopback):
            raise ValueError("the Slack API URL must be https (http only on loopback)")

    @property
    def is_loopback(self) -> bool:
        """Whether the API is on this machine, as it is in a test: no proxy may stand between."""
        return urlsplit(self.api_url).hostname in _LOOPBACK
