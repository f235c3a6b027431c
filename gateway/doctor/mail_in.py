"""Checks of mail that comes in: the settings, where the address leads, the mailbox."""

from __future__ import annotations

import asyncio
import imaplib
import ssl

import dns.asyncresolver
import dns.exception

from adapters.email.inbound.settings import Imap, InboundSettings
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
    found = [_trust(chosen)]
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

    def look() -> str:
        if account.tls:
            context = ssl.create_default_context()
            client: imaplib.IMAP4 = imaplib.IMAP4_SSL(
                account.host, account.port, ssl_context=context, timeout=_SECONDS
            )
        else:
            client = imaplib.IMAP4(account.host, account.port, timeout=_SECONDS)
        with client:
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
