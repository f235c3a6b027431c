"""Symfonic's own classes read what we write, and we read what they write (behaviours 7, 9, 17, 18).

What they said is kept in `tests/data/symfonic-vectors.json`. With SYMFONIC_PYTHON naming an interpreter that
has `symfonic-core[ask-user]` and `python-jose` they are asked again, and RECORD=1 keeps the new answer:

    SYMFONIC_PYTHON=…/bin/python RECORD=1 python -m pytest tests/interop
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from host.decisions import asking_user
from host.pause_tokens import PauseTokens, Scope, request_hash
from schemas import symfonic
from schemas.errors import Refusal
from schemas.symfonic import AskUserRequest, AskUserResponse, PauseClaims

SECRET: Final = "interop-secret-0123456789abcdef-0123456789"
KEPT: Final = Path(__file__).parents[1] / "data" / "symfonic-vectors.json"
NOW: Final = 1_900_000_000_000
CLAIMS: Final = PauseClaims(
    run_id="acme/01jd0000000000000000000000",
    session_id="s1",
    scope_hash=Scope("acme", "b1").hash,
    thread_id="acme:b1:s1",
    checkpoint_id="acme/01jd0000000000000000000001",
    tool_call_id="call-1",
    request_hash=request_hash({"b": 1, "a": 2}),
    exp=4_000_000_000,
    jti="0" * 32,
    name="refund",
    interrupt_id="i-0123456789ab",
)
QUESTION: Final = {
    "id": "q-0123456789ab",
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "Warm", "preview": None},
        {"label": "Blue", "description": "", "preview": None},
    ],
    "multi_select": False,
    "allow_other": False,
}
OTHER: Final = {**QUESTION, "id": "q-0123456789ac", "multi_select": True, "allow_other": True}
REQUEST: Final = {"questions": [QUESTION, OTHER]}
TIME: Final = "2026-11-29T20:00:00.123456Z"
EVENTS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("InterruptEvent", {"type": "interrupt", "name": "refund", "pause_token": "t", "payload": {"a": 1},
                        "expires_at": TIME, "interrupt_id": "i-0123456789ab", "run_id": "r",
                        "session_id": "s"}),
    ("InterruptResolvedEvent", {"type": "interrupt_resolved", "name": "refund",
                                "interrupt_id": "i-0123456789ab", "response": {"ok": True},
                                "run_id": "r", "session_id": "", "time_to_resolve_seconds": 1.5}),
    ("InterruptExpiredEvent", {"type": "interrupt_expired", "name": "refund",
                               "interrupt_id": "i-0123456789ab", "scope_hash": "90f54e1caf436719",
                               "expired_at": TIME, "swept_at": TIME}),
    ("AskUserQuestionEvent", {"run_id": "r", "session_id": "s", "pause_token": "t", "request": REQUEST,
                              "tool_call_id": "call-1", "expires_at": TIME}),
    ("AskUserAnsweredEvent", {"run_id": "r", "session_id": "s", "tool_call_id": "call-1",
                              "selected_labels": ["Red"], "has_other": False,
                              "time_to_answer_seconds": 2.0}),
    ("AskUserExpiredEvent", {"run_id": "r", "scope_hash": "90f54e1c", "expired_at": TIME,
                             "swept_at": TIME}),
]  # fmt: skip
SCOPES: Final = [
    ["acme", None, None],
    ["acme", "b1", None],
    ["acme", None, "n"],
    ["acme", "n", "n"],
]
PAYLOADS: Final = [{"b": 1, "a": 2}, {"a": 2, "b": 1}, {"grün": ["ü", None, 1.5]}, {}]


def said(first: Any, second: Any) -> dict[str, Any]:
    return {"answers": [{"question_id": QUESTION["id"], **first},
                        {"question_id": OTHER["id"], **second}]}  # fmt: skip


RESPONSES: Final[list[tuple[dict[str, Any], str]]] = [
    (said({"selections": ["Red"]}, {"selections": ["Red", "Blue"]}), "taken"),
    (said({"selections": ["Red"]}, {"other": "Green"}), "taken"),
    (said({"selections": ["Red"]}, {"selections": ["Blue"], "other": "Green"}), "taken"),
    (said({"selections": ["Green"]}, {"other": "x"}), "refused"),
    (said({"selections": ["Red", "Blue"]}, {"other": "x"}), "refused"),
    (said({"other": "Green"}, {"other": "x"}), "refused"),
    (said({"selections": ["Red"], "other": ""}, {"other": "x"}), "refused"),
    (said({"selections": ["Red"]}, {"selections": [], "other": ""}), "refused"),
    (said({"selections": ["Red", "Red"]}, {"other": "x"}), "refused"),
    ({"answers": [{"question_id": QUESTION["id"], "selections": ["Red"]}]}, "refused"),
]


def asked() -> dict[str, Any]:
    """The same at every run: a token of fixed claims is a fixed text."""
    ours = PauseTokens(SECRET)
    without = CLAIMS.model_dump()
    del without["name"], without["interrupt_id"]
    return {
        "secret": SECRET,
        "claims": [CLAIMS.model_dump(), {**CLAIMS.model_dump(), "name": "ask_user"}],
        "tokens": [
            ours.mint(CLAIMS),
            PauseTokens("another-secret-0123456789abcdef-0123").mint(CLAIMS),
            ours.mint(CLAIMS.model_copy(update={"exp": 1_000_000_000})),
        ],
        "events": [
            [name, getattr(symfonic, name).model_validate(given).wire()] for name, given in EVENTS
        ],
        "scopes": SCOPES,
        "payloads": PAYLOADS,
        "request": REQUEST,
        "responses": [response for response, _ in RESPONSES],
    }


@pytest.fixture(scope="module")
def answered() -> dict[str, Any]:
    """What their classes said to just this."""
    question = asked()
    python = os.environ.get("SYMFONIC_PYTHON")
    if python is not None:
        peer = Path(__file__).parent / "symfonic_peer.py"
        done = subprocess.run(
            [python, peer], input=json.dumps(question), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        if os.environ.get("RECORD"):
            KEPT.write_text(
                json.dumps({"asked": question, "answered": answer}, indent=1, sort_keys=True) + "\n"
            )
        return dict(answer)
    kept = json.loads(KEPT.read_text())
    assert kept["asked"] == question, "what we write has changed: ask their classes again"
    return dict(kept["answered"])


def test_09_their_decoder_reads_our_token(answered: dict[str, Any]) -> None:
    ours, forged, expired = answered["decoded"]
    assert ours == CLAIMS.model_dump()
    assert forged == {"refused": "unauthorized"}
    assert expired == {"refused": "gone"}


def test_09_we_read_their_token(answered: dict[str, Any]) -> None:
    generic, ask_user = answered["minted"]
    read = PauseTokens(SECRET).read
    assert read(generic, NOW) == CLAIMS
    assert read(ask_user, NOW).name == "ask_user"
    with pytest.raises(Refusal, match="unauthenticated"):
        PauseTokens("another-secret-0123456789abcdef-0123").read(generic, NOW)


def test_07_their_classes_read_our_events_and_give_them_back(answered: dict[str, Any]) -> None:
    assert answered["events"] == [given for _, given in EVENTS]
    for (name, _), given in zip(EVENTS, answered["events"], strict=True):
        assert getattr(symfonic, name).model_validate(given).wire() == given


def test_17_the_scope_hash_is_theirs(answered: dict[str, Any]) -> None:
    assert answered["scope_hashes"] == [Scope(*scope).hash for scope in SCOPES]
    assert answered["scope_hashes"] == [
        "90f54e1caf436719",
        "10e1994d8c1ee5bc",
        "f84c8b783957a84e",
        "857a1d550a9047dd",
    ]


def test_18_the_request_hash_is_theirs(answered: dict[str, Any]) -> None:
    assert answered["payload_hashes"] == [request_hash(payload) for payload in PAYLOADS]
    assert answered["payload_hashes"][0] == answered["payload_hashes"][1]


@pytest.mark.parametrize("number", range(len(RESPONSES)))
def test_37_answers_to_ask_user_are_judged_alike(answered: dict[str, Any], number: int) -> None:
    response, expected = RESPONSES[number]
    assert answered["judged"][number] == expected
    try:
        wrong = asking_user.problem(
            AskUserResponse.model_validate(response), AskUserRequest.model_validate(REQUEST)
        )
    except ValueError:
        wrong = "malformed"
    assert ("refused" if wrong else "taken") == expected
