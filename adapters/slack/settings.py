"""What the Slack channel is told at start. Read by the gateway from its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """One installed Slack app in one workspace (or one Enterprise Grid organisation).

    `signing_secrets` holds every secret that is accepted now: the current one, and during a
    rotation the one before. With `app_token` set the channel receives over Socket Mode; the HTTP
    route then stays, and refuses everything while `signing_secrets` is empty. Times are in seconds.

    Raises `ValueError` with what to set when the values can never work.
    """

    bot_token: str = field(repr=False)
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    app_token: str = field(default="", repr=False)
    api_url: str = "https://slack.com/api/"
    default_team: str = ""  # used where Slack names no workspace; empty: the bot's own
    request_timeout: float = 10.0
    socket_check: float = 5.0  # how often the socket's health is looked at
    socket_concurrency: int = 64  # envelopes handled at once
    drain: float = 3.0  # how long stop waits for what is in flight: Slack's own patience

    def __post_init__(self) -> None:
        if not self.bot_token.startswith("xoxb-"):
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
        url = urlsplit(self.api_url)
        if url.scheme != "https" and not (url.scheme == "http" and self.is_loopback):
            raise ValueError("the Slack API URL must be https (http only on loopback)")

    @property
    def is_loopback(self) -> bool:
        """Whether the API is on this machine, as it is in a test: no proxy may stand between."""
        return urlsplit(self.api_url).hostname in _LOOPBACK
