"""Providers against their own SDKs, their published vectors, and mischief with each of their schemes."""

from __future__ import annotations

import base64
import hmac
import json
import re
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode

import braintree
import gocardless_pro.webhooks
import pytest
import razorpay
import standardwebhooks
from Adyen.util import (
    generate_notification_sig,
    is_valid_hmac_notification,
    is_valid_hmac_payload,
)
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from adapters.webhooks.providers import PROVIDERS, sign
from adapters.webhooks.receive import UNMAPPED, Received, receive_all
from adapters.webhooks.scheme import Scheme
from adapters.webhooks.settings import HookSource
from adapters.webhooks.verify import SignatureRefused, verify

NOW = 1_764_000_000.0
BODY = b'{"id":"evt_1","type":"paid","note":"\xc3\xa9"}'
URL = "https://sayso.example.com/hooks/shop"


def lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def reason(
    name: str,
    secrets: tuple[str, ...],
    headers: dict[str, str],
    body: bytes,
    now: float = NOW,
    url: str = "",
) -> str:
    """What `verify` says: "" when it accepts."""
    try:
        verify(PROVIDERS[name].scheme, secrets, lower(headers), body, now, url)
    except SignatureRefused as refused:
        return refused.reason
    return ""


def build(provider: str, secret: str, **changes: Any) -> HookSource:
    return HookSource.build(id="s", provider=provider, secrets=[secret], **changes)


def events(hook: HookSource, body: bytes, headers: dict[str, str] | None = None) -> list[Received]:
    return receive_all(hook, lower(headers or {}), body)


# --- HMAC over the body, compared with SDKs ---------------------------------------------------------


@pytest.mark.parametrize("name", ["standard_webhooks", "svix"])
def test_standard_webhooks_sdk_both_ways(name: str) -> None:
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    sdk = standardwebhooks.Webhook(secret)
    prefix = "svix" if name == "svix" else "webhook"
    moment = datetime.now(UTC)
    theirs = {
        f"{prefix}-id": "msg_1",
        f"{prefix}-timestamp": str(int(moment.timestamp())),
        f"{prefix}-signature": sdk.sign("msg_1", moment, BODY.decode()),
    }
    assert reason(name, (secret,), theirs, BODY, moment.timestamp()) == ""
    ours = sign(name, [secret], BODY, now=moment.timestamp(), message_id="msg_2")
    renamed = {n.replace(prefix, "webhook"): value for n, value in lower(ours).items()}
    assert sdk.verify(BODY, renamed) == json.loads(BODY)


def test_gocardless_sdk() -> None:
    body = b'{"events":[{"id":"EV1","resource_type":"payments","action":"confirmed"}]}'
    signature = sign("gocardless", ["gocardless-secret"], body, now=NOW)["Webhook-Signature"]
    [event] = gocardless_pro.webhooks.parse(body, "gocardless-secret", signature)
    assert event.id == "EV1"


def test_razorpay_sdk() -> None:
    signature = sign("razorpay", ["razorpay-secret"], BODY, now=NOW)["X-Razorpay-Signature"]
    sdk = razorpay.Client(auth=("key", "secret")).utility
    assert sdk.verify_webhook_signature(BODY.decode(), signature, "razorpay-secret")


def test_adyen_platform_sdk() -> None:
    key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
    signature = sign("adyen_platform", [key], BODY, now=NOW)["HmacSignature"]
    assert is_valid_hmac_payload(signature, key, BODY)


def test_square_published_vector() -> None:
    """From the tests of Square's own libraries."""
    body = (
        b'{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":'
        b'"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z",'
        b'"data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}'
    )
    headers = {"x-square-hmacsha256-signature": "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4="}
    url = "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9"
    secret = ("Ibxx_5AKakO-3qeNVR61Dw",)
    assert reason("square", secret, headers, body, url=url) == ""
    assert reason("square", secret, headers, body, url=url + "/") == "mismatch"
    assert reason("square", secret, headers, body, url=url.replace("https", "http")) == "mismatch"
    assert reason("square", secret, headers, body) == "malformed"


@pytest.mark.parametrize("prefix", ["", "sha256="])
def test_mollie_with_and_without_a_prefix(prefix: str) -> None:
    mac = hmac.digest(b"mollie-secret", BODY, "sha256").hex()
    headers = {"X-Mollie-Signature": prefix + mac}
    assert reason("mollie", ("mollie-secret",), headers, BODY) == ""
    assert reason("mollie", ("mollie-secret",), headers, BODY + b" ") == "mismatch"


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (NOW * 1000, ""),
        ((NOW - 60) * 1000, ""),
        ((NOW - 61) * 1000, "stale"),
        ((NOW + 61) * 1000, "future"),
        (None, "malformed"),
        ("1764000000000", "malformed"),
        (True, "malformed"),
    ],
)
def test_linear_is_as_old_as_its_body_says(stamp: Any, expected: str) -> None:
    body = json.dumps({"type": "Issue", "webhookTimestamp": stamp}).encode()
    mac = hmac.digest(b"linear-secret", body, "sha256").hex()
    fresh = {"Linear-Signature": mac, "Linear-Timestamp": str(int(NOW * 1000))}
    assert reason("linear", ("linear-secret",), fresh, body) == expected


