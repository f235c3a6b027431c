"""A reply that a provider's webhook brings, to a real gateway."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiohttp
import dns.resolver
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.fakes.dns_server import DnsServer
from tests.fakes.signer import Signer
from tests.fakes.sns import HOST, PATH, TOPIC, Sns, SnsSite
from tests.integration.conftest import approval
from tests.integration.mail_world import Office, Opening, opened

__all__ = ["opened"]

KEY = "mailgun-signing-key-1"


async def post(office: Office, path: str, **more: Any) -> tuple[int, Any]:
    async with office.api.session.post(office.api.gateway.url + path, **more) as response:
        return response.status, await response.json()


async def test_postmark_and_mailgun(opened: Opening) -> None:
    office = await opened(
        {"policy": "comment", "smtp": "", "postmark_password": "pw-1", "mailgun_key": KEY}
    )
    record = await office.ask(approval(approversList=["ada"], actions=["accept", "ask"]))
    asked = await office.mails(1)
    mail = office.reply(asked, "Why so much?")
    to = str(mail["To"])
    body = json.dumps({"RawEmail": mail.as_string(), "OriginalRecipient": to})
    status, said = await post(office, "/mail/postmark", data=body)
    assert (status, said["error"]) == (401, "unauthenticated")
    auth = {"Authorization": aiohttp.encode_basic_auth("sayso", "pw-1")}
    # Its own Authentication-Results are not ours: nothing vouches for the sender of a hook's mail.
    status, said = await post(office, "/mail/postmark", data=body, headers=auth)
    assert (status, said) == (200, {"status": "noted"})
    # Brought again, it is the same note.
    assert (await post(office, "/mail/postmark", data=body, headers=auth))[0] == 200

    def form(token: str) -> aiohttp.FormData:
        stamp = str(int(time.time()))
        signed = hmac.new(KEY.encode(), f"{stamp}{token}".encode(), hashlib.sha256).hexdigest()
        made = aiohttp.FormData()
        for name, value in {
            "timestamp": stamp,
            "token": token,
            "signature": signed,
            "recipient": to,
            "sender": "ada@example.com",
            "body-mime": office.reply(asked, "And who ordered it?").as_string(),
        }.items():
            made.add_field(name, value)
        return made

    assert await post(office, "/mail/mailgun/mime", data=form("t1")) == (200, {"status": "noted"})
    status, _ = await post(office, "/mail/mailgun/mime", data=form("t1"))
    assert status == 401  # each token once
    found = await office.detail(record)
    assert found["status"] == "open"
    assert [n["text"] for n in found["notes"]] == ["Why so much?", "And who ordered it?"]
    for path in ("/mail/ses", "/mail/sendgrid"):
        status, _ = await post(office, path, data=b"{}")
        assert status == 404  # not set up
    status, _ = await post(office, "/mail/postmark", data=b"x" * 9_000_000, headers=auth)
    assert status == 413
    nobody = json.dumps({"RawEmail": "x", "OriginalRecipient": "x@r.example.com"})
    assert await post(office, "/mail/postmark", data=nobody, headers=auth) == (
        200,
        {"status": "refused"},
    )


def received(mail: EmailMessage, to: str, dmarc: str) -> str:
    """The text of SES's notification about a mail, with the mail in it."""
    return json.dumps(
        {
            "notificationType": "Received",
            "mail": {"source": "ada@example.com"},
            "receipt": {
                "recipients": [to],
                "dmarcVerdict": {"status": dmarc},
                "action": {"type": "SNS", "encoding": "BASE64"},
            },
            "content": base64.b64encode(mail.as_bytes()).decode(),
        }
    )


async def test_ses_by_a_topic_that_is_confirmed(
    opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sns = Sns()
    async with SnsSite(sns, tmp_path) as site:
        monkeypatch.setattr("aiohttp.connector.DefaultResolver", site.resolver)
        office = await opened({"smtp": "", "authserv_id": "", "ses_topics": [TOPIC]})
        confirming = sns.message(
            time.time(),
            Type="SubscriptionConfirmation",
            Token="t",
            SubscribeURL=f"{HOST}/?Action=ConfirmSubscription&Token=t",
        )
        # The site shows a certificate of an authority that nobody trusts: nothing is proven by it.
        assert (await post(office, "/mail/ses", data=confirming))[0] == 401
        assert site.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(site.authority))
        assert await post(office, "/mail/ses", data=confirming) == (200, {"status": "confirmed"})
        assert site.asked == [PATH, "/?Action=ConfirmSubscription&Token=t"]

        record = await office.ask(approval(approversList=["ada"]))
        asked = await office.mails(1)
        to = str(asked["Reply-To"])
        forged = sns.message(time.time(), Message=received(office.reply(asked, "no"), to, "FAIL"))
        assert await post(office, "/mail/ses", data=forged) == (200, {"status": "noted"})
        genuine = received(office.reply(asked, "Approve"), to, "PASS")
        changed = json.loads(sns.message(time.time(), Message=genuine)) | {"Message": "{}"}
        elsewhere = sns.message(time.time(), Message=genuine, TopicArn=f"{TOPIC}-of-others")
        for wrong in (json.dumps(changed).encode(), elsewhere):
            assert (await post(office, "/mail/ses", data=wrong))[0] == 401
        assert (await office.detail(record))["status"] == "open"
        sent = sns.message(time.time(), Message=genuine)
        assert await post(office, "/mail/ses", data=sent) == (200, {"status": "answered"})
        assert await post(office, "/mail/ses", data=sent) == (200, {"status": "replayed"})
        found = await office.detail(record)
        assert (found["outcome"]["by"], found["resumeValue"]["action"]) == ("ada", "accept")
        assert [n["reason"] for n in found["notes"]] == ["the provider says that DMARC failed"]
        assert len(site.asked) == 2  # the certificate was kept


