"""The mail channel's settings, from the gateway's."""

from __future__ import annotations

from adapters.email.settings import (
    EmailSettings,
    MailgunAccount,
    OAuth,
    PostmarkAccount,
    SesAccount,
)
from config.mail import Email
from config.mail import OAuth as OAuthSection
from config.settings import Settings


def mail_settings(settings: Settings, public_url: str) -> EmailSettings:
    """Raises `ValueError` with what is wrong, without a secret in it."""
    email = settings.email
    place = email.inbound.address
    return EmailSettings(
        smtp_url=email.smtp_url.get_secret_value() if email.smtp_url is not None else "",
        from_address=email.from_,
        public_url=public_url,
        connections=email.connections,
        ses=_ses(email),
        postmark=_postmark(email),
        mailgun=_mailgun(email),
        oauth=oauth_of(email.oauth),
        place=place,
        replies=email.inbound.policy if place else "off",
        endings=email.endings,
        quiet=frozenset(
            address for person in settings.people if not person.endings for address in person.email
        ),
    )


def oauth_of(section: OAuthSection | None) -> OAuth | None:
    """Raises `ValueError`, without a secret in its text."""
    if section is None:
        return None
    return OAuth(
        section.token_url,
        section.client_id,
        section.client_secret.get_secret_value(),
        section.refresh_token.get_secret_value(),
        section.scope,
    )


def _ses(email: Email) -> SesAccount | None:
    ses = email.ses
    if ses is None:
        return None
    return SesAccount(
        region=ses.region,
        access_key_id=ses.access_key_id,
        secret_access_key=ses.secret_access_key.get_secret_value(),
        session_token=ses.session_token.get_secret_value(),
        configuration_set=ses.configuration_set,
        api_url=ses.api_url,
    )


def _postmark(email: Email) -> PostmarkAccount | None:
    postmark = email.postmark
    if postmark is None:
        return None
    token = postmark.server_token.get_secret_value()
    return PostmarkAccount(token, postmark.stream, postmark.api_url)


def _mailgun(email: Email) -> MailgunAccount | None:
    mailgun = email.mailgun
    if mailgun is None:
        return None
    key = mailgun.api_key.get_secret_value()
    return MailgunAccount(mailgun.domain, key, mailgun.region, mailgun.api_url)