def test_linear_retries_are_one_event() -> None:
    hook = build("linear", "linear-secret")
    first = {
        "type": "Issue", "action": "update", "createdAt": "2026-01-01T00:00:00Z",
        "data": {"id": "i1"}, "webhookTimestamp": 1,
    }  # fmt: skip
    [one] = events(hook, json.dumps(first).encode())
    [two] = events(hook, json.dumps(first | {"webhookTimestamp": 2}).encode())
    assert one.event.event_type == "Issue.update"
    assert one.event.event_id == two.event.event_id


# --- Twilio -----------------------------------------------------------------------------------------

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


# --- Adyen, items -----------------------------------------------------------------------------------

HMAC_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"


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


# --- Braintree --------------------------------------------------------------------------------------

GATEWAY = braintree.BraintreeGateway(
    braintree.Configuration(
        braintree.Environment.Sandbox, "merchant", public_key="pub_key", private_key="p" * 32
    )
)
BT_SECRET = "pub_key:" + "p" * 32


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


# --- SendGrid ---------------------------------------------------------------------------------------

EC_KEY = ec.generate_private_key(ec.SECP256R1())
EC_PUBLIC = base64.b64encode(
    EC_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
).decode()


def sendgrid(body: bytes, now: float = NOW, key: Any = EC_KEY) -> dict[str, str]:
    stamp = str(int(now))
    mac = key.sign(stamp.encode() + body, ec.ECDSA(SHA256()))
    return {
        "X-Twilio-Email-Event-Webhook-Signature": base64.b64encode(mac).decode(),
        "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
    }


def test_sendgrid_published_vector() -> None:
    """From the tests of SendGrid's own libraries."""
    key = (
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw"
        "+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
    )
    headers = {
        "X-Twilio-Email-Event-Webhook-Signature": "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiE"
        "AyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
        "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
    }
    body = (
        b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":'
        b'"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kof'
        b'Sm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":'
        b'"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
    )
    assert reason("sendgrid", (key,), headers, body, 1600112502) == ""
    assert reason("sendgrid", (key,), headers, body.strip(), 1600112502) == "mismatch"


def test_sendgrid_mischief() -> None:
    body = b'[{"event":"open","sg_event_id":"a"},{"event":"click","sg_event_id":"b"}]'
    good = sendgrid(body)
    assert reason("sendgrid", (EC_PUBLIC,), good, body) == ""
    assert reason("sendgrid", (EC_PUBLIC,), good, body + b" ") == "mismatch"
    assert reason("sendgrid", (EC_PUBLIC,), good, body, NOW + 172_801) == "stale"
    assert reason("sendgrid", (EC_PUBLIC,), good, body, NOW - 172_801) == "future"
    stranger = ec.generate_private_key(ec.SECP256R1())
    assert reason("sendgrid", (EC_PUBLIC,), sendgrid(body, key=stranger), body) == "mismatch"
    for name, value, expected in (
        ("X-Twilio-Email-Event-Webhook-Timestamp", str(int(NOW) + 1), "mismatch"),
        ("X-Twilio-Email-Event-Webhook-Timestamp", "-1", "malformed"),
        ("X-Twilio-Email-Event-Webhook-Signature", "é", "malformed"),
        ("X-Twilio-Email-Event-Webhook-Signature", "AAAA", "mismatch"),
        ("X-Twilio-Email-Event-Webhook-Signature", "", "missing"),
    ):
        assert reason("sendgrid", (EC_PUBLIC,), good | {name: value}, body) == expected
    found = events(build("sendgrid", EC_PUBLIC), body)
    assert [(e.event.event_type, e.event.event_id) for e in found] == [
        ("open", "a"),
        ("click", "b"),
    ]


# --- PayPal -----------------------------------------------------------------------------------------

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate(key: Any, *, start: datetime | None = None, days: int = 365) -> str:
    start = start or datetime.fromtimestamp(NOW, UTC) - timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "messageverificationcerts")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .sign(key, SHA256())
    )
    return base64.b64encode(made.public_bytes(Encoding.DER)).decode()


PINNED = "8PT597110X687430LKGECATA:" + certificate(RSA_KEY)