async def test_ses_reports_what_was_lost(
    opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sns = Sns()
    async with SnsSite(sns, tmp_path) as site:
        monkeypatch.setattr("aiohttp.connector.DefaultResolver", site.resolver)
        monkeypatch.setenv("SSL_CERT_FILE", str(site.authority))
        hook = {"smtp": "", "authserv_id": "", "ses_topics": [TOPIC]}
        office = await opened(hook, fallback=["email:bob@example.com"])
        record = await office.ask(approval())
        await office.mails(1)
        mark = office.mail.senders[0].partition("@")[0]
        told = {
            "eventType": "Bounce",
            "mail": {"tags": {"sayso": [mark], "ses:operation": ["SendRawEmail"]}},
            "bounce": {
                "bounceType": "Permanent",
                "bounceSubType": "General",
                "bouncedRecipients": [
                    {
                        "emailAddress": "ada@example.com",
                        "action": "failed",
                        "status": "5.1.1",
                        "diagnosticCode": "smtp; 550 5.1.1 no such user",
                    }
                ],
            },
        }
        delivered = {"eventType": "Delivery", "mail": told["mail"]}
        for text, status in ((delivered, "ignored"), (told, "bounced")):
            sent = sns.message(time.time(), Message=json.dumps(text))
            assert await post(office, "/mail/ses", data=sent) == (200, {"status": status})
        assert str((await office.mails(2))["To"]) == "bob@example.com"
        assert (await office.detail(record))["notes"][0]["reason"] == (
            "could not be delivered to ada@example.com: 550 5.1.1 no such user"
        )
        assert "5.1.1" in await office.inbound.ledger.suppressed("ada@example.com")


async def test_sendgrid_with_a_policy_that_signs(opened: Opening) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    der = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    key = base64.b64encode(der).decode()
    office = await opened({"policy": "comment", "smtp": "", "sendgrid_key": key})
    record = await office.ask(approval(approversList=["ada"], actions=["accept", "ask"]))
    asked = await office.mails(1)
    mail = office.reply(asked, "Who ordered it?")
    envelope = json.dumps({"to": [str(mail["To"])], "from": "ada@example.com"})
    form = aiohttp.MultipartWriter("form-data")
    for name, value in (("email", mail.as_bytes()), ("envelope", envelope.encode())):
        form.append(value).set_content_disposition("form-data", name=name)
    body = await form.as_bytes()

    async def send(body: bytes, stamp: str, signed: bytes) -> tuple[int, Any]:
        prefix = "X-Twilio-Email-Event-Webhook"
        headers = {
            "Content-Type": form.headers["Content-Type"],
            f"{prefix}-Timestamp": stamp,
            f"{prefix}-Signature": base64.b64encode(signed).decode(),
        }
        return await post(office, "/mail/sendgrid", data=body, headers=headers)

    now, old = str(int(time.time())), str(int(time.time()) - 7200)
    signature, late = (private.sign(at.encode() + body, ec.ECDSA(SHA256())) for at in (now, old))
    assert (await send(body.replace(b"ordered", b"allowed"), now, signature))[0] == 401
    assert (await send(body, old, late))[0] == 401
    assert (await send(body, now, b""))[0] == 401
    assert "notes" not in await office.detail(record)
    assert await send(body, now, signature) == (200, {"status": "noted"})
    (note,) = (await office.detail(record))["notes"]
    assert (note["text"], note["by"]) == ("Who ordered it?", "ada@example.com")


async def test_a_provider_s_mail_decides_by_its_own_signature(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No provider but SES says who sent a mail: DKIM does, with keys of a name server."""
    signer = Signer()
    async with DnsServer({"s1._domainkey.example.com.": signer.record}) as names:
        monkeypatch.setattr(dns.resolver, "default_resolver", names.resolver)
        hook = {"smtp": "", "authserv_id": "", "dkim": True, "postmark_password": "pw-1"}
        office = await opened(hook)
        office.stamp = ""
        record = await office.ask(approval(approversList=["ada"]))
        asked = await office.mails(1)
        auth = {"Authorization": aiohttp.encode_basic_auth("sayso", "pw-1")}

        async def brought(raw: bytes) -> tuple[int, Any]:
            members = {"RawEmail": raw.decode(), "OriginalRecipient": str(asked["Reply-To"])}
            return await post(office, "/mail/postmark", json=members, headers=auth)

        genuine = signer.signed(office.reply(asked, "Approve"))
        changed = genuine.replace(b"Approve", b"Reject!", 1)
        other = Signer().signed(office.reply(asked, "Reject"))
        for wrong in (changed, other):
            assert await brought(wrong) == (200, {"status": "noted"})
        assert await brought(genuine) == (200, {"status": "answered"})
        found = await office.detail(record)
        assert (found["outcome"]["by"], found["resumeValue"]["action"]) == ("ada", "accept")
        assert found["notes"][0]["reason"] == "its DKIM signature does not hold"
