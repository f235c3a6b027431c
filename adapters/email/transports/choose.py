"""The way out that the settings name. What is not used is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.email.settings import EmailSettings
from adapters.email.transports.port import Transport

if TYPE_CHECKING:
    from adapters.email.oauth import Vault


def transport_of(settings: EmailSettings, vault: Vault | None = None) -> Transport:
    """A transport, not connected yet. `vault` keeps refresh tokens that change."""
    connections, timeout = settings.connections, settings.timeout
    if settings.ses is not None:
        from adapters.email.transports.ses import SesTransport

        return SesTransport(settings.ses, connections, timeout)
    if settings.postmark is not None:
        from adapters.email.transports.postmark import PostmarkTransport

        return PostmarkTransport(settings.postmark, connections, timeout)
    if settings.mailgun is not None:
        from adapters.email.transports.mailgun import MailgunTransport

        return MailgunTransport(settings.mailgun, connections, timeout)
    from adapters.email.client import SmtpClient
    from adapters.email.oauth import AccessTokens

    tokens = AccessTokens(settings.oauth, vault) if settings.oauth is not None else None
    return SmtpClient(settings, tokens)
