"""What providers' webhooks bring: proven first, each in its own way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapters.email.inbound.providers import mailgun, postmark, sendgrid, ses
from adapters.email.inbound.providers.provider import Asked, Brought, NotProven, NotUsable
from adapters.email.inbound.providers.sns import SnsVerifier
from tests.fakes.sns import CERTIFICATE, HOST, TOPIC, Sns

NOW = 1_790_000_000.0
MAIL = b"From: ada@example.com\r\nSubject: Re: x\r\n\r\n\xff yes \x00\r\n"
TO = "rabc@r.example.com"
LIMIT = 10**6


def multipart(fields: dict[str, bytes]) -> tuple[dict[str, str], bytes]:
    """A form as a provider posts it."""
    body = b"".join(
        b'--B\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
        for name, value in fields.items()
    )
    return {"content-type": "multipart/form-data; boundary=B"}, body + b"--B--\r\n"


# Mailgun


def mailgun_form(key: str = "mg-key", token: str = "t" * 50, at: float = NOW) -> dict[str, bytes]:
    stamp = str(int(at))
    signed = hmac.new(key.encode(), f"{stamp}{token}".encode(), hashlib.sha256).hexdigest()
    return {
        "timestamp": stamp.encode(),
        "token": token.encode(),
        "signature": signed.encode(),
        "recipient": TO.encode(),
        "sender": b"ada@example.com",
        "body-mime": MAIL,
    }


def test_mailgun() -> None:
    headers, body = multipart(mailgun_form())
    found = mailgun.receive(Asked(headers, body, NOW), "mg-key", LIMIT)
    assert found == Brought(MAIL, (TO,), "ada@example.com", "", f"mailgun\0{'t' * 50}")


@pytest.mark.parametrize(
    "change",
    [
        {"signature": b"0" * 64},
        {"signature": "ü".encode() * 32},
        {"token": b"other"},
        {"timestamp": b"1"},
        {"timestamp": b"-5"},
        {"token": b""},
    ],
)
def test_mailgun_refuses(change: dict[str, bytes]) -> None:
    headers, body = multipart({**mailgun_form(), **change})
    with pytest.raises(NotProven):
        mailgun.receive(Asked(headers, body, NOW), "mg-key", LIMIT)


@pytest.mark.parametrize("off", [-301, 301])
def test_mailgun_refuses_another_time(off: int) -> None:
    headers, body = multipart(mailgun_form(at=NOW + off))
    with pytest.raises(NotProven):
        mailgun.receive(Asked(headers, body, NOW), "mg-key", LIMIT)


def test_mailgun_without_the_raw_mail_says_what_to_do() -> None:
    headers, body = multipart({**mailgun_form(), "body-mime": b""})
    with pytest.raises(NotUsable, match="/mail/mailgun/mime"):
        mailgun.receive(Asked(headers, body, NOW), "mg-key", LIMIT)


# Postmark


def basic(password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"sayso:{password}".encode()).decode()}


def test_postmark() -> None:
    body = json.dumps(
        {"RawEmail": "From: a@b.example\r\n\r\nyes", "OriginalRecipient": TO}
    ).encode()
    found = postmark.receive(Asked(basic("pw"), body, NOW), "pw")
    assert found == Brought(b"From: a@b.example\r\n\r\nyes", (TO,))
    for headers in (
        {},
        basic("other"),
        {"authorization": "Basic !"},
        {"authorization": "Bearer pw"},
    ):
        with pytest.raises(NotProven):
            postmark.receive(Asked(headers, body, NOW), "pw")
    for wrong in (b"{", b"[]", b"{}", b"[" * 100_000):
        with pytest.raises(NotUsable):
            postmark.receive(Asked(basic("pw"), wrong, NOW), "pw")


# SendGrid


def sendgrid_request(key: ec.EllipticCurvePrivateKey, at: float = NOW) -> Asked:
    envelope = json.dumps({"to": [TO], "from": "ada@example.com"}).encode()
    headers, body = multipart({"email": MAIL, "envelope": envelope})
    stamp = str(int(at))
    signature = key.sign(stamp.encode() + body, ec.ECDSA(SHA256()))
    headers |= {
        "x-twilio-email-event-webhook-timestamp": stamp,
        "x-twilio-email-event-webhook-signature": base64.b64encode(signature).decode(),
    }
    return Asked(headers, body, NOW)


def test_sendgrid() -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    der = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    key = sendgrid.public_key(base64.b64encode(der).decode())
    asked = sendgrid_request(private)
    assert sendgrid.receive(asked, key, LIMIT) == Brought(MAIL, (TO,), "ada@example.com")
    changed = Asked(asked.headers, asked.body.replace(b"yes", b"no!"), NOW)
    other = sendgrid_request(ec.generate_private_key(ec.SECP256R1()))
    late = sendgrid_request(private, NOW - 4000)
    for wrong in (changed, other, late, Asked({}, asked.body, NOW)):
        with pytest.raises(NotProven):
            sendgrid.receive(wrong, key, LIMIT)
    with pytest.raises(ValueError, match="public key"):
        sendgrid.public_key("nonsense")


# SES, by SNS


@pytest.fixture(scope="module")
def sns() -> Sns:
    return Sns()


def verifier(sns: Sns) -> SnsVerifier:
    return SnsVerifier((TOPIC,), sns.fetch)


@pytest.mark.parametrize("version", ["1", "2"])
async def test_sns(sns: Sns, version: str) -> None:
    checked = verifier(sns)
    sns.fetched.clear()
    for _ in range(2):
        found = await checked.verify(Asked({}, sns.message(NOW, version), NOW))
        assert (found.text, found.subscribe) == ("hello", "")
    assert sns.fetched == [CERTIFICATE]


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    "change",
    [
        {"Message": "other"},
        {"TopicArn": "arn:aws:sns:eu-west-1:999999999999:mail"},
        {"SignatureVersion": "3"},
        {"SignatureVersion": "1"},
        {"Signature": "AAAA"},
        {"Signature": None},
        {"Type": "UnsubscribeConfirmation"},
        {"Timestamp": "2020-01-01T00:00:00Z"},
        {"Subject": "added"},
    ],
)
async def test_sns_refuses(sns: Sns, change: dict[str, Any]) -> None:
    members = {**json.loads(sns.message(NOW)), **change}
    with pytest.raises(NotProven):
        await verifier(sns).verify(Asked({}, json.dumps(members).encode(), NOW))


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.amazonaws.com/mine/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem",
        "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-01234567.pem",
        "https://user@sns.eu-west-1.amazonaws.com/SimpleNotificationService-01234567.pem",
        "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-01234567.pem",
        "https://sns.eu-west-1.amazonaws.com/other.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-01234567.pem?x=1",
        "https://[",
        "",
    ],
)
async def test_no_certificate_from_elsewhere_is_even_fetched(sns: Sns, url: str) -> None:
    sns.fetched.clear()
    with pytest.raises(NotProven):
        await verifier(sns).verify(Asked({}, sns.message(NOW, SigningCertURL=url), NOW))
    assert sns.fetched == []


async def test_a_topic_is_confirmed_only_where_it_lives(sns: Sns) -> None:
    more = {"Type": "SubscriptionConfirmation", "Token": "t"}
    good = f"{HOST}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=t"
    found = await verifier(sns).verify(Asked({}, sns.message(NOW, SubscribeURL=good, **more), NOW))
    assert found.subscribe == good
    for url in ("http://169.254.169.254/", f"{HOST}.evil.example/?x", f"{HOST}/other", "file:///x"):
        with pytest.raises(NotProven):
            await verifier(sns).verify(Asked({}, sns.message(NOW, SubscribeURL=url, **more), NOW))


@pytest.mark.parametrize(
    ("verdict", "taken"), [("PASS", "pass"), ("FAIL", "fail"), ("GRAY", ""), ("", "")]
)
def test_ses(verdict: str, taken: str) -> None:
    text = {
        "notificationType": "Received",
        "mail": {"source": "ada@example.com"},
        "receipt": {
            "recipients": [TO],
            "dmarcVerdict": {"status": verdict},
            "action": {"type": "SNS", "encoding": "BASE64"},
        },
        "content": base64.b64encode(MAIL).decode(),
    }
    found = ses.receive(json.dumps(text))
    assert found == Brought(MAIL, (TO,), "ada@example.com", taken)  # type: ignore[arg-type]
    for wrong in ("{", "[]", json.dumps({**text, "content": ""}), json.dumps({})):
        with pytest.raises(NotUsable):
            ses.receive(wrong)
