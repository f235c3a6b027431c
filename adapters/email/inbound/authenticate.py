"""Who really sent this mail, and is it an answer to this very mail of ours?

The rules are in `sender.py` and `dkim_check.py`; here they are put in their order. DKIM's keys are fetched in
threads with an end, and what libraries compute over a stranger's bytes goes through `call`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from adapters.email.handles import Handle, parse_reply_address
from adapters.email.inbound import dkim_check
from adapters.email.inbound.bounds import Unreadable
from adapters.email.inbound.confined import Call
from adapters.email.inbound.head import Head
from adapters.email.inbound.reading import Mail
from adapters.email.inbound.sender import Sender, Trust, claimed, stamped

MAX_AGE: Final = timedelta(days=14)
"""Between the writing of a reply and its arrival."""
MAX_AHEAD: Final = timedelta(hours=26)
"""A clock that is wrong by its whole time zone."""
DKIM_SECONDS: Final = 20.0


async def authenticate(
    mail: Mail,
    trust: Trust,
    now: float,
    lookup: dkim_check.Lookup,
    call: Call = asyncio.to_thread,
) -> Sender:
    """The sender, and by what they are known. Never raises for what a mail says; `by` is "" when nothing
    vouches for them. `now` is Unix seconds; `call` computes what may hang."""
    sender = claimed(mail.head)
    if sender.why:
        return sender
    domain = sender.address.rpartition("@")[2]
    if trust.verdict == "fail":
        return replace(sender, why="the provider says that DMARC failed")
    if trust.verdict == "pass":
        return replace(sender, by="the provider's DMARC verdict")
    try:
        if trust.authserv_id:
            stamp = await call(stamped, mail.head, trust.authserv_id, domain)
            if stamp == "pass":
                return replace(sender, by="our mail server's DMARC verdict")
            if stamp == "fail":
                return replace(sender, why="our mail server says that DMARC failed")
        if not trust.dkim:
            return replace(sender, why="nothing here vouches for its sender")
        held, why = await _signed(mail, domain, now, lookup, call)
    except Unreadable as unreadable:
        return replace(sender, why=f"its sender can't be checked: {unreadable}")
    return replace(sender, by="DKIM") if held else replace(sender, why=why)


async def _signed(
    mail: Mail, domain: str, now: float, lookup: dkim_check.Lookup, call: Call
) -> tuple[bool, str]:
    names, why = await asyncio.to_thread(dkim_check.keys_of, mail.raw, mail.head, domain, now)
    if not names:
        return False, why
    try:
        async with asyncio.timeout(DKIM_SECONDS):
            found = await asyncio.gather(
                *(asyncio.to_thread(_record, lookup, name) for name in names)
            )
    except TimeoutError:
        return False, "its DKIM key could not be fetched in time"
    keys = dict(zip(names, found, strict=True))
    held: tuple[bool, str] = await call(dkim_check.verify, mail.raw, mail.head, domain, now, keys)
    return held


def _record(lookup: dkim_check.Lookup, name: bytes) -> bytes | None:
    """A key's record. A resolver that fails knows of none."""
    try:
        return lookup(name, dkim_check.LOOKUP_SECONDS)
    except Exception:
        return None


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
