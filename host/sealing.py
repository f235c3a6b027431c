"""Secrets at rest: AES-256-GCM under a key that the store never holds.

A sealed text is bound to its place: what was sealed for one installation opens for no other, so a row
can't be swapped for another one. It names its key, and several keys open: the first one seals, the
others are on their way out (`docs/decisions/secrets-at-rest.md`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SHORTEST: Final = 32
"""Characters of a secret that a key is made from."""

_NONCE: Final = 12  # bytes: what GCM is specified for
_INFO: Final = b"sayso secrets at rest v1"


class SealBroken(Exception):
    """A sealed text can't be opened: its key is not among ours, or it was changed or moved."""


class Sealer:
    """Seals with the first secret, opens with any. Raises `ValueError` for one that is too short."""

    def __init__(self, secrets: Sequence[str]) -> None:
        if not secrets or min(len(one) for one in secrets) < SHORTEST:
            raise ValueError(
                f"an encryption key has at least {SHORTEST} characters: make one with a generator"
            )
        made = [_derived(secret) for secret in secrets]
        self._current = _name(made[0])
        self._ciphers = {_name(key): AESGCM(key) for key in reversed(made)}

    def seal(self, text: str, place: str) -> str:
        """`v1.<key name>.<nonce and ciphertext>`, openable for the same `place` alone."""
        nonce = os.urandom(_NONCE)
        sealed = self._ciphers[self._current].encrypt(nonce, text.encode(), place.encode())
        return f"v1.{self._current}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, place: str) -> str:
        """What was sealed. Raises `SealBroken`, which says nothing of the content."""
        version, _, rest = sealed.partition(".")
        name, _, body = rest.partition(".")
        cipher = self._ciphers.get(name) if version == "v1" else None
        if cipher is None:
            raise SealBroken("sealed with an encryption key that is not set here any more")
        try:
            raw = base64.b64decode(body, altchars=b"-_", validate=True)
            return cipher.decrypt(raw[:_NONCE], raw[_NONCE:], place.encode()).decode()
        except (binascii.Error, InvalidTag, ValueError):
            raise SealBroken("changed since it was sealed, or sealed for another place") from None

    def is_current(self, sealed: str) -> bool:
        """Whether the key that seals today sealed it. Otherwise seal it anew."""
        return sealed.startswith(f"v1.{self._current}.")


def _derived(secret: str) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=_INFO).derive(secret.encode())


def _name(key: bytes) -> str:
    """A key's public name: a digest of the key, so that it can't be confused and tells nothing."""
    return hashlib.sha256(b"name" + key).hexdigest()[:12]
