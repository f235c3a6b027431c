"""Content kept out of events: what is left is valid, holds no content, and loses nothing for the run."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from host import contracts as schema_checks
from host.decisions.evolve import evolve
from host.decisions.request import Ask, request
from host.decisions.resolve import Answer, resolve
from host.decisions.state import Conversation, NewEvent, Policy, Principal, Run, State
from schemas.contracts import INPUT_KIND
from schemas.events import registry

QUIET = Policy(capture_requests=False, capture_answers=False)
ADA = Principal("ada", "acme", names=frozenset({"ada"}))
RUN = Run("acme/0123456789abcdef", "w")
ID = "acme/0123456789abcdeg"
SECRET = "s3cret words"

APPROVAL = {
    "artifactId": "a", "artifactType": "t", "title": SECRET, "description": SECRET,
    "artifactData": {"x": SECRET}, "actions": ["accept", "reject", "refine", "edit-accept", "ask"],
}  # fmt: skip
CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("approval", APPROVAL, {"action": "accept", "feedback": SECRET}),
    ("approval", APPROVAL, {"action": "edit-accept", "editedArtifactData": SECRET}),
    (
        "approval",
        APPROVAL,
        {"action": "refine", "refineFeedback": {"scope": "section", "sectionPath": SECRET}},
    ),
    ("approval", APPROVAL, {"action": "ask", "question": SECRET}),
    (
        "clarification",
        {"questions": [{"id": "q", "question": SECRET, "schema": {"enum": [SECRET]}}]},
        {"answers": {"q": SECRET}},
    ),
    ("custom", {"customKind": "x", "payload": SECRET}, SECRET),
    (
        "custom",
        {
            "customKind": INPUT_KIND,
            "payload": {
                "kind": "choice",
                "multiple": False,
                "question": SECRET,
                "options": [{"id": SECRET, "label": SECRET}],
                "schemaId": "s",
            },
        },
        SECRET,
    ),
    (
        "low-confidence",
        {"agentId": "a", "threshold": 0.7, "observed": 0.1, "decision": SECRET},
        SECRET,
    ),
    (
        "conversation.exchange",
        {"conversationId": "c", "prompt": SECRET},
        SECRET,
    ),
]


def asked(kind: str, data: dict[str, Any]) -> tuple[State, list[NewEvent]]:
    talks = (Conversation("c", RUN.run_id),)
    state = State(RUN, (), talks)
    payload = {"kind": kind, "key": "k", "data": data, "timeoutMs": 5000}
    events = request(state, Ask(ID, "n", payload, (), ADA), 1, QUIET)
    return evolve(state, events, 1), events


@pytest.mark.parametrize(("kind", "data", "value"), CASES)
def test_events_hold_no_content_and_the_state_all_of_it(
    kind: str, data: dict[str, Any], value: Any
) -> None:
    state, events = asked(kind, data)
    assert state.interrupt.payload["data"] == data
    more = resolve(state, Answer(ADA, value, "api"), 2, QUIET, schema_checks.validate)
    after = evolve(state, more, 2)
    for event in [*events, *more]:
        assert SECRET.encode() not in orjson.dumps(event.payload), event.type
    if value == {"action": "ask", "question": SECRET}:
        assert after.interrupt.questions[0].text == SECRET
    else:
        assert after.interrupt.outcome is not None
        assert SECRET in str(after.interrupt.outcome.value)


@pytest.mark.parametrize(("kind", "data", "value"), CASES)
@pytest.mark.parametrize("version", ["2.1", "2.45"])
def test_what_is_left_is_valid(kind: str, data: dict[str, Any], value: Any, version: Any) -> None:
    state, events = asked(kind, data)
    events += resolve(state, Answer(ADA, value, "api"), 2, QUIET, schema_checks.validate)
    for event in events:
        payload = dict(event.payload)
        if version == "2.1" and event.type in ("interrupt.resolved", "approval.granted",
                                               "approval.rejected", "approval.received",
                                               "clarification.resolved"):  # fmt: skip
            kept = ("nodeId", "interruptId", "kind", "resumeValue")
            payload = {name: payload[name] for name in kept if name in payload}
        registry(version)[event.type].validate_python(payload)


def test_the_lifecycle_stays_visible() -> None:
    state, events = asked(*CASES[0][:2])
    events += resolve(state, Answer(ADA, CASES[0][2], "api"), 2, QUIET, schema_checks.validate)
    by_type = {event.type: event.payload for event in events}
    assert by_type["interrupt.requested"]["timeoutMs"] == 5000
    assert by_type["interrupt.resolved"]["decision"] == "granted"
    assert by_type["interrupt.resolved"]["resumeValue"]["action"] == "accept"
