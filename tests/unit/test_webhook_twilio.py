"""Twilio: signed addresses and forms, compared with its SDK."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from adapters.webhooks.providers import PROVIDERS
from tests.unit.hook_world import (
    BODY,
    NOW,
    URL,
    build,
    events,
    reason,
)

TOKEN = "12345"
FORM = {
    "CallSid": "CA1234567890ABCDE", "Caller": "+12349013030", "Digits": "1234",
    "From": "+12349013030", "To": "+18005551212",
}  # fmt: skip
FORM_URL = "https://mycompany.com/myapp.php?foo=1&bar=2"


def test_twilio_published_vector() -> None:
    """Docs, "Validating signatures from Twilio"."""
    headers = {"X-Twilio-Signature": "0/KCTR6DLpKmkAf8muzZqo1nDgQ="}
    body = urlencode(FORM).encode()
    assert reason("twilio", (TOKEN,), headers, body, url=FORM_URL) == ""
    assert reason("twilio", ("54321", TOKEN), headers, body, url=FORM_URL) == ""
    changed = urlencode(FORM | {"Digits": "1235"}).encode()
    assert reason("twilio", (TOKEN,), headers, changed, url=FORM_URL) == "mismatch"
    assert reason("twilio", (TOKEN,), headers, body, url=FORM_URL + "&baz=3") == "mismatch"
    assert reason("twilio", (TOKEN,), headers, body) == "malformed"


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), max_size=5),
    st.sampled_from(["HMAC_SHA1", "HMAC_SHA256"]),
)
def test_what_twilio_signs_we_accept(form: dict[str, str], algorithm: str) -> None:
    body = urlencode(form).encode()
    signature = RequestValidator(TOKEN).compute_signature(URL, form, algorithm)
    headers = {
        "X-Twilio-Signature": signature,
        "X-Twilio-Webhooks-Signature-Settings": f"key=k1,algorithm={algorithm}",
    }
    assert reason("twilio", (TOKEN,), headers, body, url=URL) == ""


def test_twilio_accepts_what_we_sign() -> None:
    scheme = PROVIDERS["twilio"].scheme
    for body in (urlencode(FORM).encode(), BODY):
        sent = scheme.seal([TOKEN], body, now=NOW, message_id="", url=URL)
        params: Any = FORM if body is not BODY else body.decode()
        signature = sent.headers["X-Twilio-Signature"]
        assert RequestValidator(TOKEN).validate(sent.url, params, signature)
        assert reason("twilio", (TOKEN,), dict(sent.headers), body, url=sent.url) == ""


def test_a_body_that_twilio_did_not_sign_is_refused_whatever_its_type() -> None:
    bare = RequestValidator(TOKEN).compute_signature(URL, {})
    headers = {"X-Twilio-Signature": bare, "Content-Type": "application/json"}
    assert reason("twilio", (TOKEN,), headers, b"", url=URL) == ""
    for body in (b'{"paid":true}', b"paid", b"a=1"):
        assert reason("twilio", (TOKEN,), headers, body, url=URL) == "mismatch"
    assert reason("twilio", (TOKEN,), headers, b"=", url=URL) == "malformed"
    sent = PROVIDERS["twilio"].scheme.seal([TOKEN], BODY, now=NOW, message_id="", url=URL)
    other = BODY.replace(b"paid", b"void")
    assert reason("twilio", (TOKEN,), dict(sent.headers), other, url=sent.url) == "mismatch"


def test_twilio_forms_are_events() -> None:
    hook = build("twilio", "t" * 32, event_type="MessageStatus", public_url=URL)
    body = b"MessageStatus=delivered&MessageSid=SM1&Media=1&Media=2"
    [found] = events(hook, body, {"Content-Type": "application/x-www-form-urlencoded"})
    assert found.event.event_type == "delivered"
    assert found.event.payload["Media"] == ["1", "2"]