def paypal(body: bytes, *, key: Any = RSA_KEY, webhook: str = "", **changes: str) -> dict[str, str]:
    sent = datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    webhook = webhook or PINNED.partition(":")[0]
    signed = f"t-1|{sent}|{webhook}|{zlib.crc32(body)}".encode()
    signature = key.sign(signed, padding.PKCS1v15(), SHA256())
    headers = {
        "paypal-transmission-id": "t-1",
        "paypal-transmission-time": sent,
        "paypal-transmission-sig": base64.b64encode(signature).decode(),
        "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-360caa42",
        "paypal-auth-algo": "SHA256withRSA",
    }
    return headers | {name.replace("_", "-"): value for name, value in changes.items()}


def test_paypal_holds_only_with_the_pinned_certificate() -> None:
    assert reason("paypal", (PINNED,), paypal(BODY), BODY) == ""
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert reason("paypal", (PINNED,), paypal(BODY, key=stranger), BODY) == "mismatch"
    both = ("8PT597110X687430LKGECATA:" + certificate(stranger), PINNED)
    assert reason("paypal", both, paypal(BODY), BODY) == ""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"webhook": "ANOTHER"}, "mismatch"),
        ({"paypal_transmission_id": "t-2"}, "mismatch"),
        ({"paypal_cert_url": "https://paypal.com.evil.example/cert"}, "mismatch"),
        ({"paypal_cert_url": "https://evilpaypal.com/cert"}, "mismatch"),
        ({"paypal_cert_url": "http://api.paypal.com/cert"}, "mismatch"),
        ({"paypal_cert_url": "https://api.paypal.com@evil.example/"}, "mismatch"),
        ({"paypal_auth_algo": "none"}, "malformed"),
        ({"paypal_transmission_sig": "####"}, "malformed"),
        ({"paypal_transmission_id": "t-1|x"}, "malformed"),
        ({"paypal_transmission_time": ""}, "missing"),
    ],
)
def test_paypal_mischief(changes: dict[str, str], expected: str) -> None:
    assert reason("paypal", (PINNED,), paypal(BODY, **changes), BODY) == expected


def test_paypal_body_age_and_expired_certificate() -> None:
    assert reason("paypal", (PINNED,), paypal(BODY), BODY + b" ") == "mismatch"
    assert reason("paypal", (PINNED,), paypal(BODY), BODY, NOW + 345_601) == "stale"
    old = certificate(RSA_KEY, start=datetime.fromtimestamp(NOW, UTC) - timedelta(days=9), days=8)
    assert reason("paypal", ("8PT597110X687430LKGECATA:" + old,), paypal(BODY), BODY) == "mismatch"


# --- tokens and CloudEvents -------------------------------------------------------------------------

BEARER = "a-token-of-thirty-two-characters"


@pytest.mark.parametrize("name", ["bearer", "cloudevents"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"Bearer {BEARER}", ""),
        (f"bearer  {BEARER}", ""),
        (f"Bearer {BEARER}x", "mismatch"),
        (f"Bearer {BEARER[:-1]}", "mismatch"),
        ("Bearer é", "mismatch"),
        (f"Basic {BEARER}", "missing"),
        (BEARER, "missing"),
        ("Bearer", "missing"),
        ("", "missing"),
    ],
)
def test_bearer_tokens(name: str, value: str, expected: str) -> None:
    assert reason(name, (BEARER,), {"Authorization": value}, b"") == expected
    assert reason(name, (), {"Authorization": f"Bearer {BEARER}"}, b"") == "mismatch"


CLOUD = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.paid"}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (
            {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "%2Fshop", "ce-type": "order.paid",
             "content-type": "application/json"},
            b'{"order":"7"}',
        ),
        ({"content-type": "application/cloudevents+json; charset=utf-8"},
         json.dumps(CLOUD | {"data": {"order": "7"}}).encode()),
        ({"content-type": "application/cloudevents-batch+json"},
         json.dumps([CLOUD | {"data": {"order": "7"}}]).encode()),
    ],
    ids=["binary", "structured", "batch"],
)  # fmt: skip
def test_cloudevents_in_their_three_modes(headers: dict[str, str], body: bytes) -> None:
    hook = build("cloudevents", BEARER, correlation={"order": "data.order"})
    [found] = events(hook, body, headers)
    assert found.mapped, found.event.payload
    assert (found.event.event_id, found.event.event_type) == ("/shop 1", "order.paid")
    assert found.event.correlation == {"order": "7"}


@pytest.mark.parametrize(
    ("headers", "body", "says"),
    [
        ({"content-type": "application/json"}, b"{}", "ce- headers"),
        ({"content-type": "application/cloudevents+json"}, b"{}", "has no id"),
        ({"content-type": "application/cloudevents+json"}, b"[]", "is not an object"),
        ({"content-type": "application/cloudevents-batch+json"}, b"{}", "is not a list"),
        ({"content-type": "application/cloudevents+json"},
         json.dumps(CLOUD | {"specversion": "0.3"}).encode(), "specversion 1.0"),
    ],
)  # fmt: skip
def test_what_is_no_cloudevent_is_kept_unmapped(
    headers: dict[str, str], body: bytes, says: str
) -> None:
    [found] = events(build("cloudevents", BEARER), body, headers)
    assert says in found.event.payload["reason"]


