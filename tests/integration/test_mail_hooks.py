"""A reply that a provider's webhook brings, to a real gateway."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any

import aiohttp

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
