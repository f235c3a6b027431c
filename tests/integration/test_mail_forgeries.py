"""Mails that want to decide and may not: each leaves the request open and a reason on its record."""

from __future__ import annotations

import asyncio
from email.message import EmailMessage
from typing import Any

from tests.integration.conftest import approval
from tests.integration.mail_world import AUTHSERV, PLACE, Office, office, opened

__all__ = ["office", "opened"]


async def reason(office: Office, record: dict[str, Any]) -> str:
    """The only note on a request that is still open."""
    found = await office.detail(record)
    assert found["status"] == "open", found
    (note,) = found["notes"]
    assert note["via"] == "email"
    return str(note["reason"])


async def asked(office: Office, **more: Any) -> tuple[dict[str, Any], EmailMessage]:
    """One more question, and the mail that asks it."""
    before = len(office.mail.mails)
    record = await office.ask(approval(approversList=["ada"]), **more)
    async with asyncio.timeout(60):
        while True:
            for _, mail in office.mail.mails[before:]:
                if record["interruptId"][-8:] in str(mail["Subject"]) and mail["Reply-To"]:
                    return record, mail
            await asyncio.sleep(0.01)


STAMPS: Any = [
    ("", "nothing here vouches for its sender"),
    ("dmarc=fail header.from={domain}", "our mail server says that DMARC failed"),
    ("dkim=pass header.d={domain}; spf=pass", "nothing here vouches for its sender"),
    ("dmarc=pass header.from=evil.example", "our mail server says that DMARC failed"),
    ("dmarc=pass", "our mail server says that DMARC failed"),
    (
        "dkim=pass header.d={domain}; dmarc=fail header.from={domain}",
        "our mail server says that DMARC failed",
    ),
    ("dmarc=none header.from={domain}", "nothing here vouches for its sender"),
    (
        'spf=pass smtp.mailfrom="x; dmarc=pass header.from={domain}"@evil.example',
        "nothing here vouches for its sender",
    ),
]


async def test_a_sender_that_nobody_vouches_for(office: Office) -> None:
    for stamp, why in STAMPS:
        record, mail = await asked(office)
        office.stamp = stamp
        await office.hand_in(office.reply(mail, "Approve"))
        assert await reason(office, record) == why


async def test_a_stamp_of_another_server_below_or_instead_of_ours(office: Office) -> None:
    record, mail = await asked(office)
    forged = office.reply(mail, "Approve")
    del forged["Authentication-Results"]
    forged["Authentication-Results"] = "mx.evil.example; dmarc=pass header.from=example.com"
    await office.hand_in(forged)
    assert await reason(office, record) == "nothing here vouches for its sender"
    # Ours on top says fail; one under our name below it came with the mail.
    raw = f"Authentication-Results: {AUTHSERV}; dmarc=fail header.from=example.com\r\n".encode()
    second = office.reply(mail, "Approve")
    await office.hand_in(raw + second.as_bytes(), str(second["To"]))
    found = await office.detail(record)
    assert found["status"] == "open"
    assert "our mail server says that DMARC failed" in {n["reason"] for n in found["notes"]}


LOOK_ALIKES: Any = [
    ("Bob <bob@example.com>", "it comes from somebody else than it was sent to"),
    ("Ada <ada@example.com.evil.example>", "it comes from somebody else than it was sent to"),
    ("Ada <ada@examp1e.com>", "it comes from somebody else than it was sent to"),
    ('"ada@example.com" <ada@evil.example>', "it comes from somebody else than it was sent to"),
    ("ada@example.com, eve@evil.example", "its From field holds more than one address"),
    ("ada@example.com <eve@evil.example>", "its From field is not one name and one address"),
    ("<ada@example.com> <eve@evil.example>", "its From field holds more than one address"),
    ("Ada <ada@xn--exmple-cua.com>", "it comes from somebody else than it was sent to"),
]


async def test_look_alikes(office: Office) -> None:
    for sender, why in LOOK_ALIKES:
        record, mail = await asked(office)
        genuine = office.reply(mail, "Approve", sender="Ada <ada@example.com>").as_bytes()
        line = next(each for each in genuine.split(b"\r\n") if each.startswith(b"From: "))
        domain = sender.rpartition("@")[2].rstrip(">").encode()
        raw = genuine.replace(line, f"From: {sender}".encode(), 1)
        raw = raw.replace(b"header.from=example.com", b"header.from=" + domain, 1)
        await office.hand_in(raw, str(mail["Reply-To"]))
        assert await reason(office, record) == why


async def test_a_field_that_is_there_twice(office: Office) -> None:
    for field in ("From", "Subject", "Date", "Message-ID", "References", "To"):
        record, mail = await asked(office)
        genuine = office.reply(mail, "Approve")
        extra = f"{field}: {'eve@evil.example' if field in ('From', 'To') else genuine[field]}\r\n"
        await office.hand_in(extra.encode() + genuine.as_bytes(), str(genuine["To"]))
        why = await reason(office, record)
        assert ("2 From fields" if field == "From" else "more than one") in why


