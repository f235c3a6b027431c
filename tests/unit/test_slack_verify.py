"""Whether a request is Slack's: against the SDK's own verifier, and against what is malformed."""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from slack_sdk.signature import Clock, SignatureVerifier

from adapters.slack.verify import MAX_BODY, SlackRequestRefused, Verifier, unquoted
from tests.fakes.slack_transport import sign

# The secret, the time and the ends of the signature are those of Slack's "Verifying requests" page.
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
NOW = 1531420618
SLASH = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F"
    b"96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
FORM = "application/x-www-form-urlencoded"


class At(Clock):
    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


def headers(
    body: bytes, secret: str = SECRET, stamp: str = str(NOW), kind: str = FORM
) -> CIMultiDict[str]:
    if body.isascii():
        signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
        assert signature is not None
    else:  # the SDK raises on what is not UTF-8
        signature = sign(secret, body, int(stamp))["X-Slack-Signature"]
    return CIMultiDict(
        {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature,
        }
    )


def status(verifier: Verifier, given: CIMultiDict[str], body: bytes, now: float = NOW) -> int:
    try:
        verifier.check(given, body, now)
    except SlackRequestRefused as refusal:
        return refusal.status
    return 200


def test_slacks_published_example() -> None:
    signed = headers(SLASH)
    assert signed["X-Slack-Signature"].startswith("v0=a2114d57")
    assert signed["X-Slack-Signature"].endswith("c69b503")
    assert status(Verifier([SECRET]), signed, SLASH) == 200
    assert SignatureVerifier(SECRET, At(NOW)).is_valid_request(SLASH, dict(signed))


@pytest.mark.parametrize(
    ("offset", "expected"), [(0, 200), (300, 200), (-300, 200), (301, 401), (-301, 401)]
)
def test_five_minutes_either_way(offset: int, expected: int) -> None:
    assert status(Verifier([SECRET]), headers(SLASH), SLASH, NOW + offset) == expected


def test_several_secrets_and_lower_case_headers() -> None:
    verifier = Verifier(["the-new-one", SECRET])
    assert status(verifier, headers(SLASH), SLASH) == 200
    assert status(verifier, headers(SLASH, "the-new-one"), SLASH) == 200
    assert status(verifier, headers(SLASH, "another"), SLASH) == 401
    lower = CIMultiDict({name.lower(): value for name, value in headers(SLASH).items()})
    assert status(verifier, lower, SLASH) == 200


@pytest.mark.parametrize(
    "change",
    [
        {"X-Slack-Signature": ""},
        {"X-Slack-Signature": "v0=é"},
        {"X-Slack-Signature": "v1=" + "0" * 64},
        {"X-Slack-Signature": "\udcff"},
        {"X-Slack-Request-Timestamp": ""},
        {"X-Slack-Request-Timestamp": "now"},
        {"X-Slack-Request-Timestamp": "١٥٣١٤٢٠٦١٨"},
        {"X-Slack-Request-Timestamp": "-1"},
        {"X-Slack-Request-Timestamp": "9" * 5000},
        {"X-Slack-Request-Timestamp": f"{NOW}.0"},
    ],
)
def test_malformed_headers_are_refused_and_never_raise(change: dict[str, str]) -> None:
    signed = headers(SLASH)
    signed.update(change)
    assert status(Verifier([SECRET]), signed, SLASH) == 401
    assert status(Verifier([SECRET]), CIMultiDict(), SLASH) == 401


def test_without_a_secret_nothing_passes() -> None:
    empty = hmac.new(b"", b"v0:%d:" % NOW + SLASH, hashlib.sha256).hexdigest()
    signed = headers(SLASH)
    signed["X-Slack-Signature"] = f"v0={empty}"
    assert status(Verifier([]), signed, SLASH) == 401


JSON = "application/json; charset=utf-8"
CLICK = {"type": "block_actions", "actions": [{"action_id": "a"}]}


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'{"type":"event_callback","event":{"type":"message"}}', JSON, 200),
        (b'{"type":"event_callback"}', JSON, 400),
        (b"payload=" + quote_plus(json.dumps(CLICK)).encode(), FORM, 200),
        (b"payload=" + quote_plus(json.dumps({"type": "block_actions"})).encode(), FORM, 400),
        (b"command=/sayso&text=the+payload+is+ready", FORM, 200),
        (b"text=the+payload+is+ready", FORM, 400),
        (b"", FORM, 400),
        (b"", JSON, 400),
        (b"[]", JSON, 400),
        (b"null", JSON, 400),
        (b'{"a":', JSON, 400),
        (b'{"a":"\xff"}', JSON, 400),
        (b"{}", FORM, 400),
        (b"[" * 200_000, JSON, 400),
        (b"payload=%5B%5D", FORM, 400),
        (b"payload=%7B", FORM, 400),
        (b"payload=%ff", FORM, 400),
        (b"&".join(b"a=1" for _ in range(1000)), FORM, 400),
        (b"x" * (MAX_BODY + 1), FORM, 413),
    ],
)
def test_shapes(body: bytes, kind: str, expected: int) -> None:
    verifier = Verifier([SECRET])
    assert (
        status(verifier, headers(body, kind=kind) if len(body) <= MAX_BODY else CIMultiDict(), body)
        == expected
    )
    assert sum(verifier.refused.values()) == (expected != 200)


@given(body=st.binary(max_size=300), stamp=st.text(max_size=14), signature=st.text(max_size=80))
def test_whatever_comes_is_refused_without_an_error(
    body: bytes, stamp: str, signature: str
) -> None:
    verifier = Verifier([SECRET])
    given_headers = CIMultiDict(
        {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
    )
    assert status(verifier, given_headers, body) == 401
    assert sum(verifier.refused.values()) == 1


@given(body=st.binary(min_size=1, max_size=200), place=st.integers(0, 199))
def test_one_changed_byte_is_refused(body: bytes, place: int) -> None:
    signed = headers(b"token=x&" + body.hex().encode())
    changed = bytearray(b"token=x&" + body.hex().encode())
    changed[place % len(changed)] ^= 1
    assert status(Verifier([SECRET]), signed, bytes(changed)) == 401


def test_a_refusal_holds_nothing_of_the_request() -> None:
    with pytest.raises(SlackRequestRefused) as refused:
        Verifier([SECRET]).check(CIMultiDict(), b"token=hush", NOW)
    assert "hush" not in str(refused.value)


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=60), max_size=5))
def test_a_form_is_read_as_the_standard_library_reads_it(members: dict[str, str]) -> None:
    body = urlencode(members).encode()
    parts = [part.partition(b"=") for part in body.split(b"&")] if body else []
    found = {unquoted(name).decode(): unquoted(value).decode() for name, _, value in parts}
    assert found == members


@given(st.binary(max_size=200))
def test_what_is_percent_encoded_comes_back(raw: bytes) -> None:
    assert unquoted(quote_plus(raw).encode()) == raw
