"""A question goes out by mail and its answer comes back, over real SMTP both ways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import approval
from tests.integration.mail_world import PLACE, Office, Opening, office, opened

__all__ = ["office", "opened"]


@pytest.mark.parametrize(("word", "action"), [("Approve", "accept"), ("no.", "reject")])
async def test_a_mail_that_is_answered_resolves(office: Office, word: str, action: str) -> None:
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    assert str(asked["Reply-To"]).endswith(f"@{PLACE}")
    said = await office.hand_in(office.reply(asked, f"{word}\n\nLooks right.\n"))
    assert said.startswith("2.0.0 Taken")
    found = await office.detail(record)
    assert (found["status"], found["outcome"]["by"], found["outcome"]["via"]) == (
        "resolved",
        "ada",
        "email",
    )
    value = found["resumeValue"]
    assert (value["action"], value["feedback"]) == (action, "Looks right.")
    ended = await office.mails(2)
    assert "Ada" in str(ended.get_body(("plain",)))
    assert len(office.mail.mails) == 2  # the ending is the acknowledgement


async def test_a_short_code_decides(office: Office) -> None:
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    text = asked.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    import re

    code = re.search(r"\b(R\d\d)\b", text)
    assert code is not None, text
    await office.hand_in(office.reply(asked, code[1].lower()))
    assert (await office.detail(record))["resumeValue"]["action"] == "reject"


QUESTIONS: dict[str, Any] = {
    "kind": "clarification",
    "key": "q",
    "data": {
        "questions": [
            {"id": "city", "question": "Which city?", "schema": {"type": "string"}},
            {"id": "nights", "question": "Nights?", "schema": {"type": "integer", "minimum": 1}},
            {"id": "seat", "question": "Seat?", "schema": {"enum": ["window", "aisle"]}},
            {"id": "meal", "question": "A meal?", "schema": {"type": "boolean"}},
        ]
    },
}


async def test_numbered_answers_are_checked_by_the_questions(office: Office) -> None:
    record = await office.ask(QUESTIONS)
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, "1. Oslo\n2. many\n3) Window\n4: yes"))
    found = await office.detail(record)
    assert found["status"] == "open"
    told = await office.mails(2)
    text = told.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "2. Nights?" in text
    assert "/a/" in text
    assert (told["Auto-Submitted"], told["In-Reply-To"] is not None) == ("auto-replied", True)
    assert office.mail.senders[1].strip("<>") == ""  # the null sender: nothing answers it
    await office.hand_in(office.reply(asked, "1. Oslo\n2. 3\n3) Window\n4: yes"))
    found = await office.detail(record)
    assert found["resumeValue"] == {
        "answers": {"city": "Oslo", "nights": 3, "seat": "window", "meal": True}
    }


async def test_a_conversation_takes_free_text(office: Office) -> None:
    run = await office.api.run()
    start = {"kind": "conversation.start", "key": "s", "data": {"conversationId": "c1"}}
    turn = {
        "kind": "conversation.exchange",
        "key": "t",
        "data": {"conversationId": "c1", "prompt": "Window or aisle?"},
    }
    where = ["email:ada@example.com"]
    await office.api.ask(run, start, "s", notify=where)
    record = await office.api.ask(run, turn, "t", notify=where)
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, "Aisle, please.\n\nBut not at the back."))
    found = await office.detail(record)
    assert found["resumeValue"] == "Aisle, please.\n\nBut not at the back."


async def test_what_is_no_answer_becomes_a_question_and_gets_one_polite_mail(
    office: Office,
) -> None:
    actions = ["accept", "reject", "ask"]
    record = await office.ask(approval(approversList=["ada"], actions=actions))
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, "Not approved, or is it? Who ordered this?"))
    found = await office.detail(record)
    assert found["status"] == "open"
    assert [q["text"] for q in found["questions"]] == ["Not approved, or is it? Who ordered this?"]
    told = await office.mails(2)
    assert "/a/" in told.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    await office.hand_in(office.reply(asked, "Hello?"))
    assert len((await office.detail(record))["questions"]) == 2
    assert len(office.mail.mails) == 2


@pytest.mark.parametrize("policy", ["comment", "off"])
async def test_a_request_may_allow_less_than_the_gateway(office: Office, policy: str) -> None:
    record = await office.ask(approval(approversList=["ada"]), replies=policy)
    asked = await office.mails(1)
    offered = asked.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "first line" not in offered  # the mail promises no more than is kept
    assert (asked["Reply-To"] is None) is (policy == "off")
    handle = await office.api.gateway.links.mail_handle("reply", record["interruptId"], _ada())
    await office.hand_in(
        office.reply(asked, "Approve", To=f"{handle}@{PLACE}"), f"{handle}@{PLACE}"
    )
    assert (await office.detail(record))["status"] == "open"
    await office.mails(2)


def _ada() -> Any:
    from adapters.views import Person

    return Person("email", "ada@example.com")


async def test_a_gateway_that_only_takes_comments(opened: Opening) -> None:
    office = await opened({"policy": "comment", "authserv_id": "mx.example.com"})
    record = await office.ask(approval(approversList=["ada"]), replies="decide")
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, "Approve"))
    found = await office.detail(record)
    assert found["status"] == "open"
    assert found["notes"][0]["reason"] == "replies may only comment here"


async def test_the_same_mail_again_counts_once(office: Office) -> None:
    record = await office.ask(approval(requiredApprovals=2, approversList=["ada", "bob"]))
    asked = await office.mails(1)
    mail = office.reply(asked, "yes")
    for _ in range(3):
        assert (await office.hand_in(mail)).startswith("2.0.0")
    found = await office.detail(record)
    assert [v["principal"] for v in found["votes"]] == ["ada"]
    told = await office.mails(2)
    assert "1" in told.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert len(office.mail.mails) == 2


async def test_after_the_end_a_reply_changes_nothing(office: Office) -> None:
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, "yes"))
    await office.mails(2)
    await office.hand_in(office.reply(asked, "no"))
    found = await office.detail(record)
    assert found["resumeValue"]["action"] == "accept"
    assert found["notes"][0]["reason"] == "the request had ended"


async def test_a_reply_from_another_address_of_the_same_person(opened: Opening) -> None:
    people = [{"id": "ada", "name": "Ada", "email": ["ada@example.com", "ada@home.example"]}]
    office = await opened(people=people)
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, "Approve", sender="Ada <ada@home.example>"))
    assert (await office.detail(record))["outcome"]["by"] == "ada"


async def test_a_damaged_copy_does_not_shut_out_the_original(office: Office) -> None:
    record = await office.ask(approval(approversList=["ada"]))
    asked = await office.mails(1)
    genuine = office.reply(asked, "Approve")
    damaged = genuine.as_bytes().replace(b"dmarc=pass", b"dmarc=fail")
    await office.hand_in(damaged, str(genuine["To"]))
    assert (await office.detail(record))["status"] == "open"
    await office.hand_in(genuine)
    assert (await office.detail(record))["status"] == "resolved"


def unsure(decision: Any, **more: Any) -> dict[str, Any]:
    """A decision that an agent was not sure of."""
    data = {"agentId": "core.mail.triage", "threshold": 0.8, "observed": 0.55}
    return {
        "kind": "low-confidence",
        "key": "k",
        "data": {**data, "decision": decision},
        **more,
    }


@pytest.mark.parametrize("decision", [{"to": "refunds", "hours": [1, 2.5]}, "spam", False, 0])
async def test_a_decision_of_an_agent_is_ratified_by_a_word(office: Office, decision: Any) -> None:
    record = await office.ask(unsure(decision))
    asked = await office.mails(1)
    text = asked.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "“approve”: Confirm the decision as it stands" in text
    assert "“reject”" not in text
    await office.hand_in(office.reply(asked, "Approve"))
    found = await office.detail(record)
    assert (found["resumeValue"], found["outcome"]["by"]) == (decision, "ada")


@pytest.mark.parametrize("said", ["Reject", "Approve\n\nBut make it three hours.", "Send it on"])
async def test_any_other_decision_than_the_agents_is_made_on_the_page(
    office: Office, said: str
) -> None:
    record = await office.ask(unsure({"to": "refunds", "hours": 2}))
    asked = await office.mails(1)
    await office.hand_in(office.reply(asked, said))
    found = await office.detail(record)
    assert found["status"] == "open"
    assert [n["text"] for n in found["notes"]] == [said]
    told = await office.mails(2)
    assert "/a/" in told.get_body(("plain",)).get_content()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "payload",
    [
        unsure({"go": False}, resumeSchema={"properties": {"go": {"default": False}}}),
        unsure({"to": "refunds", "risk": "high"}),
        unsure(None),
        {"kind": "custom", "key": "k", "data": {"customKind": "colour", "payload": {"a": 1}}},
    ],
)
async def test_what_a_word_can_t_carry_is_answered_on_the_page(
    office: Office, payload: dict[str, Any]
) -> None:
    record = await office.ask(payload)
    asked = await office.mails(1)
    text = asked.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "the answer itself is given on the page" in text
    await office.hand_in(office.reply(asked, "Approve"))
    found = await office.detail(record)
    assert found["status"] == "open"
    assert found["notes"][0]["reason"] == "this kind of question is answered on its page"
