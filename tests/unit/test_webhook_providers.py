"""What holds for every provider: secrets are checked at start, strangers get refusals, bytes a meaning."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.webhooks.providers import PROVIDERS
from adapters.webhooks.receive import UNMAPPED
from adapters.webhooks.scheme import Scheme
from adapters.webhooks.verify import SignatureRefused, verify
from tests.unit.hook_world import (
    BEARER,
    BT_SECRET,
    EC_PUBLIC,
    HMAC_KEY,
    PINNED,
    URL,
    build,
    events,
    paypal,
)


def test_gocardless_events_are_told_apart() -> None:
    body = json.dumps(
        {"events": [
            {"id": f"EV{n}", "resource_type": "payments", "action": "confirmed"} for n in range(250)
        ] + [{"id": "EV0"}]}
    ).encode()  # fmt: skip
    found = events(build("gocardless", "gocardless-secret"), body)
    assert [one.mapped for one in found] == [True] * 250 + [False]
    assert found[7].event.event_type == "payments.confirmed"
    assert len({one.event.event_id for one in found}) == 251
    assert events(build("gocardless", "gocardless-secret"), b'{"events":[]}') == []
    [wrong] = events(build("gocardless", "gocardless-secret"), b'{"events":7}')
    assert not wrong.mapped


SPECIAL = sorted(name for name in PROVIDERS if not isinstance(PROVIDERS[name].scheme, Scheme))
SPECIAL_SECRETS = {
    "adyen": HMAC_KEY,
    "bearer": BEARER,
    "braintree": BT_SECRET,
    "cloudevents": BEARER,
    "event_grid": BEARER,
    "mollie_classic": "live_" + "k" * 30,
    "paypal": PINNED,
    "sendgrid": EC_PUBLIC,
    "standard_webhooks_v1a": "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    "twilio": "twilio-auth-token-of-32-characters",
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("secret", ["", " x" * 20, "short", "-" * 300])
def test_a_secret_that_cannot_work_is_refused_at_start(name: str, secret: str) -> None:
    if name in ("twilio", "bearer", "cloudevents", "event_grid") and secret == "-" * 300:
        return  # any text may be a token
    with pytest.raises(ValueError) as refused:
        build(name, secret, public_url=URL, event_type="type")
    assert not secret.strip("- ") or secret not in str(refused.value)


@pytest.mark.parametrize("name", SPECIAL)
def test_a_secret_that_can_work_is_taken(name: str) -> None:
    assert build(name, SPECIAL_SECRETS[name], public_url=URL, event_type="type").id == "s"


@given(
    name=st.sampled_from(SPECIAL),
    body=st.binary(max_size=200) | st.recursive(st.text() | st.integers() | st.none(), st.lists).map(
        lambda value: json.dumps({"notificationItems": [{"NotificationRequestItem": value}]}).encode()
    ),
    values=st.lists(st.text(max_size=60), min_size=5, max_size=5),
    now=st.floats(allow_nan=True, allow_infinity=True),
)  # fmt: skip
def test_a_stranger_never_gets_anything_but_a_refusal(
    name: str, body: bytes, values: list[str], now: float
) -> None:
    names = {
        "twilio": ["x-twilio-signature", "x-twilio-webhooks-signature-settings"],
        "sendgrid": [
            "x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp",
        ],
        "paypal": [*paypal(b"")],
        "standard_webhooks_v1a": ["webhook-signature", "webhook-timestamp", "webhook-id"],
    }.get(name, ["authorization"])  # fmt: skip
    headers = dict(zip(names, values, strict=False))
    if name == "paypal":
        headers |= {"paypal-auth-algo": "SHA256withRSA"}
    with pytest.raises(SignatureRefused):
        verify(PROVIDERS[name].scheme, (SPECIAL_SECRETS[name],), headers, body, now, URL)


@given(
    name=st.sampled_from(sorted(PROVIDERS)),
    body=st.binary(max_size=200),
    content=st.sampled_from(["", "application/json", "application/cloudevents+json", "text/plain"]),
)
def test_any_verified_bytes_are_mapped_or_kept(name: str, body: bytes, content: str) -> None:
    secret = SPECIAL_SECRETS.get(name) or {"adyen_platform": "00" * 16}.get(
        name, "whsec_" + base64.b64encode(bytes(range(32))).decode()
    )
    hook = build(name, secret, public_url=URL, event_type="type")
    headers = {"content-type": content} if content else {}
    for one in events(hook, body, headers):
        assert one.mapped == (one.event.event_type != UNMAPPED)
