"""InterruptPayload: closed, bound to its kind, every limit of the specification."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.errors import Refusal
from schemas.payloads import KINDS, check_payload

GOOD: dict[str, dict[str, Any]] = {
    "approval": {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept"]},
    "clarification": {"questions": [{"id": "q", "question": "?"}]},
    "external-event": {"eventType": "paid", "correlation": {}},
    "custom": {"customKind": "x"},
    "conversation.start": {"conversationId": "c"},
    "conversation.exchange": {"conversationId": "c", "prompt": "?"},
    "conversation.close": {"conversationId": "c"},
    "low-confidence": {"agentId": "a.b", "threshold": 0.7, "observed": 0.2},
}


def payload(kind: str, **changes: Any) -> dict[str, Any]:
    data = {k: v for k, v in {**GOOD[kind], **changes}.items() if v is not ...}
    return {"kind": kind, "key": "k", "data": data}


def test_there_are_eight_kinds() -> None:
    assert set(KINDS) == set(GOOD)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_kept_verbatim(kind: str) -> None:
    raw = {**payload(kind), "resumeSchema": {"type": "object"}, "timeoutMs": 5}
    assert check_payload(raw).wire() == raw


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["root", "data"])
def test_each_kind_is_closed(kind: str, where: str) -> None:
    raw = payload(kind)
    (raw if where == "root" else raw["data"])["extra"] = 1
    with pytest.raises(Refusal) as refused:
        check_payload(raw)
    assert refused.value.code == "validation_error"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("member", ["kind", "key", "data"])
def test_kind_key_and_data_are_required(kind: str, member: str) -> None:
    raw = payload(kind)
    del raw[member]
    with pytest.raises(Refusal):
        check_payload(raw)


@pytest.mark.parametrize(
    ("kind", "member"), [(k, m) for k in KINDS for m in GOOD[k]], ids=lambda v: str(v)
)
def test_the_members_of_each_kind_are_required(kind: str, member: str) -> None:
    with pytest.raises(Refusal):
        check_payload(payload(kind, **{member: ...}))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("approval", {"actions": []}),
        ("approval", {"actions": ["accept", "accept"]}),
        ("approval", {"actions": ["timeout"]}),
        ("approval", {"title": ""}),
        ("approval", {"requiredApprovals": 0}),
        ("approval", {"requiredApprovals": "2"}),
        ("approval", {"rejectionPolicy": "all"}),
        ("approval", {"overrideBypassesQuorum": "yes"}),
        ("approval", {"approversList": "ada"}),
        ("approval", {"audience": {"people": []}}),
        ("clarification", {"questions": []}),
        ("clarification", {"questions": [{"id": "q", "question": "?"}] * 2}),
        ("clarification", {"questions": [{"id": "", "question": "?"}]}),
        ("clarification", {"questions": [{"id": "q", "question": "?", "schema": "string"}]}),
        ("conversation.start", {"conversationId": ""}),
        ("conversation.start", {"conversationId": "c" * 257}),
        ("conversation.exchange", {"prompt": ""}),
        ("conversation.exchange", {"turnIndex": -1}),
        ("low-confidence", {"threshold": 1.1}),
        ("low-confidence", {"observed": float("nan")}),
        ("low-confidence", {"agentId": "not an id"}),
        ("custom", {"customKind": ""}),
        ("external-event", {"correlation": []}),
    ],
)
def test_values_out_of_bounds(kind: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        check_payload(payload(kind, **changes))
    assert refused.value.details["errors"]


@pytest.mark.parametrize("raw", [None, [], "approval", {"kind": "vote"}, {"kind": None}])
def test_what_is_no_payload_at_all(raw: Any) -> None:
    with pytest.raises(Refusal):
        check_payload(raw)


@pytest.mark.parametrize("timeout", [-1, 1.5, "5", 10**15])
def test_timeouts_are_whole_milliseconds(timeout: Any) -> None:
    with pytest.raises(Refusal):
        check_payload({**payload("custom"), "timeoutMs": timeout})


def test_a_refused_value_is_never_repeated() -> None:
    with pytest.raises(Refusal) as refused:
        check_payload(payload("approval", title=["a secret"]))
    assert "a secret" not in str(refused.value.envelope())
