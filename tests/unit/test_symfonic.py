"""Symfonic's shapes, tokens and registrations. Numbers: docs/dialects."""

from __future__ import annotations

from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from gateway.routes.compat.symfonic_wire import read_stream
from host.decisions import asking_user
from host.pause_tokens import PauseTokens, Scope, request_hash
from host.registrations import Registration, Registrations
from schemas.errors import Refusal
from schemas.symfonic import (
    AskUserRequest,
    AskUserResponse,
    InterruptEvent,
    InterruptExpiredEvent,
    InterruptResolvedEvent,
    PauseClaims,
)

KEY = "a-secret-of-more-than-32-characters"
NOW = 1_900_000_000_000
CLAIMS: dict[str, Any] = {
    "run_id": "acme/r", "session_id": "", "scope_hash": "90f54e1caf436719", "thread_id": "acme:_:acme/r",
    "checkpoint_id": "acme/i", "request_hash": "0" * 64, "exp": NOW // 1000 + 600, "jti": "j1",
    "name": "refund", "interrupt_id": "i-0123456789ab", "tool_call_id": "",
}  # fmt: skip
EVENT: dict[str, Any] = {
    "name": "refund", "pause_token": "t", "payload": {}, "expires_at": "2026-11-29T20:00:00Z",
    "interrupt_id": "i-0123456789ab", "run_id": "r",
}  # fmt: skip
TOKENS = PauseTokens(KEY)


def code(token: str, now: int = NOW) -> str:
    with pytest.raises(Refusal) as refused:
        TOKENS.read(token, now)
    assert token not in str(refused.value) or not token
    return refused.value.code


def test_01_04_05_the_members_of_the_events() -> None:
    assert set(InterruptEvent.model_fields) == {
        "type", "name", "pause_token", "payload", "expires_at", "interrupt_id", "run_id", "session_id",
    }  # fmt: skip
    assert set(InterruptResolvedEvent.model_fields) == {
        "type", "name", "interrupt_id", "response", "run_id", "session_id", "time_to_resolve_seconds",
    }  # fmt: skip
    assert set(InterruptExpiredEvent.model_fields) == {
        "type", "name", "interrupt_id", "scope_hash", "expired_at", "swept_at",
    }  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    ["i-0123456789AB", "i-0123456789a", "i-0123456789abc", "i-0123456789ab\n", "q-0123456789ab"],
)
def test_02_an_interrupt_id_has_twelve_hex_digits(bad: str) -> None:
    with pytest.raises(ValidationError):
        InterruptEvent.model_validate({**EVENT, "interrupt_id": bad})


@pytest.mark.parametrize(("length", "fits"), [(0, False), (1, True), (64, True), (65, False)])
def test_03_a_name_has_1_to_64_characters(length: int, fits: bool) -> None:
    try:
        InterruptEvent.model_validate({**EVENT, "name": "n" * length})
    except ValidationError:
        assert not fits
    else:
        assert fits


def test_06_events_are_frozen_and_ignore_what_they_do_not_know() -> None:
    event = InterruptEvent.model_validate({**EVENT, "colour": "red"})
    assert "colour" not in event.wire()
    with pytest.raises(ValidationError):
        event.name = "other"
    with pytest.raises(ValidationError):
        InterruptEvent.model_validate({**EVENT, "type": "interrupt_resolved"})


def test_08_the_header_and_the_eleven_claims() -> None:
    token = TOKENS.mint(PauseClaims.model_validate(CLAIMS))
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims == CLAIMS
    assert len(claims) == 11


@pytest.mark.parametrize(
    "token",
    [
        "",
        "garbage",
        "a.b.c",
        jwt.encode(CLAIMS, KEY, "HS512"),
        jwt.encode(CLAIMS, "", "none"),
        jwt.encode(CLAIMS, KEY + "x", "HS256"),
        jwt.encode(CLAIMS, KEY, "HS256")[:-3],
        "x" * 5000,
    ],
)
def test_10_what_we_did_not_sign_is_unauthorized(token: str) -> None:
    assert code(token) == "unauthenticated"


