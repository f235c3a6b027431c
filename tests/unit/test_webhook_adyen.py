"""Adyen's standard webhooks: each item is signed by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from Adyen.util import (
    generate_notification_sig,
    is_valid_hmac_notification,
)

from adapters.webhooks.providers import PROVIDERS
from tests.unit.hook_world import (
    HMAC_KEY,
    NOW,
    build,
    events,
    reason,
)


def item(**changes: Any) -> dict[str, Any]:
    """The item of Adyen's published example."""
    return {
        "pspReference": "7914073381342284",
        "merchantAccountCode": "TestMerchant",
        "merchantReference": "TestPayment-1407325143704",
        "amount": {"value": 1130, "currency": "EUR"},
        "eventCode": "AUTHORISATION",
        "success": "true",
        "eventDate": "2014-08-06T17:15:34.121+02:00",
        "additionalData": {"hmacSignature": "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="},
        **changes,
    }


def notification(*items: dict[str, Any], live: str = "true") -> bytes:
    return json.dumps(
        {"live": live, "notificationItems": [{"NotificationRequestItem": i} for i in items]}
    ).encode()


def test_adyen_published_vector_and_helper() -> None:
    body = notification(item())
    assert is_valid_hmac_notification(json.loads(body), HMAC_KEY)
    assert reason("adyen", (HMAC_KEY,), {}, body) == ""
    assert reason("adyen", ("00" * 32,), {}, body) == "mismatch"


def test_the_adyen_helper_accepts_what_we_sign() -> None:
    bare = item(merchantReference="Größe:7", originalReference="9")
    del bare["additionalData"]
    sent = PROVIDERS["adyen"].scheme.seal(
        [HMAC_KEY], notification(bare), now=NOW, message_id="", url=""
    )
    assert is_valid_hmac_notification(json.loads(sent.body), HMAC_KEY)
    assert generate_notification_sig(bare, HMAC_KEY).decode() in sent.body.decode()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"success": "false"}, "mismatch"),
        ({"amount": {"value": 1131, "currency": "EUR"}}, "mismatch"),
        ({"merchantReference": "another"}, "mismatch"),
        ({"additionalData": {}}, "missing"),
        ({"additionalData": None}, "malformed"),
        ({"success": True}, "malformed"),
        ({"amount": {"value": 1130.0, "currency": "EUR"}}, "malformed"),
        ({"amount": {"value": True, "currency": "EUR"}}, "malformed"),
        ({"amount": None}, "malformed"),
    ],
)
def test_a_forged_adyen_item_is_found_wherever_it_stands(
    changes: dict[str, Any], expected: str
) -> None:
    forged = item(**changes)
    for items in ([forged], [item(), forged], [forged, item()]):
        assert reason("adyen", (HMAC_KEY,), {}, notification(*items)) == expected


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"notificationItems":[]}', b"null"])
def test_an_adyen_body_without_items_is_refused(body: bytes) -> None:
    assert reason("adyen", (HMAC_KEY,), {}, body) == "malformed"


def test_a_run_never_sees_what_adyen_did_not_sign() -> None:
    forged = item(reason="forged", paymentMethod="forged")
    forged["amount"] = {**forged["amount"], "note": "forged"}
    hook = build("adyen", HMAC_KEY, correlation={"order": "merchantReference"}, mode="live")
    body = notification(forged, item(eventCode="CAPTURE"))
    first, second = events(hook, body)
    assert b"forged" not in first.event.raw + json.dumps(first.event.payload).encode()
    assert first.event.event_id == "AUTHORISATION:7914073381342284:true"
    assert second.event.event_type == "CAPTURE"
    assert first.event.correlation == {"order": "TestPayment-1407325143704"}
    [crossed] = events(hook, notification(item(), live="false"))
    assert not crossed.mapped
