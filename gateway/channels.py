"""Which channels this gateway has, from the settings. A new channel is one function and one line here.

A channel that is not set up is not even imported: their libraries are most of what a start costs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.accounts import Roster
from adapters.channel import Channel, Intake, Links
from adapters.inbox import Inbox
from adapters.languages.catalogue import closest, locales
from adapters.talks import Talks
from adapters.views import Reader
from adapters.web.app import WebChannel
from adapters.web.settings import WebSettings
from config.settings import Settings
from gateway.link_codes import LinkCodes
from gateway.shelving import Filing, shelved_event
from host.coordination.port import Rates
from host.store.documents import Documents
from host.store.shelf import ShelvedEvent
from schemas.errors import Refusal

if TYPE_CHECKING:
    from adapters.egress import Egress
    from adapters.email.app import EmailChannel
    from adapters.email.inbound.app import Lent
    from adapters.email.inbound.settings import InboundSettings
    from adapters.email.oauth import Vault
    from adapters.email.settings import EmailSettings
    from adapters.webhooks.settings import HookSource


@dataclass(frozen=True, slots=True)
class Doors:
    """What a channel is given: the way in, the answer links, dedupe, a counter of refusals; and for what
    it keeps itself, the documents and the secrets that seal (the first one; the others open). What a
    channel fetches goes out through `egress`; `rates` are the limits that all gateways keep together;
    `talks` takes what is said in threads of sessions."""

    intake: Intake
    links: Links
    first: Callable[[str, float], Awaitable[bool]]
    count: Callable[[str, str], None]
    documents: Documents | None = None
    sealing: tuple[str, ...] = ()
    inbox: Inbox | None = None
    mail: Lent | None = None
    egress: Egress | None = None
    rates: Rates | None = None
    talks: Talks | None = None


def build(
    settings: Settings, public_url: str, form_secret: str, doors: Doors
) -> dict[str, Channel]:
    """The channels by name. Raises `ValueError` with the key of what is wrong."""
    web = WebSettings(public_url=public_url, secret=form_secret.encode())
    email = _email(settings, public_url, doors) if settings.email.is_on else None
    codes = None
    if settings.approvals.links == "code":
        if email is None or doors.documents is None:
            raise ValueError("approvals.links: a code needs mail to be sent by; set up [email]")
        codes = LinkCodes(doors.documents, email.send_code, _now)
    channels: list[Channel] = [WebChannel(web, doors.intake, doors.links, codes)]
    if settings.slack.is_on:
        channels.append(_slack(settings, public_url, form_secret, doors))
    if email is not None:
        channels.append(email)
    if settings.hooks:
        channels.append(_webhooks(settings, doors))
    return {channel.name: channel for channel in channels}


def everybody(settings: Settings) -> Reader:
    """How those are spoken to of whom nothing is known. Raises `ValueError` for a language that
    there is no catalogue of."""
    spoken = closest(settings.locale)
    wrong = [p.id for p in settings.people if p.locale and not closest(p.locale)]
    if not spoken or wrong:
        where = f"people.{wrong[0]}.locale" if spoken else "locale"
        raise ValueError(f"{where}: not one of the languages there are: {', '.join(locales())}")
    return Reader(spoken, settings.timezone)


def tenants(settings: Settings) -> dict[str, str]:
    """Whose requests the people of a place see where they look by themselves, by `<channel>:<place>`."""
    return {f"slack:{place}": tenant for place, tenant in settings.slack.tenants.items()}


def rosters(channels: Mapping[str, Channel]) -> dict[str, Roster]:
    """The channels that know accounts and groups of their own."""
    found = {name: getattr(channel, "roster", None) for name, channel in channels.items()}
    return {name: roster for name, roster in found.items() if roster is not None}


def sealing(settings: Settings, own: str) -> tuple[str, ...]:
    """The secrets that seal: those of the configuration, and last one made from the gateway's own, so
    that what was sealed before there were any still opens."""
    derived = hashlib.sha256(b"sayso sealing\0" + own.encode()).hexdigest()
    return (*(key.get_secret_value() for key in settings.encryption_keys), derived)


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


def _slack(settings: Settings, public_url: str, form_secret: str, doors: Doors) -> Channel:
    from adapters.slack.app import SlackChannel
    from adapters.slack.pace import Limits
    from adapters.slack.settings import SlackSettings

    slack = settings.slack
    signing = (slack.signing_secret, slack.previous_signing_secret)
    secrets = tuple(s.get_secret_value() for s in signing if s is not None)
    if not secrets and slack.app_token is None:
        raise ValueError(
            "slack: set signing_secret (SLACK_SIGNING_SECRET) to receive over HTTP, or app_token "
            "(SLACK_APP_TOKEN) for Socket Mode"
        )
    chosen = SlackSettings(
        bot_token=slack.bot_token.get_secret_value() if slack.bot_token else "",
        signing_secrets=secrets,
        app_token=slack.app_token.get_secret_value() if slack.app_token else "",
        api_url=slack.api_url,
        client_id=slack.client_id,
        client_secret=slack.client_secret.get_secret_value() if slack.client_secret else "",
        public_url=public_url,
        workspaces=slack.workspaces,
        install_secret=form_secret.encode(),
        staleness=float(slack.staleness_seconds),
        limits=Limits().times(slack.pace),
    )
    installations = None
    if slack.client_id and doors.documents is not None:
        from adapters.slack.installations import Installations
        from host.sealing import Sealer

        sealer = Sealer(doors.sealing)
        installations = Installations(doors.documents, sealer, lambda: time.time_ns() // 1_000_000)
    around = None
    if doors.inbox is not None and doors.documents is not None:
        from adapters.slack.presence import Surroundings

        locale = everybody(settings).locale
        quiet = slack.quiet_hours
        around = Surroundings(doors.inbox, doors.documents, _now, locale, quiet, talks=doors.talks)
    return SlackChannel(chosen, doors.intake, doors.first, installations, around, doors.rates)


def _now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _email(settings: Settings, public_url: str, doors: Doors) -> EmailChannel:
    from adapters.email.app import EmailChannel
    from gateway.outgoing_mail import mail_settings

    inbound = settings.email.inbound
    chosen = mail_settings(settings, public_url)
    vault = _vault(settings, doors)
    channel = EmailChannel(chosen, doors.links, vault)
    if inbound.address and doors.mail is not None:
        _receive(settings, channel, chosen, doors.mail, vault)
    return channel


def _vault(settings: Settings, doors: Doors) -> Vault | None:
    """Where refresh tokens are kept that change; None where there are none."""
    oauth = (settings.email.oauth, settings.email.inbound.oauth)
    if doors.documents is None or not any(one and one.refresh_token for one in oauth):
        return None
    from adapters.email.oauth import Vault
    from host.sealing import Sealer

    return Vault(doors.documents, Sealer(doors.sealing), _now)


def _receive(
    settings: Settings,
    channel: EmailChannel,
    email: EmailSettings,
    lent: Lent,
    vault: Vault | None,
) -> None:
    """Give the channel its incoming half."""
    from adapters.email.inbound.app import InboundMail

    try:
        chosen = inbound_settings(settings)
    except ValueError as error:
        raise ValueError(f"email.inbound: {error}") from error
    channel.receiving = InboundMail(chosen, email, lent, channel.send, vault)


def inbound_settings(settings: Settings) -> InboundSettings:
    """What receiving mail is told. Raises `ValueError`, without a secret in its text."""
    from adapters.email.inbound.settings import InboundSettings
    from gateway.outgoing_mail import oauth_of

    inbound = settings.email.inbound
    secrets = (inbound.imap_url, inbound.postmark_password, inbound.mailgun_key)
    imap_url, postmark, mailgun = (s.get_secret_value() if s is not None else "" for s in secrets)
    return InboundSettings(
        address=inbound.address,
        policy=inbound.policy,
        authserv_id=inbound.authserv_id,
        dkim=inbound.dkim,
        smtp=inbound.smtp,
        lmtp=inbound.lmtp,
        imap_url=imap_url,
        oauth=oauth_of(inbound.oauth),
        ses_topics=inbound.ses_topics,
        postmark_password=postmark,
        mailgun_key=mailgun,
        sendgrid_key=inbound.sendgrid_key,
        max_bytes=inbound.max_bytes,
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
    from adapters.webhooks.fetch_back import FetchBack

    fetching = FetchBack(doors.egress) if doors.egress is not None else None
    return WebhooksChannel(
        hook_sources(settings), doors.intake, time.time, doors.count, fetching=fetching
    )
