"""DKIM, computed here, and stricter than the standard asks for (RFC 6376).

dkimpy says yes to a mail that somebody added a body, a subject or another content type to, where the
signature allows it. For a decision by mail such signatures are as good as none: see `_refusal`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import dkim
import dns.exception
import dns.resolver

from adapters.email.inbound.head import Head
from adapters.email.inbound.sender import aligned

Lookup = Callable[[bytes, int], bytes | None]
"""(name with a dot at its end, seconds) -> the TXT record, or None."""

MIN_KEY: Final = 1024
"""Bits of an RSA key (RFC 8301 3.2)."""
MAX_AGE: Final = 14 * 86_400
"""Seconds since a signature was made. An older mail can't answer for its sender any more."""
MAX_EFFORT = 10**8
"""Of `_effort`: some seconds of the library."""
_MOST_SIGNATURES: Final = 5
_ALGORITHMS: Final = frozenset({"rsa-sha256"})
"""Whoever signs with Ed25519 signs with RSA too, as RFC 8463 advises: few could read it otherwise."""
_SIGNED: Final = ("from", "subject", "date", "message-id")
LOOKUP_SECONDS: Final = 4
"""For one key to come from DNS."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def dns_txt(name: bytes, timeout: int = LOOKUP_SECONDS) -> bytes | None:
    """One TXT record by the system's resolver, its pieces joined."""
    try:
        answer = dns.resolver.resolve(
            name.decode("ascii"), "TXT", lifetime=min(timeout, LOOKUP_SECONDS)
        )
    except (dns.exception.DNSException, UnicodeError):
        return None
    records = [b"".join(record.strings) for record in answer]
    return records[0] if len(records) == 1 else None


def keys_of(raw: bytes, head: Head, domain: str, now: float) -> tuple[tuple[bytes, ...], str]:
    """The names of the keys by which some signature could prove that `domain` sent this mail; when there
    are none, why not. Up to five signatures are looked at: those of providers stand beside the sender's.
    """
    why, names = "it has no DKIM signature", []
    if _effort(raw) > MAX_EFFORT:
        return (), "it holds so many blanks that DKIM can't be checked"
    for value in head.all("dkim-signature")[:_MOST_SIGNATURES]:
        tags = _tags(value)
        refused = _refusal(tags, head, domain, now)
        why = refused or why
        if not refused:
            names.append(f"{tags.get('s', '')}._domainkey.{tags['d']}.".encode())
    return tuple(names), "" if names else why


def verify(
    raw: bytes, head: Head, domain: str, now: float, keys: Mapping[bytes, bytes | None]
) -> tuple[bool, str]:
    """Whether some signature proves that `domain` sent this mail, and if not, why not. `keys` are the TXT
    records of `keys_of`. To be called where it may hang: see `confined`."""

    def known(name: bytes, timeout: int = LOOKUP_SECONDS) -> bytes | None:
        return keys.get(name)

    why = "it has no DKIM signature"
    for number, value in enumerate(head.all("dkim-signature")[:_MOST_SIGNATURES]):
        try:
            why = _refusal(_tags(value), head, domain, now)
            if not why and _holds(raw, number, known):
                return True, ""
            why = why or "its DKIM signature does not hold"
        except Exception:
            # Whatever a stranger's mail makes the library stumble over is no proof.
            why = "its DKIM signature can't be read"
    return False, why


def _effort(raw: bytes) -> int:
    """How much work the blanks of a mail are: the library needs the square of each run of them, so the
    lines of a single mail can keep it busy for a minute. Within a factor of some, and in no time."""
    blanks = raw.replace(b"\t", b" ")
    return sum(length**2 * blanks.count(b" " * length) for length in (64, 256, 1024, 4096))


def _holds(raw: bytes, number: int, lookup: Lookup) -> bool:
    testing = False

    def asked(name: bytes, timeout: int = LOOKUP_SECONDS) -> bytes | None:
        nonlocal testing
        record = lookup(name, timeout)
        flags = _tags(record or b"").get("t", "").split(":")
        testing = testing or "y" in [flag.strip() for flag in flags]
        return record

    try:
        checked = dkim.DKIM(raw, minkey=MIN_KEY, timeout=LOOKUP_SECONDS)
        held = bool(checked.verify(idx=number, dnsfunc=asked))
    except (dkim.DKIMException, dns.exception.DNSException):
        return False
    return held and not testing  # RFC 6376 3.6.1: a domain that tests is as one without DKIM


def _refusal(tags: dict[str, str], head: Head, domain: str, now: float) -> str:
    """Why a signature is not even tried, "" when it is."""
    if not aligned(tags.get("d", ""), domain):
        return "its DKIM signature is of another domain than its sender"
    identity = tags.get("i", "").rpartition("@")[2].lower()
    if (
        identity
        and identity != tags["d"].lower()
        and not identity.endswith(f".{tags['d'].lower()}")
    ):
        return "its DKIM signature names another identity"
    if tags.get("a", "").lower() not in _ALGORITHMS:
        return "its DKIM signature uses an algorithm that is not taken"
    if "l" in tags:
        return "its DKIM signature covers only a part of the text"
    if not all(_BASE64.fullmatch(tags.get(name, "")) for name in ("b", "bh")):
        return "its DKIM signature can't be read"
    signed = [name.strip().lower() for name in tags.get("h", "").split(":")]
    wanted = [*_SIGNED, *(["content-type"] if head.all("content-type") else [])]
    for name in wanted:
        if name not in signed or not head.all(name):
            return f"its DKIM signature does not cover {name.title()}"
    made, ends = tags.get("t", ""), tags.get("x", "")
    if ends and (not ends.isdecimal() or float(ends[:15]) < now):
        return "its DKIM signature has expired"
    if made and (not made.isdecimal() or not now - MAX_AGE <= float(made[:15]) <= now + 3600):
        return "its DKIM signature is too old, or of the future"
    return ""


def covers(value: bytes, name: str) -> bool:
    """Whether a signature covers a field."""
    return name in [each.strip().lower() for each in _tags(value).get("h", "").split(":")]


def _tags(value: bytes) -> dict[str, str]:
    """RFC 6376 3.2. A tag that is there twice makes the whole list unreadable."""
    found: dict[str, str] = {}
    for part in value.decode("ascii", "replace").split(";")[:60]:
        name, equals, said = part.partition("=")
        name = name.strip()
        if not equals:
            continue
        if name in found:
            return {}
        found[name] = re.sub(r"\s+", "", said) if name not in ("i",) else said.strip()
    return found
