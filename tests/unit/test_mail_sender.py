"""Who sent a mail: DKIM with real keys and real signatures, and what is refused though it verifies."""

from __future__ import annotations

import base64
import re
import time
from email.message import EmailMessage
from email.policy import SMTP
from functools import cache

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from adapters.email.inbound import dkim_check
from adapters.email.inbound.authenticate import authenticate
from adapters.email.inbound.reading import open_mail
from adapters.email.inbound.sender import Trust, aligned, stamped

NOW = float(int(time.time()))
ALL = [b"from", b"to", b"subject", b"date", b"message-id", b"content-type", b"references"]


@cache
def key(bits: int) -> tuple[bytes, bytes]:
    """(private PEM, TXT record)."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    private = made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = made.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return private, b"v=DKIM1; k=rsa; p=" + base64.b64encode(public)


def mail(**headers: str) -> bytes:
    made = EmailMessage(policy=SMTP)
    for name, value in {
        "From": "Ada <ada@example.com>",
        "To": "r@r.example.com",
        "Subject": "Re: Refund [A1B2C3D4]",
        "Date": "Mon, 30 Nov 2026 09:14:00 +0000",
        "Message-ID": "<m1@example.com>",
        "References": "<root@mail.example.com>",
        **headers,
    }.items():
        made[name] = value
    made.set_content("Approve\n")
    return made.as_bytes()


def signed(
    raw: bytes,
    *,
    domain: bytes = b"example.com",
    bits: int = 2048,
    fields: list[bytes] | None = None,
    **more: object,
) -> bytes:
    header = dkim.sign(
        raw,
        b"s1",
        domain,
        key(bits)[0],
        include_headers=fields or ALL,
        canonicalize=(b"relaxed", b"relaxed"),
        **more,
    )
    return bytes(header) + raw


def lookup(record: bytes | None = None, bits: int = 2048) -> dkim_check.Lookup:
    def txt(name: bytes, timeout: int = 5) -> bytes | None:
        return key(bits)[1] if record is None else record or None

    return txt


async def found(raw: bytes, txt: dkim_check.Lookup | None = None, now: float = NOW) -> str:
    """What the sender is known by, or why not."""
    sender = await authenticate(open_mail(raw), Trust(dkim=True), now, txt or lookup())
    return sender.by or sender.why


async def test_a_genuine_signature() -> None:
    assert await found(signed(mail())) == "DKIM"


async def test_the_second_signature_counts_as_well_as_the_first() -> None:
    provider = signed(signed(mail()), domain=b"esp.example.net")
    assert await found(provider) == "DKIM"


async def test_a_signature_that_is_not_taken_stands_in_nobodys_way() -> None:
    other = b"DKIM-Signature: v=1; a=ed25519-sha256; d=example.com; s=e; h=from; bh=x; b=y\r\n"
    assert await found(other + signed(mail())) == "DKIM"
    broken = b"DKIM-Signature: v=1; a=rsa-sha256; d=example.com; d=example.com; bh\r\n"
    assert await found(broken + signed(mail())) == "DKIM"


async def test_refusals() -> None:
    """Each of these is one that a library may say yes to, or that proves another thing."""
    body = signed(mail())
    cases: dict[str, tuple[bytes, dkim_check.Lookup, str]] = {
        "unsigned": (mail(), lookup(), "it has no DKIM signature"),
        "changed body": (body.replace(b"Approve", b"Reject!"), lookup(), "does not hold"),
        "changed subject": (body.replace(b"Refund", b"Refunds"), lookup(), "does not hold"),
        "another domain": (
            signed(mail(), domain=b"evil.example"),
            lookup(),
            "of another domain than its sender",
        ),
        "a subdomain of the sender's": (
            signed(mail(), domain=b"lab.example.com"),
            lookup(),
            "of another domain",
        ),
        "no key": (body, lookup(b""), "does not hold"),
        "a key that is revoked": (body, lookup(b"v=DKIM1; p="), "does not hold"),
        "a domain that tests": (body, lookup(key(2048)[1] + b"; t=y"), "does not hold"),
        "a short key": (signed(mail(), bits=1024), lookup(key(1024)[1]), "DKIM"),
        "sha1": (
            body.replace(b"a=rsa-sha256", b"a=rsa-sha1"),
            lookup(),
            "an algorithm that is not taken",
        ),
        "length": (signed(mail(), length=True) + b"More\r\n", lookup(), "only a part of the text"),
        "no subject": (
            signed(mail(), fields=[b"from", b"date", b"message-id", b"content-type"]),
            lookup(),
            "does not cover Subject",
        ),
        "no content type": (
            signed(mail(), fields=[b"from", b"subject", b"date", b"message-id"]),
            lookup(),
            "does not cover Content-Type",
        ),
        "a second subject on top": (
            b"Subject: Re: Other\r\n" + body,
            lookup(),
            "more than one Subject",
        ),
        "a second sender on top": (
            b"From: eve@evil.example\r\n" + body,
            lookup(),
            "2 From fields",
        ),
    }
    for name, (raw, txt, why) in cases.items():
        assert why in await found(raw, txt), name


async def test_times_of_a_signature() -> None:
    raw = signed(mail())
    made = re.search(rb"[ ;]t=(\d+)", raw)  # the library takes the time of this machine
    assert made is not None
    at, why = float(made[1]), "its DKIM signature is too old, or of the future"
    assert await found(raw, now=at + dkim_check.MAX_AGE + 1) == why
    assert await found(raw, now=at + dkim_check.MAX_AGE - 1) != why
    assert await found(raw, now=at - 3601) == why
    assert await found(raw, now=at - 3599) != why


async def test_a_lookup_that_breaks_is_no_proof() -> None:
    def broken(name: bytes, timeout: int = 5) -> bytes | None:
        raise RuntimeError("resolver")

    assert "DKIM" in await found(signed(mail()), broken)
    assert await found(signed(mail()), broken) != "DKIM"


async def test_a_failed_verdict_wins_over_a_signature_that_holds() -> None:
    stamp = b"Authentication-Results: mx.example.com; dmarc=fail header.from=example.com\r\n"
    trust = Trust("mx.example.com", dkim=True)
    sender = await authenticate(open_mail(stamp + signed(mail())), trust, NOW, lookup())
    assert (sender.by, sender.why) == ("", "our mail server says that DMARC failed")
    provider = Trust(dkim=True, verdict="fail")
    sender = await authenticate(open_mail(signed(mail())), provider, NOW, lookup())
    assert sender.by == ""


@pytest.mark.parametrize(
    ("signer", "domain", "speaks"),
    [
        ("example.com", "example.com", True),
        ("EXAMPLE.com", "example.com", True),
        ("example.com", "mail.example.com", True),
        ("mail.example.com", "example.com", False),
        ("com", "example.com", False),
        ("co.uk", "example.co.uk", False),
        ("github.io", "me.github.io", False),
        ("notexample.com", "example.com", False),
        ("ample.com", "example.com", False),
        ("", "example.com", False),
    ],
)
def test_who_speaks_for_a_domain(signer: str, domain: str, speaks: bool) -> None:
    assert aligned(signer, domain) is speaks


@pytest.mark.parametrize(
    ("server", "value", "found"),
    [
        # As these programs write it.
        (
            "mx.google.com",
            "mx.google.com;\r\n       dkim=pass header.i=@example.com header.s=s1 header.b=abC+/d1;\r\n"
            "       spf=pass (google.com: domain of ada@example.com designates 192.0.2.1 as permitted"
            " sender) smtp.mailfrom=ada@example.com;\r\n"
            "       dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.com",
            "pass",
        ),
        (
            "mx.example.net",
            "mx.example.net; dmarc=pass (p=none dis=none) header.from=example.com",
            "pass",
        ),
        (
            "mx.example.net",
            "mx.example.net;\r\n\tdkim=pass header.d=example.com header.s=s1 header.b=x;\r\n"
            "\tdmarc=pass (policy=reject) header.from=example.com;\r\n\tspf=pass smtp.mailfrom=a@example.com",
            "pass",
        ),
        ("mx.example.net", "mx.example.net 1; dmarc=pass header.from=EXAMPLE.com", "pass"),
        ("mx.example.net", "mx.example.net; none", "none"),
        (
            "mx.example.net",
            "mx.example.net.evil.example; dmarc=pass header.from=example.com",
            "none",
        ),
        ("mx.example.net", "mx.example.net; dmarc=bestguesspass header.from=example.com", "fail"),
        ("mx.example.net", "mx.example.net; dmarc=temperror header.from=example.com", "fail"),
        (
            "mx.example.net",
            "mx.example.net; dmarc=pass header.from=example.com; dmarc=fail header.from=example.com",
            "fail",
        ),
        ("mx.example.net", "mx.example.net; dmarc=pass header.from=a.example.com", "fail"),
        ("mx.example.net", "mx.example.net; ((((", "fail"),
        ("mx.example.net", "", "none"),
    ],
)
def test_stamps(server: str, value: str, found: str) -> None:
    head = open_mail(f"Authentication-Results: {value}\r\n\r\nx".encode()).head
    assert stamped(head, server, "example.com") == found
