"""Which channels this gateway has, from the settings. A new channel is one entry here."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from adapters.channel import Channel, Intake, Links
from adapters.email.app import EmailChannel
from adapters.email.settings import EmailSettings
from adapters.slack.app import SlackChannel
from adapters.slack.settings import SlackSettings
from adapters.web.app import WebChannel
from adapters.web.settings import WebSettings
from adapters.webhooks.app import WebhooksChannel
from adapters.webhooks.settings import HookSource
from config.settings import Hook, Settings, Slack


def build(
    settings: Settings,
    public_url: str,
    form_secret: str,
    intake: Intake,
    links: Links,
    first: Callable[[str, float], Awaitable[bool]],
    count: Callable[[str, str], None],
) -> dict[str, Channel]:
    """The channels by name. Raises `ValueError` with the key of what is wrong."""
    web = WebSettings(public_url=public_url, secret=form_secret.encode())
    channels: list[Channel] = [WebChannel(web, intake, links)]
    if settings.slack.bot_token is not None:
        channels.append(SlackChannel(_slack(settings.slack), intake, first))
    if settings.email.smtp_url is not None:
        email = EmailSettings(
            smtp_url=settings.email.smtp_url.get_secret_value(),
            from_address=settings.email.from_,
            public_url=public_url,
        )
        channels.append(EmailChannel(email))
    if settings.hooks:
        sources = {name: _source(name, hook, settings) for name, hook in settings.hooks.items()}
        channels.append(WebhooksChannel(sources, intake, time.time, count))
    return {channel.name: channel for channel in channels}


def tenants(settings: Settings) -> dict[str, str]:
    """The tenant of each webhook source."""
    return {name: hook.tenant or settings.tenant for name, hook in settings.hooks.items()}


def _slack(slack: Slack) -> SlackSettings:
    assert slack.bot_token is not None
    signing = (slack.signing_secret, slack.previous_signing_secret)
    secrets = tuple(s.get_secret_value() for s in signing if s is not None)
    if not secrets and slack.app_token is None:
        raise ValueError(
            "slack: set signing_secret (SLACK_SIGNING_SECRET) to receive over HTTP, or app_token "
            "(SLACK_APP_TOKEN) for Socket Mode"
        )
    return SlackSettings(
        bot_token=slack.bot_token.get_secret_value(),
        signing_secrets=secrets,
        app_token=slack.app_token.get_secret_value() if slack.app_token else "",
        api_url=slack.api_url,
    )


def _source(name: str, hook: Hook, settings: Settings) -> HookSource:
    try:
        return HookSource.build(
            id=name,
            provider=hook.provider,
            secrets=tuple(s.get_secret_value() for s in hook.secrets),
            event_type=hook.event_type,
            correlation=hook.correlation,
            event_id=hook.event_id,
            payload=hook.payload,
            tolerance=hook.tolerance,
            tenant=hook.tenant or settings.tenant,
        )
    except ValueError as error:
        raise ValueError(f"hooks.{name}: {error}") from error
