"""Signatures of deliveries, and when a failed one is tried again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openwop_client.webhook_helpers import VerifyValid, verify_webhook_signature

from adapters.webhooks.deliver import retry_after
from adapters.webhooks.retry import DAY_MS, RetryPolicy
from adapters.webhooks.sign_out import (
    Signing,
    headers,
    key_of,
    new_secret,
    signature,
    standard_signature,
)

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "token-vectors.json").read_text())
SIGNED = VECTORS["webhookSignatures"]
BODY = SIGNED["rawBody"].encode()
AT = int(SIGNED["timestamp"])
ID = "acme/01k4v8q6t3m9x2d7r5w0y1z8ab"


def test_the_vector_of_v1() -> None:
    vector = SIGNED["v1"]
    assert signature(vector["secret"], AT, BODY) == vector["OpenWOP-Signature"]


def test_the_vector_of_standard_webhooks() -> None:
    vector = SIGNED["standard-webhooks-1"]
    found = standard_signature(vector["secret"], vector["webhook-id"], AT, BODY)
    assert found == vector["webhook-signature"]


@given(st.text(min_size=16, max_size=80), st.binary(max_size=200), st.integers(1, 2**40))
def test_v1_is_what_the_published_client_verifies(secret: str, body: bytes, at: int) -> None:
    found = headers(Signing(ID, secret), "run.started", "m" * 32, at, body)
    assert set(found) == {
        "OpenWOP-Webhook-Id", "OpenWOP-Event-Type", "OpenWOP-Timestamp", "OpenWOP-Signature",
        "OpenWOP-Signature-Algorithm",
    }  # fmt: skip
    verdict = verify_webhook_signature(
        secret, found["OpenWOP-Signature"], found["OpenWOP-Timestamp"], body, now_seconds=at,
        algorithm_header=found["OpenWOP-Signature-Algorithm"],
    )  # fmt: skip
    assert isinstance(verdict, VerifyValid)


@given(st.binary(min_size=24, max_size=64), st.binary(max_size=200))
def test_the_standard_scheme_by_hand(key: bytes, body: bytes) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    found = headers(Signing(ID, secret, standard=True), "run.started", "m" * 32, AT, body)
    mac = hmac.new(key, f"{'m' * 32}.{AT}.".encode() + body, hashlib.sha256).digest()
    assert found["webhook-signature"] == "v1," + base64.b64encode(mac).decode()
    assert found["webhook-id"] == "m" * 32
    assert found["webhook-timestamp"] == found["OpenWOP-Timestamp"] == str(AT)
    # The protocol's own scheme is keyed by the text, prefix and all, and not by what it encodes.
    assert found["OpenWOP-Signature"] == signature(secret, AT, body)


def test_during_a_rotation_both_secrets_sign() -> None:
    old, new = new_secret(), new_secret()
    found = headers(Signing(ID, new, old, standard=True), "run.started", "m" * 32, AT, BODY)
    entries = found["webhook-signature"].split(" ")
    assert sorted(entries) == sorted(standard_signature(s, "m" * 32, AT, BODY) for s in (old, new))
    assert found["OpenWOP-Signature"] == signature(old, AT, BODY)
    after = headers(Signing(ID, new, standard=True), "run.started", "m" * 32, AT, BODY)
    assert after["OpenWOP-Signature"] == signature(new, AT, BODY)
    assert " " not in after["webhook-signature"]


def test_a_made_secret_is_good_for_both_and_shows_nowhere() -> None:
    secret = new_secret()
    assert len(key_of(secret)) == 32
    assert secret != new_secret()
    assert secret not in repr(Signing(ID, secret, secret))


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "plain-text-secret-of-some-length",
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        "whsec_v1,whsec_AAAA",
        "whsec_" + "é" * 40,
        "WHSEC_" + base64.b64encode(b"x" * 32).decode(),
    ],
)
def test_secrets_that_the_standard_scheme_cannot_use(secret: str) -> None:
    with pytest.raises(ValueError, match="24 to 64") as refused:
        key_of(secret)
    assert not secret or secret == "whsec_" or secret not in str(refused.value)


# --- retries --------------------------------------------------------------------------------------


def test_the_attempts_span_about_three_days() -> None:
    policy = RetryPolicy()
    waits = [policy.delay(made, 0.5) for made in range(1, policy.attempts + 1)]
    assert waits[-1] is None
    assert all(w is not None for w in waits[:-1])
    assert waits[:4] == [5_000, 20_000, 80_000, 320_000]
    assert 2.9 * DAY_MS < sum(w for w in waits if w) < 3.1 * DAY_MS


@given(st.integers(1, 15), st.floats(0, 1), st.none() | st.floats(0, 1e9))
def test_a_wait_is_bounded_and_never_shorter_than_asked(
    made: int, spread: float, asked: float | None
) -> None:
    policy = RetryPolicy()
    wait = policy.delay(made, spread, asked)
    assert wait is not None
    assert 4_000 <= wait <= policy.longest * 1.2 + 1
    if asked is not None:
        assert wait >= min(asked * 1000, policy.longest) - 1


@given(st.integers(0, 10**9), st.none() | st.floats(0, 1e6))
def test_an_endpoint_rests_after_failures_in_a_row(failures: int, asked: float | None) -> None:
    policy = RetryPolicy()
    rest = policy.rest(failures, asked)
    assert 0 <= rest <= policy.pause
    if asked is None:
        assert (rest > 0) == (failures >= policy.trip)


def test_three_days_of_nothing_but_failures_are_enough() -> None:
    policy = RetryPolicy()
    assert not policy.hopeless(None, 10**15)
    assert not policy.hopeless(0, 3 * DAY_MS - 1)
    assert policy.hopeless(0, 3 * DAY_MS)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None), ("soon", None), ("-5", None), ("1.5", None), ("²", None), ("0", 0.0),
        (" 120 ", 120.0), ("99999999", 86_400.0), ("9" * 400, None), ("Mon, 99 Foo", None),
    ],
)  # fmt: skip
def test_retry_after_in_seconds(text: str, seconds: float | None) -> None:
    assert retry_after(text, AT) == seconds


def test_retry_after_as_a_date() -> None:
    assert retry_after(format_datetime(datetime.fromtimestamp(AT + 90, UTC), usegmt=True), AT) == 90
    assert retry_after(format_datetime(datetime.fromtimestamp(AT - 90, UTC), usegmt=True), AT) == 0
