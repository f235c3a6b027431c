"""Replies in a conversation: people answer whichever mail of it they find, and mean what is open now."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

import pytest

from tests.integration.mail_world import Office, office, opened

__all__ = ["office", "opened"]

ADA, BOB = "email:ada@example.com", "email:bob@example.com"


class Talk:
    """A conversation by mail with Ada."""

    def __init__(self, office: Office, run: str) -> None:
        self.office = office
        self.run = run
        self.asked: list[EmailMessage] = []

    @classmethod
    async def begin(cls, office: Office) -> Talk:
        talk = cls(office, await office.api.run())
        start = {"kind": "conversation.start", "key": "s", "data": {"conversationId": "c1"}}
        await office.api.ask(talk.run, start, "s", notify=[ADA])
        return talk

    async def turn(self, prompt: str, *notify: str, **more: Any) -> dict[str, Any]:
        """Ask one, and wait until it was mailed and that is known here."""
        number = len(self.office.mail.mails) + 1
        payload = {
            "kind": "conversation.exchange",
            "key": f"t{number}",
            "data": {"conversationId": "c1", "prompt": prompt},
        }
        record = await self.office.api.ask(
            self.run, payload, f"t{number}", notify=list(notify or (ADA,)), **more
        )
        self.asked.append(await self.office.mails(number))
        async with asyncio.timeout(15):
            while not all(m["state"] == "shown" for m in await self.messages(record)):
                await asyncio.sleep(0.01)
        return record

    async def messages(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        return list((await self.office.detail(record))["messages"])


def text_of(mail: EmailMessage) -> str:
    plain = mail.get_body(("plain",))
    assert plain is not None
    return str(plain.get_content())


async def test_a_reply_to_an_earlier_mail_answers_the_turn_that_is_open(office: Office) -> None:
    talk = await Talk.begin(office)
    first = await talk.turn("Window or aisle?")
    await office.hand_in(office.reply(talk.asked[0], "Aisle"))
    second = await talk.turn("Which meal?")
    third = office.reply(talk.asked[0], "Vegetarian, please.\nAnd no nuts.")
    assert (await office.hand_in(third)).startswith("2.0.0")
    assert (await office.detail(first))["resumeValue"] == "Aisle"
    found = await office.detail(second)
    assert (found["resumeValue"], found["outcome"]["by"]) == (
        "Vegetarian, please.\nAnd no nuts.",
        "ada",
    )
    assert "notes" not in await office.detail(first)


async def test_what_was_written_before_the_question_is_no_answer_to_it(office: Office) -> None:
    talk = await Talk.begin(office)
    await talk.turn("Window or aisle?")
    await office.hand_in(office.reply(talk.asked[0], "Aisle"))
    second = await talk.turn("Which meal?")
    before = format_datetime(datetime.now(UTC) - timedelta(minutes=2))
    late = office.reply(talk.asked[0], "Not at the back, though.", Date=before)
    await office.hand_in(late)
    found = await office.detail(second)
    assert found["status"] == "open"
    (note,) = found["notes"]
    assert (note["text"], note["reason"]) == (
        "Not at the back, though.",
        "it answers an earlier turn, and was written before this one was asked",
    )
    told = text_of(await office.mails(3))
    assert "Which meal?" in told
    assert "/a/" in told  # where it can be answered


async def test_a_turn_that_is_somebody_elses_is_not_answered(office: Office) -> None:
    talk = await Talk.begin(office)
    first = await talk.turn("Window or aisle?")
    await office.hand_in(office.reply(talk.asked[0], "Aisle"))
    second = await talk.turn("Which cost centre?", BOB)
    await office.hand_in(office.reply(talk.asked[0], "Vegetarian"))
    found = await office.detail(second)
    assert found["status"] == "open"
    assert "notes" not in found
    assert (await office.detail(first))["notes"][0]["reason"] == "the request had ended"


@pytest.mark.parametrize(("policy", "reasons"), [("off", []), ("comment", ["comment"])])
async def test_the_open_turn_says_how_far_a_reply_may_go(
    office: Office, policy: str, reasons: list[str]
) -> None:
    talk = await Talk.begin(office)
    await talk.turn("Window or aisle?")
    await office.hand_in(office.reply(talk.asked[0], "Aisle"))
    second = await talk.turn("Which meal?", replies=policy)
    await office.hand_in(office.reply(talk.asked[0], "Vegetarian"))
    found = await office.detail(second)
    assert found["status"] == "open"
    assert [r for n in found.get("notes", []) for r in reasons if r in n["reason"]] == reasons
    await office.mails(3)


async def test_without_an_open_turn_it_changes_nothing(office: Office) -> None:
    talk = await Talk.begin(office)
    first = await talk.turn("Window or aisle?")
    await office.hand_in(office.reply(talk.asked[0], "Aisle"))
    await office.hand_in(office.reply(talk.asked[0], "Or window"))
    found = await office.detail(first)
    assert (found["resumeValue"], found["notes"][0]["reason"]) == (
        "Aisle",
        "the request had ended",
    )


async def test_the_same_mail_answers_one_turn_even_after_a_crash(office: Office) -> None:
    """The gateway ended between the answer and the mark that the mail was here: the server in front hands
    it in again, when the next turn is open already."""
    talk = await Talk.begin(office)
    first = await talk.turn("Window or aisle?")
    mail = office.reply(talk.asked[0], "Aisle")
    await office.hand_in(mail)
    assert (await office.detail(first))["resumeValue"] == "Aisle"
    second = await talk.turn("Which meal?")
    documents = office.api.gateway.host.store.documents
    seen = hashlib.sha256(str(mail["Message-ID"]).lower().encode()).hexdigest()
    assert await documents.delete("mail.seen", seen)
    later = format_datetime(datetime.now(UTC) + timedelta(minutes=1))
    again = mail.as_bytes().replace(str(mail["Date"]).encode(), later.encode())
    await office.hand_in(again, str(mail["To"]))
    found = await office.detail(second)
    assert found["status"] == "open"
    assert "notes" not in found
    assert "notes" not in await office.detail(first)
