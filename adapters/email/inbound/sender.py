"""Who really sent a mail: the rules. Pure; the DNS answers that DKIM needs are fetched by the caller.

Fail closed. A sender is authenticated by one of three: `dmarc=pass` in the Authentication-Results that our
own mail server wrote (RFC 8601), the verdict of a provider whose webhook was verified, or a DKIM signature
that was computed here and is strict enough. A `dmarc` that failed wins over everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import authres
from publicsuffixlist import PublicSuffixList

from adapters.email.inbound.head import Head, sender

SINGLE: Final = (
    "from", "sender", "reply-to", "to", "cc", "subject", "date", "message-id",
    "in-reply-to", "references", "content-type", "content-transfer-encoding",
    "mime-version",
)  # fmt: skip
"""Fields that a mail has once at most (RFC 5322 3.6, RFC 2045). A second one shows something else than
what was signed."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What this gateway believes. `authserv_id` is "" where no mail server of ours stamps; `dkim` is true
    where it is computed here; `verdict` is what a verified provider said of this very mail."""

    authserv_id: str = ""
    dkim: bool = False
    verdict: Literal["", "pass", "fail"] = ""


@dataclass(frozen=True, slots=True)
class Sender:
    """`address` is the one that the mail claims, "" when it claims none or several. `by` says how it is
    known to be true; "" when it is not, and then `why` says why."""

    address: str
    by: str = ""
    why: str = ""


_MOST_STAMPS: Final = 20
_SUFFIXES: Final = PublicSuffixList()


def claimed(head: Head) -> Sender:
    """The sender that a mail claims, refused where its header is built to show another one."""
    try:
        address = sender(head)
    except ValueError as wrong:
        return Sender("", why=str(wrong))
    if head.damaged:
        return Sender(address, why="its header is damaged")
    for name in SINGLE:
        if len(head.all(name)) > 1:
            return Sender(address, why=f"it has more than one {name.title()} field")
    return Sender(address)


def stamped(head: Head, authserv_id: str, domain: str) -> Literal["pass", "fail", "none"]:
    """What our own mail server found out about `domain`, the sender's: the DMARC result alone.

    Only its topmost stamp is read: servers put theirs on top, and those below may have come with the
    mail. "none" without a stamp, or without a DMARC result in it.
    """
    for value in head.all("authentication-results")[:_MOST_STAMPS]:
        try:
            text = "Authentication-Results: " + value.decode("ascii")
            found = authres.AuthenticationResultsHeader.parse(text)
        except (authres.AuthResError, ValueError, IndexError, RecursionError):
            if _names(value, authserv_id):
                return "fail"
            continue
        if (found.authserv_id or "").lower() != authserv_id.lower():
            continue
        return _dmarc(found, domain)
    return "none"


def _names(value: bytes, authserv_id: str) -> bool:
    return value.strip().lower().startswith(authserv_id.lower().encode())


def _dmarc(
    found: authres.AuthenticationResultsHeader, domain: str
) -> Literal["pass", "fail", "none"]:
    results = [r for r in found.results if r.method == "dmarc"]
    if not results:
        return "none"
    if any(r.result != "pass" for r in results):
        only_none = all(r.result == "none" for r in results)
        return "none" if only_none else "fail"
    for result in results:
        about = [p.value for p in result.properties if (p.type, p.name) == ("header", "from")]
        if [str(each).lower() for each in about] != [domain]:
            return "fail"
    return "pass"


def aligned(signer: str, domain: str) -> bool:
    """Whether a signature of `signer` speaks for addresses at `domain`: the very domain, or one above it
    that somebody owns. Stricter than DMARC's relaxed mode: a subdomain speaks for nothing but itself."""
    signer, domain = signer.lower().rstrip("."), domain.lower()
    if signer == domain:
        return True
    return domain.endswith(f".{signer}") and _SUFFIXES.privatesuffix(signer) is not None
