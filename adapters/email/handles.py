"""Reply and bounce handles: what stands before the @ of the addresses that we receive at. Pure.

A handle is one letter for its use (`r` a reply, `b` a bounce) and 26 letters of lower-case base32:
an HMAC of the interrupt and the person, so a mail that is sent again has the same addresses. The
store keeps its hash alone (`digest`), and the use is part of both: a reply address that leaked in a
quoted header opens no answer page, and a bounce address answers nothing.

Base32 because mail software changes the case of a local part, and 27 letters because a local part
has 64 octets at most, of which a mailbox with a plus (`sayso+r…@example.com`) needs some itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final, Literal

from adapters.email.address import MAX_LOCAL, canonical

Use = Literal["reply", "bounce"]

LENGTH: Final = 27
"""Characters of a handle."""

_LETTERS: Final[dict[Use, str]] = {"reply": "r", "bounce": "b"}
_HANDLE: Final = re.compile(r"([rb])[a-z2-7]{26}")


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle as it was found in an address. Well-formed, and nothing more: look it up."""

    use: Use
    text: str


def derive(secret: bytes, use: Use, interrupt_id: str, channel: str, person: str) -> str:
    """The handle of one use for one interrupt and one person (`person` as the channel knows them)."""
    bound = "\0".join(("sayso.mail", use, interrupt_id, channel, person)).encode()
    mac = hmac.digest(secret, bound, "sha256")[:16]
    return _LETTERS[use] + base64.b32encode(mac).decode().rstrip("=").lower()


def digest(handle: str) -> str:
    """What the links store keeps of a handle. Never equal to the hash of an answer link's handle."""
    return hashlib.sha256(f"sayso.mail\0{handle}".encode()).hexdigest()


def check_place(place: str) -> str:
    """The canonical spelling of where replies arrive: a domain whose every address is ours
    (`r.example.com`), or one mailbox that takes a plus (`sayso@example.com`).

    Raises `ValueError` with what a right one looks like.
    """
    mailbox, at, _ = place.rpartition("@")
    whole = canonical(place if at else f"a@{place}")
    if at and ("+" in mailbox or len(mailbox) + 1 + LENGTH > MAX_LOCAL):
        raise ValueError(
            f"{place!r} can't receive replies: the part before the @ needs room for a plus and "
            f"{LENGTH} letters, and no plus of its own"
        )
    return whole if at else whole.partition("@")[2]


def reply_address(handle: str, place: str) -> str:
    """The address that belongs to a handle at `place` (see `check_place`): for a reply handle the
    mail's Reply-To, for a bounce handle its envelope sender (VERP)."""
    mailbox, at, domain = place.rpartition("@")
    return f"{mailbox}+{handle}@{domain}" if at else f"{handle}@{place}"


def parse_reply_address(address: str, place: str) -> Handle | None:
    """The handle in an address at `place`, in whatever case it comes; None for any other address.

    Take the address from the envelope (RCPT TO): the To header is rewritten, expanded and forged.
    """
    local, at, domain = address.strip("<> ").lower().rpartition("@")
    mailbox, plus, ours = place.lower().rpartition("@")
    if not at or domain != ours:
        return None
    if plus:
        found_mailbox, _, local = local.partition("+")
        if found_mailbox != mailbox:
            return None
    found = _HANDLE.fullmatch(local)
    if found is None:
        return None
    return Handle("reply" if found[1] == "r" else "bounce", local)
