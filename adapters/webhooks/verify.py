"""Webhook signatures: what is common to all, whatever the provider's scheme.

A provider's scheme is a `Proof`: mostly a row of the table in `scheme.py`, and for the few that no
table holds (a certificate, a signature inside the body) a class in the provider's own file. What
must never differ is here: any surprise is a refusal, and a secret that can't work is found at start.

Pure: the time is an argument, nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

Reason = Literal["missing", "malformed", "mismatch", "stale", "future"]

MAX_HEADER: Final = 4096
"""Characters of a signature header. The longest honest one, many signatures in a rotation, has
800."""
MAX_SIGNATURES: Final = 16


class SignatureRefused(Exception):
    """The request isn't known to come from its provider, or isn't fresh.

    `reason` is one of a few fixed words, fit for a counter: it never holds anything of the request.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as a provider sends it. `url` is the one that the operator configured, with the
    query that came; it is empty for a source without one."""

    headers: Mapping[str, str]
    body: bytes
    url: str = ""


class Proof(Protocol):
    """How one provider proves that a request is its own."""

    @property
    def needs_url(self) -> bool:
        """Whether the public URL is part of what is signed."""

    @property
    def min_key(self) -> int:
        """Bytes. Below this a secret is a slip of the pen, not a secret."""

    def check(self, secrets: Sequence[str], arrival: Arrival, now: float) -> None:
        """Return for a proof that holds. Raises `SignatureRefused`, or anything else that malformed
        input may cause; `verify` makes a refusal of it. Headers have lower-case names."""

    def seal(
        self, secrets: Sequence[str], body: bytes, *, now: float, message_id: str, url: str
    ) -> Arrival:
        """The request with which the provider would send `body`: the inverse of `check`. Header names
        are spelled as the provider does. Raises `ValueError` for what can't be signed."""

    def key_of(self, secret: str) -> bytes:
        """The bytes that the secret stands for. Raises `ValueError` with a sentence that doesn't quote
        it."""


def verify(
    proof: Proof,
    secrets: Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    now: float,
    url: str = "",
) -> None:
    """Return if one of `secrets` signed exactly this `body` recently enough; raise otherwise.

    `headers` has lower-case names; `now` is Unix seconds. Raises `SignatureRefused` and nothing
    else: whatever goes wrong on the way, with input that a stranger chose, is a refusal.
    """
    try:
        proof.check(secrets, Arrival(headers, body, url), now)
    except SignatureRefused:
        raise
    except Exception:
        # Fail closed. The cause is left out: its text may quote the request.
        raise SignatureRefused("malformed") from None


def sign(
    proof: Proof,
    secrets: Sequence[str],
    body: bytes,
    *,
    now: float,
    message_id: str = "",
    url: str = "",
) -> dict[str, str]:
    """The headers with which the provider would send `body`: the inverse of `verify`.

    With several `secrets` all of them sign, as a provider does while one replaces the other. `now`
    is Unix seconds. Raises `ValueError` for a secret that `check_secret` refuses, for no secret,
    for several where the header has room for one, and for an id that the scheme can't carry.
    """
    for secret in secrets:
        check_secret(proof, secret)
    sent = proof.seal(secrets, body, now=now, message_id=message_id, url=url)
    return dict(sent.headers)


def check_secret(proof: Proof, secret: str) -> None:
    """Raise `ValueError`, with a sentence that doesn't quote it, for a secret that can never
    verify."""
    if secret != secret.strip() or not secret:
        raise ValueError("the secret is empty or has blanks around it; copy it again")
    if len(proof.key_of(secret)) < proof.min_key:
        raise ValueError(f"the secret has less than {proof.min_key} bytes; make a longer one")


def header(headers: Mapping[str, str], name: str) -> str:
    """A header that has to be there, without blanks around it. Raises `SignatureRefused`."""
    value = headers.get(name.lower(), "").strip()
    if not value:
        raise SignatureRefused("missing")
    if len(value) > MAX_HEADER:
        raise SignatureRefused("malformed")
    return value


def raw_bytes(text: str) -> bytes:
    """Header text as bytes: comparing two str with a character beyond ASCII in them raises."""
    return text.encode("utf-8", "surrogateescape")


def check_fresh(timestamp: float, now: float, tolerance: float) -> None:
    """Raise `SignatureRefused` for a time more than `tolerance` seconds from `now`, either way."""
    if not timestamp >= now - tolerance:
        raise SignatureRefused("stale")
    if not timestamp <= now + tolerance:
        raise SignatureRefused("future")


def one_secret(secrets: Sequence[str]) -> str:
    """The secret to sign with where there is room for one signature. Raises `ValueError`."""
    if len(secrets) != 1:
        raise ValueError("give one secret; several only where the header can list signatures")
    return secrets[0]
