"""What Postmark and Mailgun report about mail that went out: what is lost, what waits, who is gone."""

from __future__ import annotations

import base64
import contextlib
import json
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.email.inbound.machines import Bounce, Complaint, given_up
from adapters.email.inbound.providers import mailgun, postmark, ses
from adapters.email.inbound.providers.provider import Asked, NotProven, NotUsable, Reported
from adapters.email.message import Envelope
from tests.fakes.mail_providers import Taken, mailgun_report, postmark_report

NOW = 1_790_000_000.0
KEY = "mailgun-signing-key-1"
MARK = "b" + "a2" * 13


def taken() -> Taken:
    mail = EmailMessage()
    mail["Subject"], mail["Message-ID"] = "Refund", "<x@mail.example.com>"
    request = {"MessageStream": "outbound", "Metadata": {"sayso": MARK}, "v:sayso": MARK}
    return Taken("ada@example.com", mail, request)


def basic(password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"sayso:{password}".encode()).decode()}


def by_postmark(kind: str, said: str) -> Any:
    body = json.dumps(postmark_report(taken(), kind, said)).encode()
    found = postmark.report(Asked(basic("pw"), body, NOW), "pw")
    assert (found.mark, found.once) == (MARK, "")
    return found.machine


def by_mailgun(**event: Any) -> Any:
    body = json.dumps(mailgun_report(taken(), "t1", event, KEY, NOW)).encode()
    found = mailgun.report(Asked({}, body, NOW), KEY)
    assert (found.mark, found.once) == (MARK, "mailgun\0t1")
    return found.machine


@pytest.mark.parametrize(
    ("kind", "said", "gone"),
    [
        ("HardBounce", "smtp;550 5.1.1 The email account does not exist.", True),
        ("HardBounce", "smtp;550 no such user here", True),
        ("HardBounce", "smtp;550 5.7.1 blocked by policy", False),  # the code knows better
        ("HardBounce", "", True),
        ("BadEmailAddress", "", True),
        ("SoftBounce", "smtp;552 5.2.2 mailbox full", False),
        ("Blocked", "smtp;554 blocked using a list, 192.5.1.1", False),  # an address is no code
        ("SpamNotification", "smtp;550 looks like spam", False),
        ("DMARCPolicy", "", False),
        ("Unknown", "", False),
        ("ATypeOfNextYear", "", False),
    ],
)
def test_what_postmark_gave_up(kind: str, said: str, gone: bool) -> None:
    found = by_postmark(kind, said)
    assert isinstance(found, Bounce)
    assert (found.failed, found.gone) == (True, gone)
    assert found.says
    assert "smtp;" not in found.says


@pytest.mark.parametrize(
    "kind", ["Transient", "DnsError", "AutoResponder", "AddressChange", "OpenRelayTest"]
)
def test_what_postmark_did_not_give_up(kind: str) -> None:
    assert by_postmark(kind, "smtp;450 4.4.1 later") is None


def test_a_complaint_by_postmark() -> None:
    assert by_postmark("SpamComplaint", "") == Complaint("abuse")


@pytest.mark.parametrize(
    ("event", "gone", "says"),
    [
        (
            {
                "event": "failed",
                "severity": "permanent",
                "reason": "bounce",
                "delivery-status": {"code": 550, "message": "5.1.1 The account does\nnot exist."},
            },
            True,
            "550 5.1.1 The account does not exist.",
        ),
        (
            {
                "event": "failed",
                "severity": "permanent",
                "reason": "bounce",
                "delivery-status": {"code": 552, "message": "5.2.2 full"},
            },
            False,
            "552 5.2.2 full",
        ),
        (
            {
                "event": "failed",
                "severity": "permanent",
                "reason": "suppress-bounce",
                "delivery-status": {
                    "code": 605,
                    "message": "",
                    "description": "Not delivering to previously bounced address",
                },
            },
            True,
            "605 Not delivering to previously bounced address",
        ),
        (
            {
                "event": "failed",
                "severity": "permanent",
                "reason": "suppress-complaint",
                "delivery-status": {"code": 607},
            },
            False,
            "607 suppress-complaint",
        ),
        ({"event": "rejected", "reject": {"reason": "too large"}}, False, "too large"),
        ({"event": "rejected"}, False, "rejected"),
    ],
)
def test_what_mailgun_gave_up(event: dict[str, Any], gone: bool, says: str) -> None:
    assert by_mailgun(**event) == Bounce(True, gone, says)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "failed", "severity": "temporary", "reason": "greylisted"},
        {"event": "delivered"},
        {"event": "unsubscribed"},
        {"event": ["failed"]},
        {},
    ],
)
def test_what_mailgun_did_not_give_up(event: dict[str, Any]) -> None:
    assert by_mailgun(**event) is None


def test_a_complaint_by_mailgun() -> None:
    assert by_mailgun(event="complained") == Complaint("abuse")


def by_ses(kind: str, **more: Any) -> Any:
    event = {"eventType": kind, "mail": {"tags": {"sayso": [MARK]}}, **more}
    found = ses.receive(json.dumps(event))
    assert isinstance(found, Reported)
    assert found.mark == MARK
    return found.machine


