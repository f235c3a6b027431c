"""Kortyx' shapes: resume metadata, prompts, answers, modes, lifecycle. Numbers: docs/dialects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.routes.compat.kortyx_chat import parse_chat
from gateway.routes.compat.kortyx_discovery import parse_scope
from gateway.routes.compat.kortyx_errors import KortyxRefused
from gateway.routes.compat.kortyx_prompts import answer_of, given_of, prompt_of, request_id_of
from gateway.routes.compat.kortyx_resume import Given, Resume, as_text, parse_resume
from gateway.routes.compat.kortyx_telemetry import Capture, lifecycle, standing, wait_ms
from host import contracts as schema_checks
from host.decisions.contracts import interaction_mode, payload_of
from host.decisions.resolve import Answer, resolve
from host.decisions.state import Interrupt, Outcome, Policy, Principal, Run, State
from schemas.contracts import AskForInput, Contract, ContractUse
from schemas.errors import Refusal

CODE = Principal("ada", "acme")


def asked(**body: Any) -> Interrupt:
    """An interrupt of a request for input."""
    ask = AskForInput.model_validate({"nodeId": "n", "key": "k", **body})
    return of(payload_of(ask, None, schema_checks.validate))


def of(payload: dict[str, Any], **more: Any) -> Interrupt:
    fields = {"interrupt_id": "acme/i", "run_id": "acme/r", "node_id": "n", "key": "k"}
    return Interrupt(**fields, kind=payload["kind"], payload=payload, requested_at=1000, **more)


HALF = {"token": "t", "requestId": "r"}
NOTHING = ("t", "r", ())


@pytest.mark.parametrize(
    "resume",
    [
        None,
        "text",
        [],
        {},
        {"token": "t"},
        {"requestId": "r"},
        {"token": "", "requestId": "r"},
        {"token": "t", "requestId": ""},
        {"token": 1, "requestId": "r"},
        {"token": "t", "requestId": None},
    ],
)
def test_06_what_is_not_a_resume(resume: Any) -> None:
    assert parse_resume({"resume": resume}) is None
    assert parse_resume(resume) is None


@pytest.mark.parametrize(
    ("members", "selected"),
    [
        ({}, ()),
        ({"selected": "a"}, ("a",)),
        ({"selected": ""}, ("",)),
        ({"selected": ["a", "b"]}, ("a", "b")),
        ({"selected": [1, None, {"x": 1}]}, ("1", "null", "[object Object]")),
        ({"selected": [True, 1.5, 2.0, [1, None]]}, ("true", "1.5", "2", "1,")),
        ({"selected": [], "choice": {"id": "a"}}, ()),
        ({"selected": 7}, ()),
        ({"selected": 7, "choice": {"id": "a"}}, ("a",)),
        ({"choice": {"id": "a"}}, ("a",)),
        ({"choice": {"id": 1}}, ()),
        ({"choice": "a"}, ()),
        (
            {"choices": [{"id": "a"}, {"id": 2}, None, "z", {"id": "b"}]},
            ("a", "b"),
        ),
        ({"choice": {"id": "a"}, "choices": [{"id": "b"}]}, ("a",)),
        ({"selected": ["s"], "choice": {"id": "a"}}, ("s",)),
        ({"extra": {"anything": 1}}, ()),
        # Ours: the forms that their page shows inside `selected` (D1).
        ({"selected": {"choice": {"id": "a"}}}, ("a",)),
        ({"selected": {"choices": [{"id": "a"}, {"id": "b"}]}}, ("a", "b")),
    ],
)
def test_06_what_was_selected(members: dict[str, Any], selected: tuple[str, ...]) -> None:
    found = parse_resume({"resume": HALF | members})
    assert found == Resume("t", "r", selected)


@pytest.mark.parametrize(("cancel", "is_one"), [(True, True), ("true", False), (1, False)])
def test_06_17_only_true_cancels(cancel: Any, is_one: bool) -> None:
    found = parse_resume({"resume": HALF | {"cancel": cancel}})
    assert found is not None
    assert found.cancel is is_one


@pytest.mark.parametrize("value", [None, 0, "", {"city": "Oslo"}])
def test_06_14_a_value_that_is_there_is_one(value: Any) -> None:
    with_one = parse_resume({"resume": HALF | {"value": value}})
    without = parse_resume({"resume": HALF})
    assert with_one is not None
    assert without is not None
    assert (with_one.has_value, with_one.value) == (True, value)
    assert not without.has_value


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_06_any_entry_becomes_text(value: Any) -> None:
    assert isinstance(as_text(value), str)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_values)
def test_no_metadata_makes_the_parser_stumble(metadata: Any) -> None:
    for shape in (metadata, {"resume": metadata}, {"resume": {**HALF, "selected": metadata}}):
        found = parse_resume(shape)
        assert found is None or all(isinstance(one, str) for one in found.selected)


@settings(deadline=None)
@given(json_values)
def test_no_body_makes_the_chat_stumble(body: Any) -> None:
    for shape in (body, {"messages": body}, {"messages": [body]}):
        told = "nothing"
        try:
            parse_chat(shape)
        except KortyxRefused as refused:
            told = refused.body()["error"]
        assert told


def test_a_token_is_in_no_text() -> None:
    found = parse_resume({"resume": {"token": "s3cret", "requestId": "r"}})
    assert "s3cret" not in repr(found)


def test_07_only_the_last_message_resumes() -> None:
    first = {"role": "user", "content": "x", "metadata": {"resume": HALF}}
    last = {"role": "user", "content": "y"}
    assert parse_chat({"messages": [first, last]}).resume is None
    assert parse_chat({"messages": [last, first]}).resume is not None


def test_an_empty_list_of_messages_is_taken() -> None:
    found = parse_chat({"messages": [], "unknown": 1})
    assert (found.content, found.resume, found.stream) == ("", None, True)


# --- questions and answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "mode", "count"),
    [
        ({"kind": "text"}, "text", "freeform", 0),
        ({"options": [{"id": "a", "label": "A"}]}, "choice", "static-options", 1),
        (
            {"multiple": True, "options": [{"id": "a", "label": "A"}]},
            "multi-choice",
            "static-options",
            1,
        ),
        ({"schemaId": "acme.customers"}, "choice", "dynamic-picker", 0),
        (
            {"schemaId": "acme.customers", "multiple": True},
            "multi-choice",
            "dynamic-picker",
            0,
        ),
    ],
)
def test_04_32_kinds_modes_and_counts(
    body: dict[str, Any], kind: str, mode: str, count: int
) -> None:
    interrupt = asked(**body)
    [created] = lifecycle(interrupt, "w", "s1", Capture())
    assert created["payload"]["kind"] == kind
    assert created["payload"]["interactionMode"] == mode
    assert created["payload"]["optionCount"] == count


def test_32_a_contract_without_options_is_of_no_known_mode() -> None:
    asked_of = {"kind": "custom", "options": []}
    assert interaction_mode(asked_of) == "unknown"


def test_a_choice_with_nothing_to_choose_from_is_refused() -> None:
    with pytest.raises(Refusal, match="schemaId"):
        asked(kind="choice")
    with pytest.raises(Refusal, match="twice"):
        asked(options=[{"id": "a", "label": "A"}, {"id": "a", "label": "B"}])


OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]


@pytest.mark.parametrize(
    ("body", "selected", "value"),
    [
        ({"kind": "text"}, ("the text",), "the text"),
        ({"options": OPTIONS}, ("b",), "b"),
        ({"options": OPTIONS, "multiple": True}, ("b", "a"), ["b", "a"]),
        ({"schemaId": "p"}, ("whatever",), "whatever"),
    ],
)
def test_12_what_an_answer_hands_to_the_run(
    body: dict[str, Any], selected: tuple[str, ...], value: Any
) -> None:
    interrupt = asked(**body)
    given_ = given_of(interrupt, selected, None, has_value=False)
    assert answer_of(interrupt, given_) == value
    assert not schema_checks.validate(interrupt.payload["resumeSchema"], value)


@pytest.mark.parametrize(
    ("body", "given_"),
    [
        ({"options": OPTIONS}, Given("select", ids=("c",))),
        ({"options": OPTIONS}, Given("select", ids=("a", "b"))),
        ({"options": OPTIONS}, Given("select", ids=())),
        ({"options": OPTIONS, "multiple": True}, Given("select", ids=("a", "a"))),
        ({"options": OPTIONS}, Given("value", value="a")),
        ({"kind": "text"}, Given("select", ids=("a",))),
    ],
)
def test_12_13_answers_that_are_none(body: dict[str, Any], given_: Given) -> None:
    with pytest.raises(KortyxRefused) as refused:
        answer_of(asked(**body), given_)
    assert refused.value.code == "INVALID_RESPONSE"
    assert not refused.value.stale


def approval(*actions: str) -> Interrupt:
    data = {"artifactId": "a", "artifactType": "t", "title": "Ship it?", "actions": list(actions)}
    return of({"kind": "approval", "key": "k", "data": data})


def test_an_approval_is_answered_by_its_actions() -> None:
    interrupt = approval("accept", "reject", "refine", "edit-accept")
    prompt = prompt_of(interrupt)
    assert prompt is not None
    assert [one["id"] for one in prompt["options"]] == ["accept", "refine", "reject"]
    given_ = Given("select", ids=("refine",))
    assert answer_of(interrupt, given_, "shorter, please") == {
        "action": "refine",
        "refineFeedback": {"scope": "whole", "text": "shorter, please"},
    }


def test_a_wait_for_an_event_is_nobodys_question() -> None:
    data = {"eventType": "paid", "correlation": {}}
    assert prompt_of(of({"kind": "external-event", "key": "k", "data": data})) is None


def test_the_name_of_a_question_stays_and_tells_nothing() -> None:
    assert request_id_of("acme/i") == request_id_of("acme/i")
    assert request_id_of("acme/i") != request_id_of("acme/j")
    assert "acme" not in request_id_of("acme/i")


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now", "alive"), [(1999, True), (2000, False), (2001, False)])
def test_18_alive_until_the_deadline_and_dead_at_it(now: int, alive: bool) -> None:
    interrupt = replace(asked(kind="text"), deadline=2000)
    assert interrupt.is_open(now) is alive
    assert standing(interrupt, now) == ("pending" if alive else "expired")
    state = State(Run("acme/r", "w"), (interrupt,))
    answer = Answer(CODE, "x", "kortyx")
    if alive:
        assert resolve(state, answer, now, Policy(), schema_checks.validate)
    else:
        with pytest.raises(Refusal, match="deadline"):
            resolve(state, answer, now, Policy(), schema_checks.validate)


def test_18_33_a_stored_end_goes_before_any_clock() -> None:
    ended = replace(
        asked(kind="text"), deadline=2000, status="resolved", outcome=Outcome("x", at=1900)
    )
    assert standing(ended, 5000) == "resolved"
    assert wait_ms(ended) == 900
    _, resolved = lifecycle(ended, "w", "", Capture())
    assert resolved["payload"]["resolvedAt"] == "1970-01-01T00:00:01.900Z"
    assert wait_ms(asked(kind="text")) is None


def test_31_a_cancel_says_why() -> None:
    gone = replace(
        asked(kind="text"), status="cancelled", outcome=Outcome(reason="cancelled_by_client", at=1)
    )
    assert lifecycle(gone, "w", "s", Capture())[1]["payload"]["reason"] == "cancelled_by_client"


# --- names and scopes -----------------------------------------------------------------------------

CONTRACT = {
    "description": "d",
    "schemaId": "s",
    "schemaVersion": "1",
    "requestSchema": {},
    "responseSchema": {},
}


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("shipping", True),
        ("a" * 42, True),  # kortyx_request_input__ and this are 64
        ("a" * 43, False),
        ("1x", False),
        ("a b", False),
        ("", False),
        ("a-b_2", True),
    ],
)
def test_29_names_of_contracts(name: str, fits: bool) -> None:
    if fits:
        assert Contract.model_validate({"name": name, **CONTRACT}).name == name
        return
    with pytest.raises(ValidationError):
        Contract.model_validate({"name": name, **CONTRACT})


@pytest.mark.parametrize("member", ["description", "schemaId", "schemaVersion"])
def test_29_a_contracts_texts_are_not_empty(member: str) -> None:
    with pytest.raises(ValidationError):
        Contract.model_validate({"name": "x", **CONTRACT, member: ""})


@pytest.mark.parametrize("most", [0, -1, 1.5, "1"])
def test_28_a_limit_is_a_whole_number_from_one(most: Any) -> None:
    with pytest.raises(ValidationError):
        ContractUse.model_validate({"contracts": ["x"], "maxRequests": most})


def test_30_a_context_is_flat() -> None:
    assert parse_scope({"context": '{"a": 1}'}).context == {"a": 1}
    for wrong in ("[]", '{"a": {}}', "{", '{"a": [1]}'):
        with pytest.raises(KortyxRefused):
            parse_scope({"context": wrong})
