"""Checks of mail that comes in: the settings, where the address leads, the mailbox."""

from __future__ import annotations

import asyncio
import imaplib
import ssl

import dns.asyncresolver
import dns.exception

from adapters.channel import DeliveryFailed
from adapters.email.inbound.settings import Imap, InboundSettings
from adapters.email.oauth import AccessTokens
from config.settings import Settings
from gateway.channels import inbound_settings
from gateway.doctor.finding import Finding, fail, ok, warn

_SECONDS = 8.0


async def check(settings: Settings) -> list[Finding]:
    """One finding or more for each thing that is set up. It changes nothing."""
    try:
        chosen = inbound_settings(settings)
    except ValueError as wrong:
        return [fail("replies", str(wrong), "See docs/email-replies.md.")]
    found = [_trust(chosen), *_reports(settings, chosen)]
    if chosen.smtp or chosen.lmtp:
        found.append(await _leads_here(chosen))
    if chosen.imap is not None:
        found.append(await _mailbox(chosen.imap))
    hooks = (chosen.ses_topics, chosen.postmark_password, chosen.mailgun_key, chosen.sendgrid_key)
    if any(hooks) and not settings.http.public_url.startswith("https://"):
        do = "Set http.public_url to the https address at which the provider reaches us."
        found.append(warn("provider", "its webhook has no public https address", do))
    return found


def _trust(chosen: InboundSettings) -> Finding:
    if chosen.policy != "decide":
        return ok(
            "senders", f"replies may {chosen.policy if chosen.policy == 'comment' else 'nothing'}"
        )
    ways = []
    if chosen.authserv_id:
        ways.append(f"Authentication-Results of {chosen.authserv_id}")
    if chosen.dkim:
        ways.append("DKIM, checked here")
    if chosen.ses_topics:
        ways.append("the verdict of SES")
    return ok("senders", f"known by {' or '.join(ways)}")


def _reports(settings: Settings, chosen: InboundSettings) -> list[Finding]:
    """Whether we hear of mail that was lost: these two take no bounce address of ours."""
    email = settings.email
    ways = (
        ("Postmark", email.postmark, chosen.postmark_password, "postmark_password"),
        ("Mailgun", email.mailgun, chosen.mailgun_key, "mailgun_key"),
    )
    for name, account, secret, setting in ways:
        if account is not None and not secret:
            path = f"/mail/{name.lower()}/reports"
            do = f"Set email.inbound.{setting}, and a webhook at {name} that leads to {path}."
            return [warn("bounces", f"{name} mails, and can't tell us what was lost", do)]
    return []


async def _leads_here(chosen: InboundSettings) -> Finding:
    domain = chosen.place.rpartition("@")[2]
    resolver = dns.asyncresolver.Resolver()
    resolver.lifetime = _SECONDS
    try:
        answer = await resolver.resolve(domain, "MX")
    except (dns.exception.DNSException, OSError) as error:
        do = f"Give {domain} an MX record that leads to the mail server in front of us."
        return fail("address", f"{domain} has no MX: {type(error).__name__}", do)
    servers = sorted((record.preference, str(record.exchange).rstrip(".")) for record in answer)
    return ok("address", f"mail for {domain} goes to {', '.join(name for _, name in servers[:4])}")


async def _mailbox(account: Imap) -> Finding:
    """Log in and look at the folder, without changing anything."""
    token = ""
    if account.oauth is not None:
        tokens = AccessTokens(account.oauth)
        try:
            token = await tokens.get()
        except DeliveryFailed as refused:
            return fail("mailbox", str(refused), "Check email.inbound.oauth.")
        finally:
            await tokens.close()

    def look() -> str:
        if account.tls:
            context = ssl.create_default_context()
            client: imaplib.IMAP4 = imaplib.IMAP4_SSL(
                account.host, account.port, ssl_context=context, timeout=_SECONDS
            )
        else:
            client = imaplib.IMAP4(account.host, account.port, timeout=_SECONDS)
        with client:
            if token:
                said = f"user={account.username}\1auth=Bearer {token}\1\1".encode()
                client.authenticate("XOAUTH2", lambda _: said)
            else:
                client.login(account.username, account.password)
            status, _ = client.select(account.folder, readonly=True)
            idle = "IDLE" in client.capabilities
            return "" if status != "OK" else "tells at once" if idle else "is polled"

    try:
        says = await asyncio.to_thread(look)
    except (imaplib.IMAP4.error, OSError) as error:
        do = "Check host, user and password of email.inbound.imap_url."
        return fail("mailbox", f"{account.host} can't be read: {type(error).__name__}", do)
    if not says:
        do = "Name a folder that exists, as in imaps://user:password@host/INBOX."
        return fail("mailbox", f"there is no folder {account.folder}", do)
    return ok("mailbox", f"{account.folder} at {account.host} is read, and {says}")
