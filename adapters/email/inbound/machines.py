"""Mails that no person wrote: automatic replies, delivery reports, complaints. Pure.

Told apart before any word is read: an out-of-office text may well say "yes". `X-Auto-Response-Suppress` is
no sign, since Exchange writes it into what people send.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adapters.email.inbound.bounds import MAX_FIELD
from adapters.email.inbound.head import Head, words
from adapters.email.inbound.mime import Part, leaves
from adapters.email.inbound.reading import Mail

_ROBOTS: Final = re.compile(
    rb"(?:^|<|\s)(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?(?:[+-][^@<>\s]{0,60})?)@",
    re.I,
)
_AUTO_FIELDS: Final = (
    "x-autoreply",
    "x-autorespond",
    "x-autoresponse",
    "x-auto-reply",
    "x-vacation",
)
_OURS: Final = re.compile(r"<[0-9a-f]{32}@")
"""How `message.message_id` spells them. The domain alone is no sign: people share it with us."""
_STATUS: Final = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})")
_GONE: Final = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.4.4"})
"""No such mailbox or domain (RFC 3463). 5.2.2 is a full one, 5.7.1 a refusal by policy, and 5.0.0 says
nothing: none of those means that the address is wrong."""


@dataclass(frozen=True, slots=True)
class Bounce:
    """A delivery report. `failed`: given up; `gone`: the address does not exist. `says` is for people."""

    failed: bool
    gone: bool
    says: str


@dataclass(frozen=True, slots=True)
class Complaint:
    """A recipient said that a mail of ours is spam (RFC 5965)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Automatic:
    """Any other mail of a machine, with the sign that gave it away."""

    sign: str


Machine = Bounce | Complaint | Automatic


def machine_of(mail: Mail, mail_from: str | None, domain: str) -> Machine | None:
    """What machine sent this, or None for a person. `mail_from` is the envelope's sender, "" the null
    one, None an unknown one; `domain` our own, whose mails are our own coming back."""
    report = _report(mail.root)
    if report is not None:
        return report
    sign = _sign(mail.head, mail_from, domain)
    return Automatic(sign) if sign else None


def given_up(says: str, status: str = "", *, gone: bool = False) -> Bounce:
    """A mail that will not arrive. `says` is what the last server said; its status code, where `status`
    is no better one, tells whether the address exists, and `gone` where no code does."""
    found = _STATUS.search(says)
    precise = found[0] if found and status in ("", "5.0.0") else status
    if precise not in ("", "5.0.0"):
        gone = precise in _GONE
    shown = " ".join(says.split())[:200]
    return Bounce(
        True, gone, shown.encode("utf-8", "replace").decode()
    )  # JSON has halves of characters


def _sign(head: Head, mail_from: str | None, domain: str) -> str:
    submitted = head.first("auto-submitted").split(b";")[0].strip().lower()
    if submitted not in (b"", b"no"):
        return "Auto-Submitted"
    if mail_from == "":
        return "the null sender"
    for name in _AUTO_FIELDS:
        if head.all(name):
            return name
    if head.first("precedence").strip().lower() in (b"auto_reply", b"bulk", b"list", b"junk"):
        return "Precedence"
    if head.all("list-id") or head.all("list-unsubscribe"):
        return "a mailing list"
    if any(_ROBOTS.search(value) for value in head.all("from")):
        return "a sender that reads no mail"
    if any(_OURS.match(each) and each.endswith(f"@{domain}>") for each in head.ids("message-id")):
        return "our own Message-ID"
    if head.first("x-failed-recipients"):
        return "X-Failed-Recipients"
    return ""


def _report(root: Part) -> Bounce | Complaint | None:
    kinds = {leaf.type: leaf for leaf in reversed(leaves(root))}
    if "message/feedback-report" in kinds:
        fields = _fields(kinds["message/feedback-report"])
        return Complaint(fields.get("feedback-type", "abuse")[:40])
    status = kinds.get("message/delivery-status") or kinds.get("message/global-delivery-status")
    if status is not None:
        return _delivery(status)
    if root.type == "multipart/report":
        said = root.parameters.get("report-type", "").lower()
        if said == "delivery-status":
            return Bounce(False, False, "a delivery report that names no recipient")
    return None


def _delivery(part: Part) -> Bounce:
    """The worst of the recipients of an RFC 3464 report: we send each mail to one."""
    worst = Bounce(False, False, "delivered or delayed")
    for block in _blocks(part):
        action = block.get("action", "").split(";")[0].strip().lower()
        found = _STATUS.search(block.get("status", ""))
        status = found[0] if found else ""
        says = block.get("diagnostic-code", "").partition(";")[2].strip() or status or action
        if action == "failed":
            # Given up, whatever the status: 4.4.7 is what expired in a queue (RFC 3464 2.3.3).
            return given_up(says, status)
        if action == "delayed":
            worst = Bounce(False, False, " ".join(says.split())[:200])
    return worst


def _fields(part: Part) -> dict[str, str]:
    merged: dict[str, str] = {}
    for block in _blocks(part):
        for name, value in block.items():
            merged.setdefault(name, value)
    return merged


def _blocks(part: Part) -> list[dict[str, str]]:
    """The groups of fields in a report's body, at most 20."""
    blocks: list[dict[str, str]] = [{}]
    last = ""
    for line in part.content(MAX_FIELD * 4).replace(b"\r\n", b"\n").split(b"\n")[:1000]:
        if not line.strip():
            if blocks[-1] and len(blocks) < 20:
                blocks.append({})
        elif line[:1] in (b" ", b"\t") and last:
            blocks[-1][last] = (blocks[-1].get(last, "") + " " + words(line))[:2000]
        else:
            name, colon, value = line.partition(b":")
            last = name.strip().lower().decode("ascii", "replace") if colon else ""
            if last:
                blocks[-1].setdefault(last, words(value))
    return blocks