def test_cloudevents_handshake() -> None:
    greeting = PROVIDERS["cloudevents"].greeting
    assert greeting is not None
    answer = greeting.answer([BEARER], {}, {"webhook-request-origin": "events.example.com"})
    assert answer is not None
    assert answer.headers["WebHook-Allowed-Origin"] == "events.example.com"
    assert greeting.answer([BEARER], {}, {}) is None
    assert greeting.answer([BEARER], {}, {"webhook-request-origin": "a b\r\nx"}) is None


GRID = {
    "id": "2d1781af",
    "topic": "/subscriptions/s/resourceGroups/g",
    "subject": "7",
    "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent",
    "data": {"validationCode": "512d38b6", "validationUrl": "https://rp.eventgrid.example/v?id=1"},
    "eventTime": "2026-01-25T22:12:19Z",
    "metadataVersion": "1",
    "dataVersion": "1",
}
VALIDATION = {"aeg-event-type": "SubscriptionValidation"}


def handshake(headers: dict[str, str], body: bytes) -> Any:
    answer = PROVIDERS["event_grid"].handshake
    assert answer is not None
    return answer(headers, body)


def test_event_grid_validation_is_answered_with_its_code() -> None:
    body = json.dumps([GRID]).encode()
    assert handshake(VALIDATION, body) == {"validationResponse": "512d38b6"}
    assert handshake({"aeg-event-type": "Notification"}, body) is None
    assert handshake({}, body) is None


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"7", b"null", b"[7]", b"[[]]", json.dumps([GRID, GRID]).encode(),
     json.dumps([GRID | {"data": {"validationCode": 7}}]).encode(),
     json.dumps([GRID | {"data": {"validationCode": "x" * 513}}]).encode(),
     json.dumps([GRID | {"data": None}]).encode(),
     json.dumps([GRID | {"eventType": "Other"}]).encode()],
)  # fmt: skip
def test_what_only_says_that_it_is_a_validation_is_none(body: bytes) -> None:
    assert handshake(VALIDATION, body) is None


GRID_LIKE = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["eventType", "data", "validationCode"]), inner)
    ),
)


@given(st.binary(max_size=200) | GRID_LIKE.map(lambda value: json.dumps(value).encode()))
def test_no_body_makes_the_handshake_raise(body: bytes) -> None:
    assert handshake(VALIDATION, body) is None


def test_event_grid_events_are_told_apart_by_topic_and_id() -> None:
    hook = build("event_grid", BEARER, correlation={"order": "subject"})
    one = GRID | {"eventType": "Microsoft.Storage.BlobCreated"}
    body = json.dumps([one, one | {"topic": "/other"}, 7]).encode()
    first, other, wrong = events(hook, body)
    assert first.event.event_id == "/subscriptions/s/resourceGroups/g 2d1781af"
    assert first.event.event_type == "Microsoft.Storage.BlobCreated"
    assert other.event.event_id == "/other 2d1781af"
    assert (first.mapped, other.mapped, wrong.mapped) == (True, True, False)
    [wrong] = events(hook, b"{}")
    assert "is not a list" in wrong.event.payload["reason"]


MOLLIE_LIKE = st.from_regex(r"\Aid=(tr|ord|sub)_[A-Za-z0-9]{0,70}[/%.]?\Z")


@given(st.binary(max_size=120) | MOLLIE_LIKE.map(str.encode))
def test_a_mollie_notice_names_a_plain_path_or_nothing(body: bytes) -> None:
    lookup = PROVIDERS["mollie_classic"].lookup
    assert lookup is not None
    try:
        asked = lookup.read(body)
    except ValueError:
        return
    assert re.fullmatch(r"/v2/(payments|orders)/(tr|ord)_[A-Za-z0-9]{4,64}", asked.path)
    assert body == f"id={asked.id}".encode()


def test_a_refund_is_an_event_for_who_wants_it() -> None:
    """The expression of the provider's page."""
    said = "join(':', [id, status, amountRefunded.value || '0', amountChargedBack.value || '0'])"
    hook = build("mollie_classic", SPECIAL_SECRETS["mollie_classic"], event_id=said)
    paid = {"resource": "payment", "id": "tr_1", "status": "paid"}
    refunded = paid | {"amountRefunded": {"value": "5.00", "currency": "EUR"}}
    found = [events(hook, json.dumps(one).encode())[0].event.event_id for one in (paid, refunded)]
    assert found == ["tr_1:paid:0:0", "tr_1:paid:5.00:0"]


# --- batches and all providers ----------------------------------------------------------------------


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
