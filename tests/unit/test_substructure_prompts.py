"""What a session's interrupt asks people, and what their answer says to its worker. Numbers: the list of
behaviours in docs/dialects/substructure.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gateway.routes.compat.substructure_agui_wire import interrupt_entry
from gateway.routes.compat.substructure_prompts import (
    Agent,
    asks,
    options_of,
    question_of,
    resume_payload,
)
from gateway.worker_client import DeliveryFailed, last_result, read_answer, signature
from host.decisions.session import Node, Pause, Session
from host.decisions.session_resume import approved
from schemas.payloads import PAYLOAD

ROOT = Path(__file__).parents[2]
USER = Node({"id": "u1", "role": "user", "content": "Write  to\nBob"}, None)
SESSION = Session("thread-7", "bot", {"id": "ada"}, nodes={"u1": USER}, head="u1")


def pause(payload: Any, anchor: str | None = "u1", **more: Any) -> Pause:
    fields = {"origin": "frontend", "reason": "confirm", **more}
    return Pause("i1", "acme/0123456789abcdef", payload=payload, anchor=anchor, **fields)


def question(payload: Any, agent: Agent | None = None, **more: Any) -> dict[str, Any]:
    """As people are asked; valid as an interrupt's payload, whatever the worker sent."""
    asked = question_of(SESSION, pause(payload, **more), agent or Agent(""))
    PAYLOAD.validate_python({**asked, "key": "k"})
    return asked


def test_a_plain_prompt_is_an_approval() -> None:
    asked = question({"message": "Send it?\nTo Bob.", "arguments": {"to": "bob"}})
    assert asked["kind"] == "approval"
    assert asked["data"]["title"] == "Send it?"
    assert asked["data"]["artifactData"] == {"arguments": {"to": "bob"}}
    assert asked["data"]["actions"] == ["accept", "reject"]


@pytest.mark.parametrize(
    ("anchor", "words"),
    [
        ("u1", "In the conversation thread-7, the branch after “Write to Bob” waits for this."),
        (None, "The whole conversation thread-7 waits for this."),
    ],
)
def test_the_card_says_what_waits(anchor: str | None, words: str) -> None:
    assert question({"message": "?"}, anchor=anchor)["data"]["description"] == words


@pytest.mark.parametrize("payload", [None, {}, {"message": ""}, {"message": "  "}, 7, "text", []])
def test_42_without_a_message_the_reason_is_told(payload: Any) -> None:
    assert question(payload)["data"]["title"] == "bot is paused: confirm"


def test_options_are_one_choice_and_a_yes_and_a_no_are_buttons() -> None:
    options = [{"label": "Red", "value": 1}, {"label": "Red", "value": 2}, {"label": 5}, "x"]
    asked = question({"message": "Which?", "metadata": {"options": options}})
    [one] = asked["data"]["questions"]
    assert one["schema"] == {"enum": ["Red", "Red (2)"]}
    yes_no = [
        {"label": "Allow", "value": {"approved": True}, "style": "primary"},
        {"label": "Deny", "value": {"approved": False}, "style": "danger"},
    ]
    assert question({"message": "?", "metadata": {"options": yes_no}})["kind"] == "approval"


def test_a_response_schema_is_asked_for_and_a_broken_one_is_not() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    asked = question({"message": "Where?", "responseSchema": schema})
    assert asked["data"]["questions"][0]["schema"] == schema
    assert question({"message": "?", "responseSchema": {"type": "no"}})["kind"] == "approval"


def test_listed_approvers_make_it_an_approval_of_theirs() -> None:
    agent = Agent("", approvers=("ada",), groups=("ops",))
    data = question({"message": "?", "responseSchema": {"type": "string"}}, agent)["data"]
    assert (data["approversList"], data["approverGroupRefs"]) == (["ada"], ["ops"])


def test_what_the_system_raised_is_put_to_nobody() -> None:
    ask = asks({"bot": Agent("", notify=("slack:#ops",))})
    assert ask(SESSION, pause(None, origin="system"))[1] == ()
    assert ask(SESSION, pause(None))[1] == ("slack:#ops",)


BY = {"by": "ada", "name": "Ada", "via": "slack"}
OPTIONS = {"metadata": {"options": [{"label": "Red", "value": {"colour": 1}}]}}