def bounce(main: str, sub: str, status: str = "", said: str = "") -> dict[str, Any]:
    recipient = {"emailAddress": "a@b.example", "status": status, "diagnosticCode": said}
    return {"bounceType": main, "bounceSubType": sub, "bouncedRecipients": [recipient]}


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            bounce("Permanent", "General", "5.1.1", "smtp; 550 5.1.1 no"),
            Bounce(True, True, "550 5.1.1 no"),
        ),
        (bounce("Permanent", "General", "5.7.1", "smtp; 550 no"), Bounce(True, False, "550 no")),
        (bounce("Permanent", "NoEmail"), Bounce(True, True, "Permanent NoEmail")),
        (bounce("Permanent", "Suppressed"), Bounce(True, True, "Permanent Suppressed")),
        (bounce("Transient", "MailboxFull", "5.2.2", "smtp; full"), Bounce(True, False, "full")),
        (bounce("Transient", "General", "4.4.7"), None),  # a holiday notice, as likely as not
        (bounce("Undetermined", "Undetermined"), Bounce(True, False, "Undetermined Undetermined")),
        ({"bounceType": "Permanent", "bouncedRecipients": "x"}, Bounce(True, False, "Permanent")),
    ],
)
def test_what_ses_gave_up(told: dict[str, Any], found: Bounce | None) -> None:
    assert by_ses("Bounce", bounce=told) == found


def test_other_events_of_ses() -> None:
    assert by_ses("Complaint", complaint={"complaintFeedbackType": "fraud"}) == Complaint("fraud")
    assert by_ses("Complaint") == Complaint("abuse")
    assert by_ses("Reject", reject={"reason": "Bad content"}) == Bounce(True, False, "Bad content")
    for kind in ("Delivery", "Send", "Open", "DeliveryDelay"):
        assert by_ses(kind) is None
    for text in ("{}", "[]", "Successfully validated SNS topic"):
        with pytest.raises(NotUsable):
            ses.receive(text)


@pytest.mark.parametrize(
    "change",
    [
        {"signature": "0" * 64},
        {"timestamp": "1"},
        {"timestamp": 1790000000},
        {"token": "t2"},
        {"token": ""},
    ],
)
def test_a_report_of_mailgun_that_is_not_proven(change: dict[str, Any]) -> None:
    members = mailgun_report(taken(), "t1", {"event": "failed"}, KEY, NOW)
    members["signature"] |= change
    with pytest.raises(NotProven):
        mailgun.report(Asked({}, json.dumps(members).encode(), NOW), KEY)


@pytest.mark.parametrize("off", [-301, 301])
def test_a_report_of_another_time(off: int) -> None:
    body = json.dumps(mailgun_report(taken(), "t1", {"event": "failed"}, KEY, NOW + off)).encode()
    with pytest.raises(NotProven):
        mailgun.report(Asked({}, body, NOW), KEY)


def test_a_report_of_postmark_that_is_not_proven() -> None:
    body = json.dumps(postmark_report(taken(), "HardBounce", "")).encode()
    for headers in ({}, basic("other"), {"authorization": "Bearer pw"}):
        with pytest.raises(NotProven):
            postmark.report(Asked(headers, body, NOW), "pw")


def test_what_is_no_report_says_what_to_do() -> None:
    with pytest.raises(NotUsable, match="outbound stream"):
        postmark.report(Asked(basic("pw"), b'{"RawEmail": "x"}', NOW), "pw")
    members = mailgun_report(taken(), "t1", {}, KEY, NOW)
    del members["event-data"]
    with pytest.raises(NotUsable, match="event-data"):
        mailgun.report(Asked({}, json.dumps(members).encode(), NOW), KEY)
    for wrong in (b"{", b"[]", b"[" * 100_000):
        with pytest.raises(NotUsable):
            postmark.report(Asked(basic("pw"), wrong, NOW), "pw")
        with pytest.raises(NotUsable):
            mailgun.report(Asked({}, wrong, NOW), KEY)


def test_a_status_code_is_told_from_what_looks_like_one() -> None:
    assert given_up("550 5.1.1 no").gone
    assert not given_up("550 refused by 10.5.1.1").gone
    assert not given_up("550 5.0.0 5.1.1", "5.7.1", gone=True).gone
    assert given_up("550 5.0.0 unknown", gone=True).gone


@pytest.mark.parametrize("address", [f"{MARK}@r.example.com", f"sayso+{MARK}@example.com"])
def test_the_mark_is_the_bounce_handle(address: str) -> None:
    envelope = Envelope("", "sayso@example.com", "a@b.example", "<x@y>", bounces_to=address)
    assert envelope.mark == MARK
    assert Envelope("", "sayso@example.com", "a@b.example", "<x@y>").mark == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
_NAMES = st.sampled_from(
    ["RecordType", "Type", "Details", "Description", "Metadata", "event", "severity", "reason", "reject",
     "delivery-status", "user-variables", "code", "message", "sayso"]
)  # fmt: skip
_SAID = st.sampled_from(["Bounce", "HardBounce", "failed", "permanent", "rejected", "\ud800 5.1.1"])
_MEMBERS = st.dictionaries(_NAMES, _SAID | _JSON | st.dictionaries(_NAMES, _SAID | _JSON))


@settings(max_examples=300, deadline=None)
@given(_MEMBERS)
def test_whatever_is_reported_is_understood_or_refused(members: dict[str, Any]) -> None:
    """By a provider that is proven: its own mistakes are no failures of ours."""
    with contextlib.suppress(NotUsable):
        found = postmark.report(Asked(basic("pw"), json.dumps(members).encode(), NOW), "pw")
        assert isinstance(found.mark, str)
        if isinstance(found.machine, Bounce):
            found.machine.says.encode()
    event = {"event": "failed", "severity": "permanent", **members}
    with contextlib.suppress(NotUsable):
        body = json.dumps(mailgun_report(taken(), "t", event, KEY, NOW)).encode()
        found = mailgun.report(Asked({}, body, NOW), KEY)
        assert isinstance(found.mark, str)
        if isinstance(found.machine, Bounce):
            found.machine.says.encode()
