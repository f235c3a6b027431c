"""The way out that the settings name. What is not used is not imported."""

from __future__ import annotations

from adapters.email.settings import EmailSettings
from adapters.email.transports.port import Transport


def transport_of(settings: EmailSettings) -> Transport:
    """A transport, not connected yet."""
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

    return SmtpClient(settings)