@pytest.mark.parametrize(
    ("answer", "asked", "payload", "yes"),
    [
        ({"raw": None}, None, None, False),
        ({"raw": {"approved": True}}, None, {"approved": True}, True),
        (
            {"status": "resolved", "kind": "approval", "decision": "granted"},
            None,
            {"status": "resolved", "approved": True, "payload": {"approved": True}},
            True,
        ),
        (
            {
                "status": "resolved",
                "kind": "approval",
                "decision": "rejected",
                "value": {"feedback": "No."},
            },
            None,
            {
                "status": "resolved",
                "approved": False,
                "payload": {"approved": False, "feedback": "No."},
            },
            False,
        ),
        (
            {"status": "expired", "kind": "approval", "decision": "rejected"},
            None,
            {"status": "cancelled", "payload": {"expired": True}},
            False,
        ),
        ({"status": "cancelled"}, None, {"status": "cancelled", "payload": {}}, False),
        (
            {
                "status": "resolved",
                "kind": "clarification",
                "value": {"answers": {"answer": "Red"}},
            },
            OPTIONS,
            {"status": "resolved", "payload": {"colour": 1}},
            False,
        ),
        (
            {"status": "resolved", "kind": "clarification", "value": {"answers": {"answer": "x"}}},
            None,
            {"status": "resolved", "payload": "x"},
            False,
        ),
    ],
)
def test_37_40_what_the_worker_is_told(answer: Any, asked: Any, payload: Any, yes: bool) -> None:
    """A choice comes back as the value that was offered under its label; the responder is who was
    authenticated."""
    told = resume_payload(answer if "raw" in answer else {**answer, **BY}, asked)
    if "raw" not in answer:
        payload = {**payload, "responder": {"channel": "slack", "user": "ada", "label": "Ada"}}
    assert told == payload
    assert approved(told) is yes


def test_44_optional_members_are_left_out() -> None:
    wrong: dict[str, Any] = {
        "message": None,
        "toolCallId": 5,
        "responseSchema": "x",
        "metadata": [],
    }
    assert interrupt_entry(pause(wrong)) == {"id": "i1", "reason": "confirm"}
    assert interrupt_entry(pause({"message": "?", "other": 1}))["message"] == "?"
    assert options_of({"metadata": {"options": "none"}}) == []


# --- what a worker answers --------------------------------------------------------------------------


def test_a_stream_ends_with_one_decision() -> None:
    raw = b": hi\n\nevent: llm.token.delta\ndata: {}\n\nevent: decision.result\r\ndata: {\ndata: }\n\n"
    assert last_result(raw) == {}


@pytest.mark.parametrize(
    ("raw", "again"),
    [
        (b"", True),
        (b"event: decision.result\ndata: {\n\n", True),
        (b'event: decision.error\ndata: {"message": "x"}\n\n', True),
        (b'event: decision.error\ndata: {"message": "x", "retryable": false}\n\n', False),
    ],
)
def test_a_stream_without_a_decision_failed(raw: bytes, again: bool) -> None:
    with pytest.raises(DeliveryFailed) as failure:
        last_result(raw)
    assert failure.value.retryable is again


@pytest.mark.parametrize(
    "raw",
    [
        [],
        {"actions": [{"type": "interrupt"}]},
        {"actions": [{"type": "interrupt", "reason": ""}]},
        {"actions": [{}]},
        {"actions": [{"type": "tool.error"}]},
        {"messages": [{"role": "nobody"}]},
    ],
)
def test_04_a_malformed_answer_is_none(raw: Any) -> None:
    with pytest.raises(DeliveryFailed, match="malformed"):
        read_answer(raw)


def test_the_signature_is_that_of_the_reference() -> None:
    """HMAC-SHA256 of RFC 4231, test case 2."""
    found = signature("Jefe", b"what do ya want for nothing?")
    assert found == "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"


def test_every_test_that_the_dialect_s_page_names_exists() -> None:
    page = (ROOT / "docs" / "dialects" / "substructure.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", page, re.MULTILINE))
    assert list(rows) == [str(n) for n in range(1, 45)]
    file = ""
    for held_by in rows.values():
        names = re.findall(r"`((?:tests/[\w/]+\.py)?)::(test_\w+)`", held_by)
        assert names or held_by.startswith(("Not served", "By construction"))
        for path, name in names:
            file = path or file
            text = (ROOT / file).read_text("utf-8")
            assert f"def {name}(" in text, f"{file}::{name}"
