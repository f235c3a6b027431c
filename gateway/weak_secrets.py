"""Secrets that are none: placeholders of a sample, words that everybody tries, texts that are too short.

`sayso serve` refuses to start with one, `sayso doctor` names them. No sentence ever repeats a secret.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from config.settings import Settings

SHORTEST: Final = 16
_WORDS: Final = (
    "", "admin", "api-key", "apikey", "change-me", "changeme", "default", "dev", "example", "key",
    "password", "replace-me", "replaceme", "sayso", "secret", "test", "token", "your-key-here",
)  # fmt: skip
_DIGESTS: Final = frozenset(
    [hashlib.sha256(word.encode()).hexdigest() for word in _WORDS] + [c * 64 for c in "0f"]
)
_PLACEHOLDER: Final = re.compile(
    r"change[-_ ]?me|replace[-_ ]?(me|this)|your[-_ ].*(secret|token|key)|placeholder|^(?P<one>.)(?P=one)*$",
    re.IGNORECASE,
)


def found_in(settings: Settings) -> list[str]:
    """One sentence a weak secret, which names its setting and what to do."""
    return [
        *_api_keys(settings),
        *(_sentence(name, why) for name, text in _texts(settings) if (why := weakness(text))),
    ]


def weakness(text: str) -> str:
    """What is wrong with a secret, or ""."""
    bare = text.removeprefix("whsec_")
    if bare.lower() in _WORDS or _PLACEHOLDER.search(bare):
        return "is a placeholder"
    return f"is shorter than {SHORTEST} characters" if len(text) < SHORTEST else ""


def _api_keys(settings: Settings) -> Iterator[str]:
    for key in settings.api_keys:
        if key.sha256 in _DIGESTS:
            yield (
                f"api_keys: the key {key.id!r} is a placeholder or a word that everybody tries. Make one "
                "with a generator, and put in what `sayso hash-key` prints for it."
            )


def _texts(settings: Settings) -> Iterator[tuple[str, str]]:
    """The secrets that sign or verify. Those of other services are theirs to choose."""
    for name, secret in (
        ("slack.signing_secret", settings.slack.signing_secret),
        ("slack.previous_signing_secret", settings.slack.previous_signing_secret),
        ("tokens.legacy_secret", settings.tokens.legacy_secret),
        ("egress.callback_secret", settings.egress.callback_secret),
        ("symfonic.jwt_secret", settings.symfonic.jwt_secret),
        ("email.inbound.postmark_password", settings.email.inbound.postmark_password),
        *(
            (f"encryption_keys.{number}", key)
            for number, key in enumerate(settings.encryption_keys)
        ),
        *((f"tokens.keys.{kid}", secret) for kid, secret in settings.tokens.keys.items()),
        *((f"hooks.{name}.secrets", s) for name, h in settings.hooks.items() for s in h.secrets),
        *(
            (f"substructure.agents.{name}.secret", agent.secret)
            for name, agent in settings.substructure.agents.items()
        ),
    ):
        if secret is not None and (secret.get_secret_value() or name != "egress.callback_secret"):
            yield name, secret.get_secret_value()
    for name, secret in (
        ("email.smtp_url", settings.email.smtp_url),
        ("redis.url", settings.redis.url),
        ("store.url", settings.store.url),
    ):
        password = _password(secret.get_secret_value()) if secret else ""
        if password and _PLACEHOLDER.search(password):
            yield name, password


def _password(url: str) -> str:
    """The password in a URL; "" for what is none, which whoever uses the URL says."""
    try:
        return unquote(urlsplit(url).password or "")
    except ValueError:
        return ""


def _sentence(name: str, why: str) -> str:
    return f"{name} {why}. Set one that a generator made, and nobody else knows."