def test_11_expired_is_gone_and_a_bad_signature_wins_over_it() -> None:
    old = {**CLAIMS, "exp": NOW // 1000 - 1}
    assert code(jwt.encode(old, KEY, "HS256")) == "interrupt_expired"
    assert code(jwt.encode(old, KEY + "x", "HS256")) == "unauthenticated"


def test_12_a_token_passes_in_its_last_second() -> None:
    last = {**CLAIMS, "exp": NOW // 1000}
    assert TOKENS.read(jwt.encode(last, KEY, "HS256"), NOW + 999).exp == NOW // 1000
    assert code(jwt.encode(last, KEY, "HS256"), NOW + 1000) == "interrupt_expired"


@pytest.mark.parametrize("name", ["run_id", "scope_hash", "exp", "jti", "request_hash"])
def test_13_a_missing_claim_is_refused_by_name(name: str) -> None:
    lacking = {n: v for n, v in CLAIMS.items() if n != name}
    with pytest.raises(Refusal, match=name) as refused:
        TOKENS.read(jwt.encode(lacking, KEY, "HS256"), NOW)
    assert refused.value.code == "validation_error"


def test_14_a_token_without_a_name_is_ask_users() -> None:
    old = {n: v for n, v in CLAIMS.items() if n not in ("name", "interrupt_id", "tool_call_id")}
    claims = TOKENS.read(jwt.encode(old, KEY, "HS256"), NOW)
    assert (claims.name, claims.interrupt_id, claims.tool_call_id) == ("ask_user", "", "")


@pytest.mark.parametrize("key", ["", "framework-default", "x" * 31])
def test_16_there_is_no_default_key(key: str) -> None:
    with pytest.raises(ValueError, match="32"):
        PauseTokens(key)


def test_20_a_model_and_its_json_have_one_hash() -> None:
    class Payload(BaseModel):
        b: int
        a: int

    assert request_hash(Payload(b=1, a=2).model_dump()) == request_hash({"a": 2, "b": 1})
    assert request_hash({"b": 1, "a": 2}) == (
        "21501dbaf73f5223934d22283f01caff4132bc1de4a9550c1ed0dffeb397a323"
    )


def test_25_scopes_whose_hashes_collide_are_still_told_apart() -> None:
    assert Scope("a", None).hash == Scope("a", "_").hash
    assert Scope("a", None) != Scope("a", "_")
    assert Scope("a:b").hash == Scope("a", "b:_").hash
    assert Scope("a:b") != Scope("a", "b:_")


def registration(**members: Any) -> Registration:
    made = {"name": "refund", "payload_schema": {}, "response_schema": {}, **members}
    return Registration(**made)


def test_33_a_name_is_registered_once_and_never_over_a_built_in_one() -> None:
    known = Registrations([registration()])
    for taken in ("refund", "ask_user", "", "n" * 65):
        with pytest.raises(Refusal, match="validation_error"):
            known.register(registration(name=taken))
    with pytest.raises(Refusal, match="validation_error"):
        known.get("unknown")
    assert known.get("ask_user").built_in


def test_35_the_validator_gets_response_and_payload_as_models() -> None:
    class Payload(BaseModel):
        limit: int

    class Response(BaseModel):
        amount: int

    def check(response: Response, payload: Payload) -> None:
        if response.amount > payload.limit:
            raise RuntimeError(f"{response.amount} is above {payload.limit}")

    one = registration(payload_schema=Payload, response_schema=Response, validator=check)
    payload = one.read_payload({"limit": 5})
    one.cross_check(one.read_response({"amount": 5}), payload)
    with pytest.raises(Refusal, match="6 is above 5") as refused:
        one.cross_check(one.read_response({"amount": 6}), payload)
    assert refused.value.code == "validation_error"


def test_50_an_error_event_counts_whatever_the_status_of_http() -> None:
    body = b'event: error\r\ndata: {"detail": "used", "status": 410}\r\n\r\n'
    told = read_stream(200, body)
    assert (told.status, told.detail) == (410, "used")
    assert read_stream(200, b'event: error\ndata: {"detail": "broken"}\n\n').status == 500
    good = read_stream(200, b'event: InterruptResolvedEvent\ndata: {"name": "n"}\n\n: ping\n\n')
    assert good.events == (("InterruptResolvedEvent", {"name": "n"}),)


LABELS = ["Red", "Blue", "Green"]


@given(st.data())
def test_answers_to_ask_user_go_to_and_fro_unchanged(data: st.DataObject) -> None:
    """What people answer by the schema is what symfonic has, and back."""
    questions = [
        {
            "id": f"q-{number:012x}",
            "question": "Which one?",
            "options": [{"label": label, "description": ""} for label in LABELS],
            "multi_select": data.draw(st.booleans()),
            "allow_other": data.draw(st.booleans()),
        }
        for number in range(data.draw(st.integers(1, 4)))
    ]
    request = AskUserRequest.model_validate({"questions": questions})
    answers = []
    for question in request.questions:
        most = 3 if question.multi_select else 1
        least = 0 if question.allow_other else 1
        chosen = data.draw(
            st.lists(st.sampled_from(LABELS), unique=True, min_size=least, max_size=most)
        )
        answer: dict[str, Any] = {"question_id": question.id, "selections": chosen}
        if not chosen:
            answer["other"] = data.draw(st.text(min_size=1, max_size=20))
        answers.append(answer)
    response = AskUserResponse.model_validate({"answers": answers})
    assert asking_user.problem(response, request) == ""
    value = asking_user.value_of(response, request)
    assert asking_user.response_of(value, request) == response
