"""What may leave the gateway as an event, in both protocol versions; the exported documents are current."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.resolvers import resolver
from gateway.wire import event_doc
from host.store.records import StoredEvent
from schemas.events import EventInvalid, check_event, registry
from schemas.export import FOLDER, documents, render
from schemas.subjects import Subject
from schemas.versions import VERSIONS, ProtocolVersion

RUN = "acme/0123456789abcdef"
INTERRUPT = "acme/fedcba9876543210"
VALUE = {"action": "accept", "decidedBy": "ada", "decidedAt": "2026-09-11T12:00:00.000Z"}
BASE = {"nodeId": "gate", "interruptId": INTERRUPT, "kind": "approval", "resumeValue": VALUE}
ACCEPTED = {**BASE, "action": "accept", "decision": "granted"}


def stored(
    kind: str, payload: dict[str, Any], node: str | None = "gate", **record: Any
) -> StoredEvent:
    return StoredEvent(RUN, 3, 1_789_128_000_000, kind, payload, node, record or None)


def doc(kind: str, payload: Any, **envelope: Any) -> dict[str, Any]:
    made = {
        "eventId": "0123456789abcdef.3",
        "runId": RUN,
        "type": kind,
        "payload": payload,
        "timestamp": "2026-09-11T12:00:00.000Z",
        "sequence": 3,
        "schemaVersion": 1,
        "nodeId": "gate",
        **envelope,
    }
    return {k: v for k, v in made.items() if v != "(none)"}


SUSPENDED = {"nodeId": "gate", "interruptId": INTERRUPT}
ALWAYS: list[tuple[str, Any]] = [
    ("run.completed", {"outputs": {}}),
    ("run.started", {"workflowId": "sayso.external"}),
    ("node.suspended", {**SUSPENDED, "kind": "approval", "key": "k"}),
    ("node.suspended", {**SUSPENDED, "kind": "low-confidence", "reason": "low-confidence"}),
    ("node.failed", {"nodeId": "gate", "error": {"code": "run_timeout", "message": "late"}}),
    ("agent.decided", {"agentId": "a", "decision": None, "confidence": 1}),
    ("conversation.closed", {"conversationId": "c", "turnCount": 2}),
    ("sayso.vote-recorded", {**SUSPENDED, "action": "reject"}),
]
NEVER: list[tuple[str, Any, dict[str, Any]]] = [
    ("run.completed", {}, {}),
    ("run.completed", {"outputs": None}, {}),
    ("run.completed", {"outputs": {}, "more": 1}, {}),
    ("run.failed", {"error": {"code": "x"}}, {}),
    ("run.invented", {}, {}),
    ("output.chunk", {}, {}),
    ("node.suspended", {"nodeId": "gate"}, {}),
    ("node.suspended", {**SUSPENDED, "kind": "low-confidence"}, {}),
    ("node.suspended", {**SUSPENDED, "nodeId": "other"}, {}),
    ("node.suspended", SUSPENDED, {"nodeId": "(none)"}),
    ("agent.decided", {"agentId": "a"}, {}),
    ("agent.decided", {"agentId": "a", "decision": 1, "confidence": 1.1}, {}),
    ("clarification.resolved", BASE, {}),
    ("interrupt.requested", {"kind": "approval", "key": "k", "data": {}}, {}),
    ("interrupt.resolved", {**BASE, "kind": "invented"}, {}),
    ("run.completed", {"outputs": {}}, {"sequence": -1}),
    ("run.completed", {"outputs": {}}, {"sequence": "3"}),
    ("run.completed", {"outputs": {}}, {"runId": "bare-run-id-00000"}),
    ("run.completed", {"outputs": {}}, {"eventId": "short"}),
    ("run.completed", {"outputs": {}}, {"timestamp": "yesterday"}),
    ("run.completed", {"outputs": {}}, {"nodeId": None}),
    ("run.completed", {"outputs": {}}, {"extra": 1}),
    ("run.completed", {"outputs": {}}, {"schemaVersion": 0}),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("kind", "payload"), ALWAYS)
def test_right_events(kind: str, payload: Any, version: ProtocolVersion) -> None:
    check_event(doc(kind, payload), version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("kind", "payload", "envelope"), NEVER)
def test_wrong_events(
    kind: str, payload: Any, envelope: dict[str, Any], version: ProtocolVersion
) -> None:
    with pytest.raises(EventInvalid):
        check_event(doc(kind, payload, **envelope), version)


@pytest.mark.parametrize(
    ("payload", "narrow", "wide"),
    [
        (BASE, True, False),
        (ACCEPTED, False, True),
        ({**BASE, "kind": "custom"}, True, True),
        ({**BASE, "action": "refine"}, False, False),
        ({**BASE, "action": "refine", "refineFeedback": {"scope": "whole"}}, False, True),
        ({**BASE, "action": "edit-accept"}, False, False),
        ({**BASE, "action": "edit-accept", "editedArtifactData": None}, False, True),
        ({**ACCEPTED, "reason": ""}, False, False),
        ({**ACCEPTED, "decision": "refined"}, False, False),
    ],
)
def test_the_two_widths_of_resolved(payload: Any, narrow: bool, wide: bool) -> None:
    """The models and the exported documents agree on each."""
    for version, allowed in zip(VERSIONS, (narrow, wide), strict=True):
        made = doc("interrupt.resolved", payload)
        assert exported(version).is_valid(made) is allowed
        if allowed:
            check_event(made, version)
        else:
            with pytest.raises(EventInvalid):
                check_event(made, version)


def exported(version: ProtocolVersion) -> Any:
    text = (FOLDER / f"run-events-{version}.schema.json").read_text("utf-8")
    return jsonschema_rs.validator_for(orjson.loads(text))


def test_suspended_reasons_beside_low_confidence_came_later() -> None:
    made = doc("node.suspended", {**SUSPENDED, "kind": "approval", "reason": "policy"})
    check_event(made, "2.45")
    with pytest.raises(EventInvalid):
        check_event(made, "2.1")


def test_both_versions_know_the_same_types() -> None:
    assert set(registry("2.1")) == set(registry("2.45"))


# --- rendering ----------------------------------------------------------------------------------------


def test_at_2_1_resolved_has_four_members_and_later_all() -> None:
    event = stored("interrupt.resolved", ACCEPTED, by="ada", via="slack")
    narrow = event_doc(event, "2.1")["payload"]
    assert set(narrow) == {"nodeId", "interruptId", "kind", "resumeValue"}
    wide = event_doc(event, "2.45")["payload"]
    assert wide["action"] == "accept"
    assert wide["resolvedBy"]["subjectId"] == "ada"
    assert wide["resolvedBy"]["actor"]["subjectId"] == "slack"
    check_event(event_doc(event, "2.45"), "2.45")


def test_members_of_another_action_stay_in_the_resume_value() -> None:
    odd = {**ACCEPTED, "refineFeedback": None, "editedArtifactData": 1}
    wide = event_doc(stored("interrupt.resolved", odd), "2.45")["payload"]
    assert "refineFeedback" not in wide
    assert "editedArtifactData" not in wide


@pytest.mark.parametrize(
    ("by", "via", "lane", "kind"),
    [
        ("robot", "api", "api-key", "workload"),
        ("ada", "slack", "session", "user"),
        ("ada", "token", "session", "user"),
        ("token:abc", "token", "anonymous", "anonymous"),
        ("hook:stripe", "hook:stripe", "workload", "workload"),
    ],
)
def test_who_resolved(by: str, via: str, lane: str, kind: str) -> None:
    found = resolver(stored("interrupt.resolved", {}, by=by, via=via))
    assert found is not None
    assert (found["lane"], found["kind"], found["subjectId"]) == (lane, kind, by)


def test_the_host_itself_is_no_subject() -> None:
    assert resolver(stored("interrupt.resolved", {}, by="", via="host")) is None
    assert resolver(stored("interrupt.resolved", {})) is None


@given(by=st.text(min_size=1, max_size=300), via=st.text(max_size=40))
def test_every_resolver_is_a_subject_and_no_address_is_in_it(by: str, via: str) -> None:
    found = resolver(stored("interrupt.resolved", {}, by=by, via=via))
    Subject.model_validate(found)
    assert "@" not in orjson.dumps(found).decode()


# --- what is made from the models -----------------------------------------------------------------------


def test_the_committed_schemas_are_current() -> None:
    made = {name: render(document) for name, document in documents().items()}
    committed = {p.name: p.read_text("utf-8") for p in FOLDER.glob("*.schema.json")}
    assert committed == made, "run `python -m schemas.export`"


def test_the_committed_schemas_are_schemas_without_null() -> None:
    for name, document in documents().items():
        jsonschema_rs.meta.validate(document)
        assert '"null"' not in render(document), name


def test_the_page_of_errors_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    sys.modules.pop("errors", None)
    errors = importlib.import_module("errors")
    assert errors.PAGE.read_text("utf-8") == errors.page(), "run `python docs/errors.py`"
