"""Which channels this gateway has, from the settings. A new channel is one function and one line here.

A channel that is not set up is not even imported: their libraries are most of what a start costs.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.channel import Channel, Intake, Links
from adapters.web.app import WebChannel
from adapters.web.settings import WebSettings
from config.settings import Settings
from gateway.shelving import Filing, shelved_event
from host.store.shelf import ShelvedEvent
from schemas.errors import Refusal

if TYPE_CHECKING:
    from adapters.webhooks.settings import HookSource


@dataclass(frozen=True, slots=True)
class Doors:
    """What a channel is given: the way in, the answer links, dedupe, a counter of refusals."""

    intake: Intake
    links: Links
    first: Callable[[str, float], Awaitable[bool]]
    count: Callable[[str, str], None]


def build(
    settings: Settings, public_url: str, form_secret: str, doors: Doors
) -> dict[str, Channel]:
    """The channels by name. Raises `ValueError` with the key of what is wrong."""
    web = WebSettings(public_url=public_url, secret=form_secret.encode())
    channels: list[Channel] = [WebChannel(web, doors.intake, doors.links)]
    if settings.slack.bot_token is not None:
        channels.append(_slack(settings, doors))
    if settings.email.smtp_url is not None:
        channels.append(_email(settings, public_url))
    if settings.hooks:
        channels.append(_webhooks(settings, doors))
    return {channel.name: channel for channel in channels}


def filing(settings: Settings) -> dict[str, Filing]:
    """How the events of each webhook source are kept."""
    return {
        name: Filing(hook.tenant or settings.tenant, hook.keep_seconds * 1000, hook.several)
        for name, hook in settings.hooks.items()
    }


def hook_sources(settings: Settings) -> dict[str, HookSource]:
    """The webhook sources by name. Raises `ValueError` with the key of what is wrong."""
    if not settings.hooks:
        return {}
    from adapters.webhooks.settings import HookSource

    sources: dict[str, HookSource] = {}
    for name, hook in settings.hooks.items():
        try:
            sources[name] = HookSource.build(
                id=name,
                provider=hook.provider,
                secrets=tuple(s.get_secret_value() for s in hook.secrets),
                event_type=hook.event_type,
                correlation=hook.correlation,
                event_id=hook.event_id,
                payload=hook.payload,
                tolerance=hook.tolerance,
                max_body=hook.max_body,
                signature=hook.signature,
                tenant=hook.tenant or settings.tenant,
                mode=hook.mode,
                public_url=hook.public_url,
            )
        except ValueError as error:
            raise ValueError(f"hooks.{name}: {error}") from error
    return sources


def _slack(settings: Settings, doors: Doors) -> Channel:
    from adapters.slack.app import SlackChannel
    from adapters.slack.settings import SlackSettings

    slack = settings.slack
    assert slack.bot_token is not None
    signing = (slack.signing_secret, slack.previous_signing_secret)
    secrets = tuple(s.get_secret_value() for s in signing if s is not None)
    if not secrets and slack.app_token is None:
        raise ValueError(
            "slack: set signing_secret (SLACK_SIGNING_SECRET) to receive over HTTP, or app_token "
            "(SLACK_APP_TOKEN) for Socket Mode"
        )
    chosen = SlackSettings(
        bot_token=slack.bot_token.get_secret_value(),
        signing_secrets=secrets,
        app_token=slack.app_token.get_secret_value() if slack.app_token else "",
        api_url=slack.api_url,
    )
    return SlackChannel(chosen, doors.intake, doors.first)


def _email(settings: Settings, public_url: str) -> Channel:
    from adapters.email.app import EmailChannel
    from adapters.email.settings import EmailSettings

    assert settings.email.smtp_url is not None
    return EmailChannel(
        EmailSettings(
            smtp_url=settings.email.smtp_url.get_secret_value(),
            from_address=settings.email.from_,
            public_url=public_url,
        )
    )


Remap = Callable[[ShelvedEvent, bytes, int], ShelvedEvent]
"""(a kept event, its bytes, now in ms) -> the event as its source maps it now."""


def remapping(settings: Settings) -> Remap:
    """Raises `ValueError` with the key of what is wrong."""
    sources, kept = hook_sources(settings), filing(settings)

    def remap(event: ShelvedEvent, raw: bytes, now: int) -> ShelvedEvent:
        from adapters.webhooks.receive import receive_again

        if event.source not in sources:
            raise Refusal("validation_error", f"There is no [hooks.{event.source}] any more.")
        found = receive_again(sources[event.source], event.headers, raw)
        return shelved_event(event.source, kept[event.source], found.event, now)

    return remap


def _webhooks(settings: Settings, doors: Doors) -> Channel:
    from adapters.webhooks.app import WebhooksChannel

    return WebhooksChannel(hook_sources(settings), doors.intake, time.time, doors.count)
