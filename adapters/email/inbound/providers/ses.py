"""Amazon SES receiving, by a receipt rule with an SNS action: the mail stands inside the notification.

SES has checked DMARC itself, and its verdict is as good as a mail server's of our own. An SNS action carries
150 KB; larger mails need another way in.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final, Literal

from adapters.email.inbound.providers.provider import Brought, NotUsable, text_in

_VERDICTS: Final[dict[str, Literal["pass", "fail"]]] = {"PASS": "pass", "FAIL": "fail"}


def receive(text: str) -> Brought:
    """From the text of a verified SNS notification. Raises `NotUsable`."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        raise NotUsable("the notification is no JSON") from None
    if not isinstance(members, dict) or members.get("notificationType") != "Received":
        raise NotUsable("the notification is of no received mail")
    receipt, mail = _map(members, "receipt"), _map(members, "mail")
    content = text_in(members, "content")
    if not content:
        raise NotUsable("the notification holds no mail: let the rule's SNS action include it")
    if text_in(_map(receipt, "action"), "encoding").upper() == "BASE64":
        try:
            raw = base64.b64decode(content)
        except (binascii.Error, ValueError):
            raise NotUsable("the mail in the notification is no base64") from None
    else:
        raw = content.encode("utf-8", "surrogateescape")
    to = receipt.get("recipients")
    recipients = [each for each in to if isinstance(each, str)] if isinstance(to, list) else []
    source = mail.get("source")
    return Brought(
        raw,
        tuple(recipients[:50]),
        source.strip("<>") if isinstance(source, str) else None,
        _VERDICTS.get(text_in(_map(receipt, "dmarcVerdict"), "status").upper(), ""),
    )


def _map(members: dict[str, Any], name: str) -> dict[str, Any]:
    found = members.get(name)
    return found if isinstance(found, dict) else {}
