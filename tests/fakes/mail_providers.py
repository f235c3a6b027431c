"""SES, Postmark and Mailgun on loopback: strict about what their APIs take, silent about the rest.

Each keeps the mails it took as their recipients would get them, and answers as its provider's API
reference says. `refuse` makes the next requests fail: (status, body, headers).
"""

from __future__ import annotations

import base64
import email
import email.policy
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SERVER_TOKEN = "11111111-2222-3333-4444-555555555555"
MAILGUN_KEY = "key-0123456789abcdef"
DOMAIN = "mail.example.com"


@dataclass
class Taken:
    """One mail as a provider has it."""

    to: str
    mail: EmailMessage
    request: dict[str, Any]


@dataclass
class Providers:
    """All three behind one port; use as `async with`."""

    taken: list[Taken] = field(default_factory=list)
    refuse: list[tuple[int, Any, dict[str, str]]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    url: str = ""
    busiest: int = 0
    _busy: int = 0

    async def __aenter__(self) -> Providers:
        app = web.Application(client_max_size=2**22, middlewares=[self._each])
        app.router.add_post("/v2/email/outbound-emails", self._ses)
        app.router.add_post("/email", self._postmark)
        app.router.add_post(f"/v3/{DOMAIN}/messages.mime", self._mailgun)
        self._server = TestServer(app)
        await self._server.start_server()
        self.url = str(self._server.make_url("")).rstrip("/")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @web.middleware
    async def _each(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self._busy += 1
        self.busiest = max(self.busiest, self._busy)
        try:
            if self.refuse:
                status, body, headers = self.refuse.pop(0)
                return web.json_response(body, status=status, headers=headers)
            response: web.StreamResponse = await handler(request)
            return response
        except Wrong as wrong:
            self.complaints.append(str(wrong))
            return web.json_response(wrong.body, status=wrong.status, headers=wrong.headers)
        finally:
            self._busy -= 1

    async def _ses(self, request: web.Request) -> web.Response:
        body = await request.read()
        _check_signature(request, body)
        said = json.loads(body)
        known = {
            "FromEmailAddress",
            "Destination",
            "Content",
            "FeedbackForwardingEmailAddress",
            "ConfigurationSetName",
            "EmailTags",
        }
        if set(said) - known or set(said["Content"]) != {"Raw"}:
            raise _ses_wrong("BadRequestException", "unknown members")
        raw = base64.b64decode(said["Content"]["Raw"]["Data"], validate=True)
        mail = _parsed(raw)
        (to,) = said["Destination"]["ToAddresses"]
        if to != mail["To"] or said["FromEmailAddress"] not in mail["From"]:
            raise _ses_wrong("BadRequestException", "the headers and the request differ")
        if not said["FromEmailAddress"].endswith(f"@{DOMAIN}"):
            raise _ses_wrong("MessageRejected", "Email address is not verified.")
        number = len(self.taken)
        del mail["Message-ID"]
        mail["Message-ID"] = f"<0100-{number}@eu-central-1.amazonses.com>"
        self.taken.append(Taken(to, mail, said))
        return web.json_response({"MessageId": f"0100-{number}"})

    async def _postmark(self, request: web.Request) -> web.Response:
        given = request.headers.get("X-Postmark-Server-Token")
        if given != SERVER_TOKEN:
            raise Wrong(401, {"ErrorCode": 10, "Message": "Bad or missing API token."})
        if request.content_type != "application/json":
            raise Wrong(422, {"ErrorCode": 409, "Message": "JSON required"})
        said = json.loads(await request.read())
        known = {"From", "To", "ReplyTo", "Subject", "TextBody", "HtmlBody", "Headers"}
        known |= {"MessageStream", "TrackOpens", "TrackLinks", "Metadata"}
        metadata = said.get("Metadata", {})
        if any(len(name) > 20 or len(value) > 80 for name, value in metadata.items()):
            raise Wrong(422, {"ErrorCode": 300, "Message": "Metadata is too long"})
        if set(said) - known or said["TrackLinks"] not in ("None", "HtmlAndText"):
            raise Wrong(422, {"ErrorCode": 300, "Message": "Invalid email request"})
        if f"@{DOMAIN}" not in said["From"]:
            raise Wrong(422, {"ErrorCode": 400, "Message": "Sender signature not found"})
        if said["To"].startswith("inactive"):
            raise Wrong(422, {"ErrorCode": 406, "Message": "Inactive recipient"})
        mail = EmailMessage(policy=email.policy.SMTP)
        mail.set_content(said["TextBody"])
        mail.add_alternative(said["HtmlBody"], subtype="html")
        keeps = False
        for header in said["Headers"]:
            if set(header) != {"Name", "Value"} or "\n" in header["Value"] + header["Name"]:
                raise Wrong(422, {"ErrorCode": 300, "Message": "Invalid header"})
            if header["Name"] == "X-PM-KeepID":
                keeps = header["Value"] == "true"
            else:
                mail[header["Name"]] = header["Value"]
        if not keeps:
            del mail["Message-ID"]
            mail["Message-ID"] = "<made@mtasv.net>"
        mail["From"], mail["To"], mail["Subject"] = said["From"], said["To"], said["Subject"]
        if said["ReplyTo"]:
            mail["Reply-To"] = said["ReplyTo"]
        self.taken.append(Taken(said["To"], mail, said))
        answer = {"To": said["To"], "ErrorCode": 0, "Message": "OK", "MessageID": "b7bc2f4a"}
        return web.json_response(answer)

    async def _mailgun(self, request: web.Request) -> web.Response:
        named = base64.b64encode(f"api:{MAILGUN_KEY}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {named}":
            raise Wrong(401, {"message": "Invalid private key"})
        form = await request.post()
        message, to = form.get("message"), form.get("to")
        if not isinstance(message, web.FileField) or not isinstance(to, str):
            raise Wrong(400, {"message": "to and message are required"})
        mail = _parsed(message.file.read())
        options = {name: str(form[name]) for name in form if name[:2] in ("o:", "v:")}
        self.taken.append(Taken(to, mail, options))
        return web.json_response({"id": mail["Message-ID"], "message": "Queued. Thank you."})


def postmark_report(taken: Taken, kind: str, said: str) -> dict[str, Any]:
    """What Postmark's outbound webhook posts about a mail that it took ("Bounce webhook")."""
    return {
        "RecordType": "SpamComplaint" if kind == "SpamComplaint" else "Bounce",
        "MessageStream": taken.request["MessageStream"],
        "ID": 901542550,
        "Type": kind,
        "MessageID": "b7bc2f4a",
        "Metadata": taken.request.get("Metadata", {}),
        "ServerID": 23,
        "Description": "What this type means in general.",
        "Details": said,
        "Email": taken.to,
        "From": f"sayso@{DOMAIN}",
        "BouncedAt": "2026-11-30T09:14:00.0000000Z",
        "Inactive": kind in ("HardBounce", "SpamComplaint"),
        "CanActivate": kind != "SpamComplaint",
        "Subject": str(taken.mail["Subject"]),
    }


def mailgun_report(
    taken: Taken, token: str, event: dict[str, Any], key: str, at: float
) -> dict[str, Any]:
    """What Mailgun's webhook posts about a mail that it took ("Webhook payloads")."""
    stamp = str(int(at))
    signed = hmac.new(key.encode(), f"{stamp}{token}".encode(), hashlib.sha256).hexdigest()
    variables = {n[2:]: v for n, v in taken.request.items() if n.startswith("v:")}
    return {
        "signature": {"timestamp": stamp, "token": token, "signature": signed},
        "event-data": {
            "id": "CPgfbmQMTCKtHW6uIWtuVe",
            "timestamp": at,
            "recipient": taken.to,
            "message": {"headers": {"message-id": str(taken.mail["Message-ID"]).strip("<>")}},
            "user-variables": variables,
            **event,
        },
    }


class Wrong(Exception):
    """What a provider does not take."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{status} {body}")
        self.status, self.body, self.headers = status, body, headers or {}


def _ses_wrong(kind: str, message: str, status: int = 400) -> Wrong:
    return Wrong(status, {"message": message}, {"x-amzn-ErrorType": f"{kind}:http://x/"})


def _parsed(raw: bytes) -> EmailMessage:
    """A whole mail with CRLF line ends, short lines, and one of each header."""
    if b"\n" in raw.replace(b"\r\n", b"") or b"\r" in raw.replace(b"\r\n", b""):
        raise Wrong(400, {"message": "bare line ends"})
    if any(len(line) > 998 for line in raw.split(b"\r\n")):
        raise Wrong(400, {"message": "a line is too long"})
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(mail, EmailMessage)
    for name in ("From", "To", "Subject", "Date", "Message-ID"):
        if len(mail.get_all(name, [])) != 1:
            raise Wrong(400, {"message": f"{name} has to be there once"})
    return mail


def _check_signature(request: web.Request, body: bytes) -> None:
    """Signature Version 4, written once more and step by step, from the receiver's side."""
    algorithm, _, rest = request.headers.get("Authorization", "").partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    key_id, day, region, service, end = parts["Credential"].split("/")
    at = request.headers["X-Amz-Date"]
    sent = datetime.strptime(at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    names = parts["SignedHeaders"].split(";")
    expected = (algorithm, key_id, region, service, end, day)
    if expected != ("AWS4-HMAC-SHA256", ACCESS_KEY, "eu-central-1", "ses", "aws4_request", at[:8]):
        raise _ses_wrong("IncompleteSignatureException", "wrong scope", 403)
    if abs(datetime.now(UTC) - sent) > timedelta(minutes=5) or not {"host", "x-amz-date"} <= {
        *names
    }:
        raise _ses_wrong("SignatureDoesNotMatch", "too old, or too little is signed", 403)
    lines = [f"{name}:{request.headers[name].strip()}\n" for name in names]
    digest = hashlib.sha256(body).hexdigest()
    canonical = f"POST\n{request.path}\n\n{''.join(lines)}\n{';'.join(names)}\n{digest}"
    scope = f"{day}/{region}/{service}/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    signing = b"AWS4" + SECRET_KEY.encode()
    for step in (day, region, service, "aws4_request"):
        signing = hmac.new(signing, step.encode(), hashlib.sha256).digest()
    text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashed}"
    right = hmac.new(signing, text.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(right, parts["Signature"]):
        raise _ses_wrong("SignatureDoesNotMatch", "the signature does not match", 403)
