"""Client tokens of sessions: minted by a program for one of its users, and of no use elsewhere."""

from __future__ import annotations

import time

import jwt
import pytest

from gateway.client_tokens import ClientTokens, Holder
from schemas.errors import Refusal

SECRET = "a-secret-of-the-gateway-0123456789"
HOLDER = Holder("acme", "user_42", {"plan": "pro"}, frozenset({"runs:read"}))
TOKENS = ClientTokens(SECRET)


def minted(seconds: int = 600, tokens: ClientTokens = TOKENS) -> str:
    return tokens.mint(HOLDER, time.time_ns() // 1_000_000, seconds)[0]


def test_a_token_says_whom_it_was_minted_for() -> None:
    token, expires = TOKENS.mint(HOLDER, time.time_ns() // 1_000_000, 600)
    assert TOKENS.read(token) == HOLDER
    assert 598 <= expires - time.time() <= 600


def test_its_holder_is_nobody_of_the_directory() -> None:
    """A program that says "this is ada" makes nobody an approver."""
    assert HOLDER.principal.id == "session:user_42"
    assert "user_42" not in HOLDER.principal.names
    assert not HOLDER.principal.groups


@pytest.mark.parametrize("text", ["", "sayso_dev_key", "ow2.hs256.own.e30.mac", "a.b.c"])
def test_other_credentials_are_not_its_business(text: str) -> None:
    assert TOKENS.read(text) is None


def other_audience() -> str:
    claims = {"aud": "somebody-else", "sub": "u", "exp": 4_000_000_000}
    return jwt.encode(claims, TOKENS._key, "HS256")


def endless() -> str:
    claims = {"aud": "sayso:sessions", "sub": "u", "tenant": "acme", "metadata": {}, "scopes": []}
    return jwt.encode(claims, TOKENS._key, "HS256")


@pytest.mark.parametrize(
    "token",
    [
        minted(-1),
        minted(tokens=ClientTokens("another-secret-0123456789-0123456")),
        minted()[:-2] + "xx",
        other_audience(),
        endless(),
        jwt.encode({"sub": "u"}, "", "none"),
        jwt.encode({"sub": "u"}, TOKENS._key * 2, "HS512"),
        minted() + "A" * 9000,
    ],
    ids=["expired", "forged", "cut", "audience", "endless", "none", "HS512", "long"],
)
def test_what_is_not_ours_is_refused(token: str) -> None:
    with pytest.raises(Refusal, match=r"^unauthenticated:"):
        TOKENS.read(token)
