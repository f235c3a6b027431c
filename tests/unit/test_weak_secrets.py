"""Placeholders and short secrets are found, good ones are not, and no sentence repeats one."""

from __future__ import annotations

import hashlib
import secrets as generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.settings import Settings
from gateway.weak_secrets import SHORTEST, found_in, weakness

GOOD = "c0e1f2d3b4a5968778695a4b3c2d1e0f"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SAYSO_CONFIG", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"):
        monkeypatch.delenv(name, raising=False)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


CASES: list[tuple[dict[str, Any], str]] = [
    ({"api_keys": [{"id": "shop", "sha256": "0" * 64}]}, "api_keys: the key 'shop'"),
    ({"api_keys": [{"id": "shop", "sha256": sha("changeme")}]}, "api_keys: the key 'shop'"),
    ({"api_keys": [{"id": "shop", "sha256": sha("")}]}, "api_keys: the key 'shop'"),
    ({"slack": {"signing_secret": "short"}}, "slack.signing_secret is shorter"),
    ({"slack": {"previous_signing_secret": "changeme-changeme-changeme"}}, "is a placeholder"),
    ({"tokens": {"keys": {"k1": "x" * 40}}}, "tokens.keys.k1 is a placeholder"),
    ({"tokens": {"legacy_secret": "tiny"}}, "tokens.legacy_secret is shorter"),
    (
        {"hooks": {"pay": {"provider": "stripe", "secrets": [GOOD, "whsec_replace_me_with_it"]}}},
        "hooks.pay.secrets is a placeholder",
    ),
    ({"email": {"smtp_url": "smtps://u:changeme@mail.example:465"}}, "email.smtp_url is a"),
    ({"redis": {"url": "redis://:replace-me@redis.example:6379"}}, "redis.url is a placeholder"),
    ({"store": {"url": "postgresql://sayso:changeme@db.example/sayso"}}, "store.url is a"),
    (
        {"egress": {"callback_secret": "whsec_your-callback-secret-in-base64"}},
        "callback_secret is a",
    ),
    ({"symfonic": {"jwt_secret": "replace-me-" * 4}}, "symfonic.jwt_secret is a placeholder"),
    ({"email": {"inbound": {"postmark_password": "hunter2"}}}, "postmark_password is shorter"),
]


@pytest.mark.parametrize(("settings", "words"), CASES)
def test_a_weak_secret_is_named_and_not_repeated(settings: dict[str, Any], words: str) -> None:
    [sentence] = found_in(Settings(**settings))
    assert words in sentence
    for secret in ("short", "changeme-", "x" * 40, "tiny", "replace_me_with", ":changeme"):
        assert secret not in sentence.replace("shorter", "")


@pytest.mark.parametrize(
    "settings",
    [
        {"redis": {"url": "redis://:secret@[bad:6379/0"}},
        {"email": {"smtp_url": "smtps://u:secret@[bad"}},
    ],
)
def test_what_is_no_url_is_for_others_to_say(settings: dict[str, Any]) -> None:
    assert found_in(Settings(**settings)) == []


def test_good_ones_pass() -> None:
    settings = Settings(
        api_keys=[{"id": "shop", "sha256": sha("a-key-of-the-shop-0123456789")}],
        slack={"signing_secret": GOOD},
        tokens={"keys": {"k1": generator.token_urlsafe(48)}},
        hooks={"pay": {"provider": "stripe", "secrets": ["whsec_" + GOOD]}},
        email={"smtp_url": "smtps://u:hunter2@mail.example:465"},
    )
    assert found_in(settings) == []


@given(st.text(max_size=SHORTEST - 1))
def test_whatever_is_short_is_weak(text: str) -> None:
    assert weakness(text)


@given(st.binary(min_size=16, max_size=64).filter(lambda raw: len(set(raw)) > 2))
def test_whatever_a_generator_makes_is_not(raw: bytes) -> None:
    assert not weakness(raw.hex())
