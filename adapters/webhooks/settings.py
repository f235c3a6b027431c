"""A webhook source: who may send us events under one URL, and what their events mean.

Everything that can be wrong with a source is found when it is built, at start: an expression that
doesn't compile, a pasted signature instead of a secret, a timestamp that nobody signs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, get_args, get_type_hints
from urllib.parse import urlsplit

from adapters.webhooks.expressions import Expression, compile_expression
from adapters.webhooks.providers import provider_named
from adapters.webhooks.providers.provider import (
    JSON,
    Greeting,
    Handshake,
    Lookup,
    Read,
    one_event,
)
from adapters.webhooks.scheme import Scheme
from adapters.webhooks.verify import Proof, check_secret

DEFAULT_MAX_BODY: Final = 1 << 20
LARGEST_BODY: Final = 25 << 20
"""Bytes. GitHub sends up to 25 MB; nobody needs more."""
MAX_SECRETS: Final = 8
MAX_CORRELATION_KEYS: Final = 16

Mode = Literal["live", "test", ""]

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ADJUSTABLE: Final = (
    "header",
    "separator",
    "assign",
    "signature_key",
    "timestamp_key",
    "timestamp_header",
    "base",
    "key",
    "digest",
    "encoding",
)


@dataclass(frozen=True, slots=True)
class HookSource:
    """One sender: one provider, one set of secrets, one tenant. Made with `HookSource.build`.

    `payload` None means that the whole event is the payload; `event_id` None that the digest of the
    event names it. With `mode` an event has to say that it is of `wanted_mode`. `public_url` is the
    URL that the provider was given. `max_body` is in bytes.
    """

    id: str
    provider: str
    secrets: tuple[str, ...] = field(repr=False)
    scheme: Proof
    event_type: Expression
    correlation: Mapping[str, Expression]
    event_id: Expression | None = None
    payload: Expression | None = None
    mode: Expression | None = None
    wanted_mode: Mode = ""
    headers: frozenset[str] = frozenset()
    read: Read = one_event
    media: tuple[str, ...] = (JSON,)
    greeting: Greeting | None = None
    handshake: Handshake | None = None
    lookup: Lookup | None = None
    public_url: str = ""
    max_body: int = DEFAULT_MAX_BODY
    tenant: str = "default"

    @classmethod
    def build(
        cls,
        *,
        id: str,
        provider: str,
        secrets: Sequence[str],
        event_type: str = "",
        correlation: Mapping[str, str] | None = None,
        event_id: str = "",
        payload: str = "",
        tolerance: float | None = None,
        max_body: int = DEFAULT_MAX_BODY,
        tenant: str = "default",
        signature: Mapping[str, str] | None = None,
        mode: Mode = "",
        public_url: str = "",
    ) -> HookSource:
        """Check the settings of a source and compile its expressions (JMESPath).

        `event_type` and `event_id` default to the provider's own. `signature` adjusts the scheme of
        the provider `generic_hmac`, by the names of `scheme.Scheme`. `public_url` is what providers
        sign that sign the URL. Raises `ValueError` with a sentence that names the source and the key,
        and never quotes a secret.
        """
        try:
            known = provider_named(provider)
            scheme = _adjust(known.scheme, provider, signature or {}, tolerance)
            _check_plain(id, tenant, max_body, correlation or {})
            _check_secrets(scheme, secrets)
            _check_url(scheme, provider, public_url)
            if mode and not known.mode:
                raise ValueError(f"mode: events of {provider} don't say which they are of")

            def expression(key: str, text: str) -> Expression:
                return compile_expression(text, key=key, headers=known.headers)

            event_id = event_id or known.event_id
            return cls(
                id=id,
                provider=provider,
                secrets=tuple(secrets),
                scheme=scheme,
                event_type=expression("event_type", event_type or known.event_type),
                correlation={
                    key: expression(f"correlation.{key}", text)
                    for key, text in (correlation or {}).items()
                },
                event_id=expression("event_id", event_id) if event_id else None,
                payload=expression("payload", payload) if payload else None,
                mode=expression("mode", known.mode) if mode else None,
                wanted_mode=mode,
                headers=known.headers,
                read=known.read,
                media=known.media,
                greeting=known.greeting,
                handshake=known.handshake,
                lookup=known.lookup,
                public_url=public_url,
                max_body=max_body,
                tenant=tenant,
            )
        except ValueError as error:
            raise ValueError(f"webhook source {id!r}: {error}") from None


def _check_plain(id: str, tenant: str, max_body: int, correlation: Mapping[str, str]) -> None:
    if not _ID.fullmatch(id):
        raise ValueError("id: 1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit first")
    if not tenant:
        raise ValueError("tenant: name the tenant whose interrupts these events may resolve")
    if not 1 <= max_body <= LARGEST_BODY:
        raise ValueError(f"max_body: 1 to {LARGEST_BODY} bytes")
    if len(correlation) > MAX_CORRELATION_KEYS or not all(correlation):
        raise ValueError(f"correlation: at most {MAX_CORRELATION_KEYS} keys, none of them empty")


def _check_url(scheme: Proof, provider: str, url: str) -> None:
    if scheme.needs_url and not url:
        raise ValueError(
            f"public_url: {provider} signs the URL: give it exactly as it is registered there"
        )
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.netloc or "#" in url):
        raise ValueError("public_url: an absolute http or https URL, without a fragment")


def _check_secrets(scheme: Proof, secrets: Sequence[str]) -> None:
    if isinstance(secrets, str) or not 1 <= len(secrets) <= MAX_SECRETS:
        raise ValueError(
            f"secrets: a list of 1 to {MAX_SECRETS}, the old beside the new in a rotation"
        )
    for position, secret in enumerate(secrets):
        try:
            check_secret(scheme, secret)
        except ValueError as error:
            raise ValueError(f"secrets[{position}]: {error}") from None


def _adjust(
    scheme: Proof, provider: str, signature: Mapping[str, str], tolerance: float | None
) -> Proof:
    """The provider's scheme with what this source says of its own."""
    if signature and provider != "generic_hmac":
        raise ValueError(
            f"signature: the scheme of {provider} is fixed; use generic_hmac for others"
        )
    hints = get_type_hints(Scheme)
    for key, value in signature.items():
        if key not in _ADJUSTABLE:
            raise ValueError(f"signature.{key}: unknown; one of {', '.join(_ADJUSTABLE)}")
        allowed = get_args(hints[key]) or None
        if not isinstance(value, str) or (allowed and value not in allowed):
            raise ValueError(f"signature.{key}: {_expected(allowed)}")
    if signature.get("header", "x").strip() == "" or not all(
        signature.get(key, "x") for key in ("separator", "assign")
    ):
        raise ValueError("signature: header, separator and assign may not be empty")
    changes: dict[str, Any] = dict(signature)
    if tolerance is not None:
        if not 0 < tolerance <= 86_400:
            raise ValueError("tolerance: seconds, more than 0 and at most 86400")
        if "tolerance" not in {one.name for one in fields(scheme)}:  # type: ignore[arg-type]
            raise ValueError(f"tolerance: {provider} signs no time")
        changes["tolerance"] = float(tolerance)
    try:
        return replace(scheme, **changes)  # type: ignore[type-var]
    except ValueError as error:
        raise ValueError(f"signature: {error}") from None


def _expected(allowed: tuple[Any, ...] | None) -> str:
    return f"one of {', '.join(allowed)}" if allowed else "a string"
