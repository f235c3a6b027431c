"""Form nonces: proof that a form came from a page that we drew for this very browser and link.

A nonce is sealed, not stored, so a GET leaves nothing behind on the server and any replica can
check it. It is bound to the link's handle and to a random cookie, carries the card version that the
page showed, and ages out. The note that a page shows after a redirect is sealed in the same way.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any, Final, Literal

from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer

MAX_AGE: Final = 12 * 3600
"""Seconds that a form may stay open before its button has to be pressed twice."""

NOTE_MAX_AGE: Final = 60
"""Seconds that the note after a redirect is shown for."""

_MAX_SEALED: Final = 4096
_COOKIE: Final = re.compile(r"[A-Za-z0-9_-]{32,64}")


class NonceRefused(Exception):
    """The form does not count. `why`: it carried no nonce or no cookie, was open too long, or was
    drawn for another browser or link (or by nobody here)."""

    def __init__(self, why: Literal["missing", "aged", "foreign"]) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a nonce says about the page it was on: its own id, and the card version shown."""

    id: str
    version: int


class FormSeal:
    """Issues and opens nonces and notes. Stateless; one for the whole channel."""

    def __init__(self, secret: bytes) -> None:
        self._forms = _serializer(secret, b"sayso.web.form")
        self._notes = _serializer(secret, b"sayso.web.note")
        self._proofs = _serializer(secret, b"sayso.web.proof")

    def issue(self, handle: str, cookie: str, version: int) -> str:
        """A fresh nonce for a form on the page of `handle`, for the browser that holds `cookie`."""
        sealed = self._forms.dumps(
            {"h": _digest(handle), "c": _digest(cookie), "n": secrets.token_hex(16), "v": version}
        )
        return _text(sealed)

    def open(self, nonce: str, handle: str, cookie: str) -> Drawn:
        """What the nonce says. Raises `NonceRefused`."""
        if not nonce or not cookie:
            raise NonceRefused("missing")
        if len(nonce) > _MAX_SEALED:
            raise NonceRefused("foreign")
        # Whose it is comes before how old it is: an aged nonce of somebody else is foreign.
        try:
            said = self._forms.loads(nonce)
        except BadData:
            raise NonceRefused("foreign") from None
        ours = hmac.compare_digest(said["h"], _digest(handle))
        theirs = hmac.compare_digest(said["c"], _digest(cookie))
        if not (ours and theirs):
            raise NonceRefused("foreign")
        try:
            self._forms.loads(nonce, max_age=MAX_AGE)
        except SignatureExpired:
            raise NonceRefused("aged") from None
        return Drawn(said["n"], said["v"])

    def proof(self, handle: str, cookie: str) -> str:
        """Says of a browser that the code of this link was typed into it."""
        return _text(self._proofs.dumps([_digest(handle), _digest(cookie)]))

    def is_proof(self, sealed: str, handle: str, cookie: str) -> bool:
        """Whether it is one, of this link and this browser, and younger than `MAX_AGE`."""
        if not sealed or not cookie or len(sealed) > _MAX_SEALED:
            return False
        try:
            said = self._proofs.loads(sealed, max_age=MAX_AGE)
        except BadData:
            return False
        return hmac.compare_digest("".join(said), _digest(handle) + _digest(cookie))

    def note(self, handle: str, text: str) -> str:
        """A sealed note that the page of `handle` shows after the redirect, cut to 300 letters."""
        return _text(self._notes.dumps([_digest(handle), text[:300]]))

    def read_note(self, sealed: str, handle: str) -> str:
        """The text of a note, or "" when it is none, too old, or another page's."""
        if not sealed or len(sealed) > _MAX_SEALED:
            return ""
        try:
            owner, text = self._notes.loads(sealed, max_age=NOTE_MAX_AGE)
        except BadData:
            return ""
        return str(text) if hmac.compare_digest(owner, _digest(handle)) else ""


def browser_cookie(sent: str | None) -> tuple[str, bool]:
    """The browser's form cookie, and whether it is new: one that is not of our making is replaced.

    An existing one is kept, so that several open pages all stay usable.
    """
    if sent and _COOKIE.fullmatch(sent):
        return sent, False
    return secrets.token_urlsafe(32), True


def _serializer(secret: bytes, salt: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        secret,
        salt=salt,
        signer_kwargs={"digest_method": hashlib.sha256, "key_derivation": "hmac"},
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _text(sealed: Any) -> str:
    return sealed if isinstance(sealed, str) else bytes(sealed).decode("ascii")
