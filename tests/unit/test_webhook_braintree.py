"""Braintree: signed XML in a form, and its challenge, compared with its SDK."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlencode

import braintree
import pytest

from adapters.webhooks.providers import PROVIDERS
from adapters.webhooks.receive import UNMAPPED
from tests.unit.hook_world import (
    BT_SECRET,
    NOW,
    build,
    events,
    reason,
)

GATEWAY = braintree.BraintreeGateway(
    braintree.Configuration(
        braintree.Environment.Sandbox, "merchant", public_key="pub_key", private_key="p" * 32
    )
)


def bt_sample(kind: str) -> bytes:
    return urlencode(GATEWAY.webhook_testing.sample_notification(kind, "my_id")).encode()


KINDS = [
    value
    for name, value in vars(braintree.WebhookNotification.Kind).items()
    if isinstance(value, str) and not name.startswith("_")
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_of_braintree(kind: str) -> None:
    body = bt_sample(kind)
    assert reason("braintree", (BT_SECRET,), {}, body) == ""
    [found] = events(build("braintree", BT_SECRET), body)
    assert found.mapped, found.event.payload
    assert found.event.event_type == kind
    assert found.event.payload["timestamp"].endswith("Z")


def test_braintree_accepts_what_we_sign() -> None:
    xml = b"<notification><kind>check</kind><subject><check type='boolean'>true</check></subject>"
    xml += b"<timestamp type='datetime'>2026-01-01T00:00:00Z</timestamp></notification>"
    sent = PROVIDERS["braintree"].scheme.seal([BT_SECRET], xml, now=NOW, message_id="", url="")
    form = {name: values[0] for name, values in parse_qs(sent.body.decode()).items()}
    notification = GATEWAY.webhook_notification.parse(form["bt_signature"], form["bt_payload"])
    assert notification.kind == "check"
    assert reason("braintree", (BT_SECRET,), {}, sent.body) == ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda b: b.replace(b"bt_payload=", b"bt_payload=QUJD"), "mismatch"),
        (lambda b: b.replace(b"pub_key", b"other_key"), "mismatch"),
        (lambda b: b + b"&bt_payload=QUJD", "malformed"),
        (lambda b: b.replace(b"bt_signature", b"signature"), "missing"),
        (lambda _: b"", "missing"),
        (lambda b: b.replace(b"bt_payload=", b"bt_payload=%3C"), "malformed"),
        (lambda b: b.replace(b"bt_signature=", b"bt_signature=" + b"a%7Cb%26" * 20), "malformed"),
    ],
)
def test_braintree_mischief(change: Callable[[bytes], bytes], expected: str) -> None:
    body = change(bt_sample("check"))
    assert reason("braintree", (BT_SECRET,), {}, body) == expected


def test_braintree_challenge_is_answered_as_its_sdk_does() -> None:
    greeting = PROVIDERS["braintree"].greeting
    assert greeting is not None
    challenge = "20f9f8ed05f77439fe955c977e4c8a53"
    answer = greeting.answer([BT_SECRET], {"bt_challenge": challenge}, {})
    assert answer is not None
    assert answer.text == GATEWAY.webhook_notification.verify(challenge)
    for other in ("", "abc", "<script>", challenge + "\n", challenge.upper()):
        assert greeting.answer([BT_SECRET], {"bt_challenge": other}, {}) is None


@pytest.mark.parametrize(
    "xml",
    [
        b"<!DOCTYPE a [<!ENTITY b 'x'>]><notification><kind>&b;</kind></notification>",
        b"<notification>",
        b"",
        b"<a>" * 100 + b"</a>" * 100,
    ],
)
def test_xml_that_is_no_notification_is_kept_unmapped(xml: bytes) -> None:
    sent = PROVIDERS["braintree"].scheme.seal([BT_SECRET], xml, now=NOW, message_id="", url="")
    [found] = events(build("braintree", BT_SECRET), sent.body)
    assert found.event.event_type == UNMAPPED
