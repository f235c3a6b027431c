"""Amazon SES by SNS: mail that a receipt rule publishes with the mail inside the notification, and what a
configuration set publishes about mail that went out.

SES has checked DMARC itself, and its verdict is as good as a mail server's of our own. An SNS action carries
150 KB; larger mails need another way in.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, Literal

from adapters.email.inbound.machines import Bounce, Complaint, given_up
from adapters.email.inbound.providers.provider import (
    Brought,
    NotUsable,
    Reported,
    map_in,
    object_in,
    text_in,
)
from adapters.email.transports.port import MARK

_VERDICTS: Final[dict[str, Literal["pass", "fail"]]] = {"PASS": "pass", "FAIL": "fail"}
_GONE: Final = frozenset({"NoEmail", "Suppressed", "OnAccountSuppressionList"})
"""Kinds of its bounces by which an address does not exist, or is taken for such by SES."""
_LOST: Final = frozenset(
    {"MailboxFull", "MessageTooLarge", "ContentRejected", "AttachmentRejected"}
)
"""Transient kinds that are final for this mail. `General` is none: holiday notices are reported so."""


def receive(text: str) -> Brought | Reported:
    """From the text of a verified SNS notification. Raises `NotUsable`."""
    members = object_in(text.encode("utf-8", "surrogatepass"))
    kind = text_in(members, "notificationType") or text_in(members, "eventType")
    if kind == "Received":
        return _brought(members)
    if not kind:
        raise NotUsable("the notification is of no mail, received or sent")
    marks = map_in(map_in(members, "mail"), "tags").get(MARK)
    mark = marks[0] if isinstance(marks, list) and marks and isinstance(marks[0], str) else ""
    return Reported(mark, _machine(kind, members))


def _brought(members: dict[str, Any]) -> Brought:
    receipt, mail = map_in(members, "receipt"), map_in(members, "mail")
    content = text_in(members, "content")
    if not content:
        raise NotUsable("the notification holds no mail: let the rule's SNS action include it")
    if text_in(map_in(receipt, "action"), "encoding").upper() == "BASE64":
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
        _VERDICTS.get(text_in(map_in(receipt, "dmarcVerdict"), "status").upper(), ""),
    )


def _machine(kind: str, members: dict[str, Any]) -> Bounce | Complaint | None:
    if kind == "Complaint":
        found = text_in(map_in(members, "complaint"), "complaintFeedbackType")
        return Complaint(found[:40] or "abuse")
    if kind == "Reject":  # by SES itself: a virus
        return given_up(text_in(map_in(members, "reject"), "reason") or kind)
    bounce = map_in(members, "bounce")
    main, sub = text_in(bounce, "bounceType"), text_in(bounce, "bounceSubType")
    if kind != "Bounce" or (main == "Transient" and sub not in _LOST):
        return None
    to = bounce.get("bouncedRecipients")
    first = to[0] if isinstance(to, list) and to and isinstance(to[0], dict) else {}
    said = text_in(first, "diagnosticCode").removeprefix("smtp;") or f"{main} {sub}".strip()
    return given_up(said, text_in(first, "status"), gone=sub in _GONE)