async def test_a_genuine_reply_to_one_request_sent_to_the_address_of_another(
    office: Office,
) -> None:
    first, mail = await asked(office)
    second = await office.ask(approval("k2", approversList=["ada"], title="Another"))
    other = await office.mails(2)
    genuine = office.reply(mail, "Approve")
    # Somebody has Ada's signed answer to the first, and the address of the second.
    assert (await office.hand_in(genuine, str(other["Reply-To"]))).startswith("2.0.0")
    assert (await office.detail(second))["status"] == "open"
    assert (await office.detail(second))["notes"][0]["reason"] in (
        "it answers no mail of ours about this request",
        "it is addressed to more than one of our requests",
    )
    # References that were added to it don't help: the subject carries the first one's reference.
    moved = office.reply(mail, "Approve", To=str(other["Reply-To"]))
    del moved["References"]
    moved["References"] = str(other["References"])
    await office.hand_in(moved)
    reasons = [n["reason"] for n in (await office.detail(second))["notes"]]
    assert "its subject doesn't carry the reference of this request" in reasons
    assert (await office.detail(first))["status"] == "open"


async def test_a_used_mail_at_another_address_is_a_replay(office: Office) -> None:
    first, mail = await asked(office)
    genuine = office.reply(mail, "Approve")
    await office.hand_in(genuine)
    assert (await office.detail(first))["status"] == "resolved"
    second = await office.ask(approval("k2", approversList=["ada"]))
    other = await office.mails(3)
    raw = genuine.as_bytes().replace(
        str(mail["Reply-To"]).encode(), str(other["Reply-To"]).encode()
    )
    await office.hand_in(raw, str(other["Reply-To"]))
    assert await reason(office, second) == "this very mail was here before, at another address"


NO_ANSWERS: Any = [
    ({"Message_ID": ""}, "it has no Message-ID"),
    ({"Date": "Mon, 30 Nov 2020 09:14:00 +0000"}, "its date is missing or too far from today"),
    ({"Date": "not a date"}, "its date is missing or too far from today"),
    ({"In_Reply_To": "", "References": ""}, "it answers no mail of ours about this request"),
    ({"Subject": "Re: hello"}, "its subject doesn't carry the reference of this request"),
]


async def test_what_is_no_answer_to_our_mail(office: Office) -> None:
    for headers, why in NO_ANSWERS:
        record, mail = await asked(office)
        await office.hand_in(office.reply(mail, "Approve", **headers))
        assert await reason(office, record) == why


async def test_addresses_that_are_nobodys_are_refused_before_the_text(office: Office) -> None:
    _, mail = await asked(office)
    own = str(mail["Reply-To"])
    letter = "a" if own[5] != "a" else "b"
    for nobody in (
        f"r{'a' * 26}@{PLACE}",
        own[:5] + letter + own[6:],
        f"postmaster@{PLACE}",
        f"{'x' * 64}@{PLACE}",
        "ada@example.com",
    ):
        said = await office.hand_in(office.reply(mail, "Approve"), nobody)
        assert said.startswith("550"), nobody
    upper = own.partition("@")
    assert (
        await office.hand_in(office.reply(mail, "?"), f"{upper[0].upper()}@{PLACE}")
    ).startswith("2.0.0")


MACHINES: Any = [
    ({"Auto_Submitted": "auto-replied"}, "ada@example.com"),
    ({"Auto_Submitted": "auto-generated; type=vacation"}, "ada@example.com"),
    ({"X_Autoreply": "yes"}, "ada@example.com"),
    ({"Precedence": "auto_reply"}, "ada@example.com"),
    ({"List_Id": "<all.example.com>"}, "ada@example.com"),
    ({}, ""),
]


async def test_machines_decide_nothing_and_get_no_answer(office: Office) -> None:
    for headers, sender in MACHINES:
        record, mail = await asked(office)
        # An out-of-office text may well begin with the word.
        assert (
            await office.hand_in(office.reply(mail, "Approve", **headers), sender=sender)
        ).startswith("2.0.0")
        found = await office.detail(record)
        assert found["status"] == "open"
        assert "notes" not in found
    assert len(office.mail.mails) == len(MACHINES)  # the questions, and nothing else


async def test_exchanges_own_header_is_no_machine(office: Office) -> None:
    record, mail = await asked(office)
    await office.hand_in(office.reply(mail, "Approve", X_Auto_Response_Suppress="All"))
    assert (await office.detail(record))["status"] == "resolved"


async def test_a_loop_is_cut_off(office: Office) -> None:
    record, mail = await asked(office)
    said = [
        await office.hand_in(office.reply(mail, f"thank you, {number}")) for number in range(22)
    ]
    assert said[0].startswith("2.0.0")
    assert said[-1].startswith("450")
    assert len(office.mail.mails) == 2  # the question and one answer
    assert (await office.detail(record))["status"] == "open"
