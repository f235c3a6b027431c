"""Mails that did not arrive: the request shows it, and the question goes elsewhere."""

from __future__ import annotations

import asyncio
from email.message import EmailMessage
from typing import Any

from schemas.ids import path_segment
from tests.integration.conftest import approval
from tests.integration.mail_world import PLACE, Office, Opening, opened

__all__ = ["opened"]


def report(status: str, said: str, action: str = "failed") -> bytes:
    """A delivery report as a mail server writes it (RFC 3464)."""
    return (
        "From: MAILER-DAEMON@mx.example.com\r\nTo: x\r\nSubject: Undelivered Mail\r\n"
        "Auto-Submitted: auto-replied\r\nMIME-Version: 1.0\r\n"
        "Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n"
        "--b\r\nContent-Type: text/plain\r\n\r\nApprove\r\n"
        "--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.com\r\n\r\n"
        f"Final-Recipient: rfc822; ada@example.com\r\nAction: {action}\r\nStatus: {status}\r\n"
        f"Diagnostic-Code: smtp; {said}\r\n\r\n--b--\r\n"
    ).encode()


def complaint() -> bytes:
    return (
        b"From: fbl@isp.example\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n\r\n--b--\r\n"
    )


async def message(
    office: Office, record: dict[str, Any], address: str, state: str
) -> dict[str, Any]:
    """The message at an address, once it is in this state."""
    async with asyncio.timeout(60):
        while True:
            for each in (await office.detail(record))["messages"]:
                if (each["address"], each["state"]) == (address, state):
                    return dict(each)
            await asyncio.sleep(0.02)


async def lost(
    opened: Opening, raw: bytes, **more: Any
) -> tuple[Office, dict[str, Any], EmailMessage]:
    """A question whose mail was answered by `raw` at its bounce address."""
    office = await opened(fallback=["email:bob@example.com"], **more)
    record = await office.ask(approval())
    asked = await office.mails(1)
    sender = office.mail.senders[0]
    assert sender.endswith(f"@{PLACE}")
    assert (await office.hand_in(raw, sender, sender="")).startswith("2.0.0")
    return office, record, asked


async def test_an_address_that_does_not_exist_moves_the_question_on(opened: Opening) -> None:
    office, record, _ = await lost(opened, report("5.1.1", "550 5.1.1 no such user"))
    dead = await message(office, record, "ada@example.com", "dead")
    assert "bounced: 550 5.1.1 no such user" in dead["error"]
    await message(office, record, "bob@example.com", "shown")
    assert str((await office.mails(2))["To"]) == "bob@example.com"
    found = await office.detail(record)
    assert found["status"] == "open"  # the report says Approve
    assert [n["reason"] for n in found["notes"]] == [
        "could not be delivered to ada@example.com: 550 5.1.1 no such user"
    ]
    # The next question to her isn't even tried, until the address is good again.
    second = await office.ask(approval("k2"))
    await message(office, second, "ada@example.com", "dead")
    assert await office.inbound.ledger.lift("ada@example.com")
    third = await office.ask(approval("k3"))
    await message(office, third, "ada@example.com", "shown")


async def test_a_full_mailbox_loses_one_mail_and_not_the_address(opened: Opening) -> None:
    office, record, _ = await lost(opened, report("5.2.2", "552 5.2.2 mailbox full"))
    await message(office, record, "ada@example.com", "dead")
    await message(office, record, "bob@example.com", "shown")
    second = await office.ask(approval("k2"))
    await message(office, second, "ada@example.com", "shown")


async def test_a_delay_is_no_bounce(opened: Opening) -> None:
    office, record, _ = await lost(opened, report("4.4.1", "no answer from host", "delayed"))
    await message(office, record, "ada@example.com", "shown")
    assert "notes" not in await office.detail(record)
    assert len(office.mail.mails) == 1


async def test_a_complaint_ends_the_mails(opened: Opening) -> None:
    office, record, _ = await lost(opened, complaint())
    await message(office, record, "ada@example.com", "dead")
    await message(office, record, "bob@example.com", "shown")
    second = await office.ask(approval("k2"))
    await message(office, second, "ada@example.com", "dead")
    path = f"/host/sayso/interrupts/{path_segment(record['interruptId'])}/cancel"
    assert (await office.api.call("POST", path, {"reason": "over"}))[0] == 200
    await message(office, record, "ada@example.com", "shown")
    assert [m["To"] for _, m in office.mail.mails].count("ada@example.com") == 1  # not even the end
    (kept,) = await office.inbound.ledger.all_suppressed()
    assert (kept["shown"], kept["reason"]) == ("a…@example.com", "complained (abuse)")


async def test_a_report_at_a_reply_address_is_nothing(opened: Opening) -> None:
    office = await opened()
    record = await office.ask(approval())
    asked = await office.mails(1)
    raw = report("5.1.1", "550 5.1.1 no such user")
    assert (await office.hand_in(raw, str(asked["Reply-To"]), sender="")).startswith("2.0.0")
    await message(office, record, "ada@example.com", "shown")
    assert "notes" not in await office.detail(record)


async def test_a_person_at_a_bounce_address_decides_nothing(opened: Opening) -> None:
    office = await opened()
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    sender = office.mail.senders[0]
    await office.hand_in(office.reply(asked, "Approve", To=sender), sender)
    assert (await office.detail(record))["status"] == "open"
