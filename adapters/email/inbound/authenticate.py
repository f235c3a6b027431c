"""Who really sent this mail, and is it an answer to this very mail of ours?

The rules are in `sender.py` and `dkim_check.py`; here they are put in their order, and the one thing that
asks the network (DKIM keys) runs in a thread with an end.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from adapters.email.handles import Handle, parse_reply_address
from adapters.email.inbound import dkim_check
from adapters.email.inbound.head import Head
from adapters.email.inbound.reading import Mail
from adapters.email.inbound.sender import Sender, Trust, claimed, stamped

MAX_AGE: Final = timedelta(days=14)
"""Between the writing of a reply and its arrival."""
MAX_AHEAD: Final = timedelta(hours=26)
"""A clock that is wrong by its whole time zone."""
DKIM_SECONDS: Final = 20.0


async def authenticate(mail: Mail, trust: Trust, now: float, lookup: dkim_check.Lookup) -> Sender:
    """The sender, and by what they are known. Never raises; `by` is "" when nothing vouches for them.

    `now` is Unix seconds.
    """
    sender = claimed(mail.head)
    if sender.why:
        return sender
    domain = sender.address.rpartition("@")[2]
    if trust.verdict == "fail":
        return replace(sender, why="the provider says that DMARC failed")
    if trust.verdict == "pass":
        return replace(sender, by="the provider's DMARC verdict")
    stamp = stamped(mail.head, trust.authserv_id, domain) if trust.authserv_id else "none"
    if stamp == "pass":
        return replace(sender, by="our mail server's DMARC verdict")
    if stamp == "fail":
        return replace(sender, why="our mail server says that DMARC failed")
    if not trust.dkim:
        return replace(sender, why="nothing here vouches for its sender")
    try:
        async with asyncio.timeout(DKIM_SECONDS):
            held, why = await asyncio.to_thread(
                dkim_check.verify, mail.raw, mail.head, domain, now, lookup
            )
    except TimeoutError:
        held, why = False, "its DKIM key could not be fetched in time"
    return replace(sender, by="DKIM") if held else replace(sender, why=why)


def unbound(mail: Mail, issued: frozenset[str], reference: str, now: float) -> str:
    """Why this mail is no answer to ours, "" when it is one.

    A signature says who wrote a mail, not to whom: a genuine "yes" to one request can be sent to the
    address of another. So it has to name a mail that was sent for this very request; the subject, which
    providers sign where they leave the references out, has to carry its reference; and it has to be new.
    """
    named = {*mail.head.ids("in-reply-to"), *mail.head.ids("references")}
    if not named & issued:
        return "it answers no mail of ours about this request"
    if reference and reference.casefold() not in mail.head.words("subject").casefold():
        return "its subject doesn't carry the reference of this request"
    if not mail.message_id:
        return "it has no Message-ID"
    date, today = mail.date, datetime.fromtimestamp(now, UTC)
    if date is None or not today - MAX_AGE <= date <= today + MAX_AHEAD:
        return "its date is missing or too far from today"
    return ""


def handles_in(head: Head, place: str) -> set[Handle]:
    """The reply and bounce handles of ours in To and Cc."""
    found: set[Handle] = set()
    for name in ("to", "cc"):
        for value in head.all(name):
            for word in value.decode("ascii", "replace").replace(",", " ").split()[:300]:
                handle = parse_reply_address(word.strip("<>\"';()"), place)
                if handle is not None:
                    found.add(handle)
    return found
