"""Interrupt tokens: `ow2.<alg>.<kid>.<payload>.<mac>`, minted and verified.

The payload is unpadded base64url of compact JSON with the claim names of the protocol; the MAC is
unpadded base64url of HMAC-SHA256 over `<alg>.<kid>.<payload>`, by itsdangerous' signer without key
derivation, compared as encoded text in constant time (interrupt specification, section 'Tokens'; protocol
digest 7, profile P). A text without the `ow2.` prefix is a legacy token, `<payload>.<mac>` under the kid
`legacy`. Verification answers one code for everything that is wrong with a token; what the interrupt's
state says about it is the host's business.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from hmac import compare_digest
from typing import Any, Final

import orjson
from itsdangerous import Signer
from itsdangerous.encoding import base64_encode
from pydantic import ValidationError

from host.decisions.state import iso
from schemas.errors import Refusal
from schemas.ids import KEY_ID
from schemas.tokens import TokenClaims

ALG: Final = "hs256"
ALGS: Final = (ALG,)
PREFIX: Final = "ow2"
LEGACY: Final = "legacy"
DEFAULT_TTL_MS: Final = 30 * 60 * 1000
LONGEST_TTL_MS: Final = 90 * 86_400_000
_MAX_LENGTH: Final = 4096


def _signer(secret: str) -> Signer:
    return Signer(secret, sep=".", key_derivation="none", digest_method=hashlib.sha256)


class TokenRing:
    """The secrets by kid. `current` signs; all of them verify.

    `keys` maps a kid (no dots) to its secret, at least 32 characters. `legacy` is the secret of
    version 1 tokens, if this host ever issued any.
    """

    def __init__(self, keys: Mapping[str, str], current: str, legacy: str | None = None) -> None:
        for kid, secret in keys.items():
            if not KEY_ID.match(kid) or "." in kid or kid == LEGACY:
                raise ValueError(f"token key id {kid!r}: letters, digits, '_', '~', '-' only")
            if len(secret) < 32:
                raise ValueError(f"the secret of token key {kid!r} is shorter than 32 characters")
        if current not in keys:
            raise ValueError(f"the current token key {current!r} is not among the keys")
        self._current = current
        self._signers = {kid: _signer(secret) for kid, secret in keys.items()}
        self._legacy = _signer(legacy) if legacy else None

    def mint(self, claims: TokenClaims) -> str:
        """The text of a token. A capability: never log it, never put it into an event."""
        body: dict[str, Any] = {
            "runId": claims.run_id,
            "nodeId": claims.node_id,
            "interruptId": claims.interrupt_id,
            "expiresAt": iso(_ms(claims.expires_at)),
            "intent": claims.intent,
        }
        if claims.principal is not None:
            body["principal"] = claims.principal
        payload = base64_encode(orjson.dumps(body)).decode()
        signed = f"{ALG}.{self._current}.{payload}"
        mac = self._signers[self._current].get_signature(signed).decode()
        return f"{PREFIX}.{signed}.{mac}"

    def verify(self, token: str) -> TokenClaims:
        """The claims of an authentic token, whatever its `expiresAt` says.

        Raises `Refusal` (`interrupt_token_invalid`), the same for every defect.
        """
        try:
            return self._verify(token)
        except (ValueError, binascii.Error, ValidationError, UnicodeError):
            raise Refusal(
                "interrupt_token_invalid", "This token is not one that this gateway accepts."
            ) from None

    def _verify(self, token: str) -> TokenClaims:
        if len(token) > _MAX_LENGTH or not token.isascii():
            raise ValueError
        if not token.startswith(f"{PREFIX}."):
            return self._verify_legacy(token)
        _, alg, kid, payload, mac = token.split(".")
        signer = self._signers.get(kid)
        if alg != ALG or signer is None or not _same(signer, f"{alg}.{kid}.{payload}", mac):
            raise ValueError
        return _claims(payload)

    def _verify_legacy(self, token: str) -> TokenClaims:
        payload, mac = token.split(".")
        if self._legacy is None or not _same(self._legacy, payload, mac):
            raise ValueError
        return _claims(payload)


def _same(signer: Signer, signed: str, mac: str) -> bool:
    return compare_digest(signer.get_signature(signed), mac.encode())


def _claims(payload: str) -> TokenClaims:
    if "=" in payload:
        raise ValueError
    raw = base64.b64decode(payload + "=" * (-len(payload) % 4), altchars=b"-_", validate=True)
    return TokenClaims.model_validate(orjson.loads(raw))


def expires_ms(claims: TokenClaims) -> int:
    """When a token's time is over: it is good up to and including this millisecond."""
    return _ms(claims.expires_at)


def _ms(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
