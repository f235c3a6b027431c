"""The rules, as tables: votes, eligibility, order of checks, endings, conversations."""

from __future__ import annotations

from typing import Any

import pytest

from host import contracts
from host.decisions import request as asking
from host.decisions.approval import tally
from host.decisions.ending import cancelled_events, expired_events
from host.decisions.evolve import evolve
from host.decisions.resolve import Answer, resolve
from host.decisions.state import NewEvent, Policy, Principal, Run, State
from schemas.errors import Refusal

NOW = 1_789_128_000_000
POLICY = Policy()


def person(name: str, **more: Any) -> Principal:
    return Principal(id=name, tenant="acme", name=name.title(), names=frozenset({name}), **more)


ADA, BOB, CY = person("ada"), person("bob"), person("cy")


def started() -> State:
    run = Run("acme/run-000000000000001", "sayso.external")
    return evolve(State(run), asking.start_run(run, None), NOW)


def asked(
    data: dict[str, Any], kind: str = "approval", state: State | None = None, **payload: Any
) -> State:
    state = state or started()
    full = {"kind": kind, "key": f"k{len(state.interrupts)}", "data": data, **payload}
    ask = asking.Ask(f"acme/int-00000000000000{len(state.interrupts)}", "gate", full, (), ADA)
    return evolve(state, asking.request(state, ask, NOW, POLICY), NOW)


def approval(**more: Any) -> dict[str, Any]:
    actions = more.pop("actions", ["accept", "reject", "refine", "edit-accept", "ask"])
    return {
        "artifactId": "a1",
        "artifactType": "refund",
        "title": "Refund",
        "actions": actions,
        **more,
    }


def answer(
    state: State,
    who: Principal,
    value: Any,
    at: int = NOW + 1,
    policy: Policy = POLICY,
    **more: Any,
) -> tuple[State, list[NewEvent]]:
    events = resolve(state, Answer(who, value, "test", **more), at, policy, contracts.validate)
    return evolve(state, events, at), events


def types(events: list[NewEvent]) -> list[str]:
    return [e.type for e in events]


@pytest.mark.parametrize(
    ("required", "policy", "standing", "decision"),
    [
        (1, None, ["accept"], "granted"),
        (1, None, ["edit-accept"], "granted"),
        (1, None, ["reject"], "rejected"),
        (2, None, ["accept"], ""),
        (2, None, ["accept", "accept"], "granted"),
        (2, None, ["accept", "edit-accept"], "granted"),
        (2, None, ["accept", "reject"], "rejected"),
        (3, "single-veto", ["accept", "accept", "reject"], "rejected"),
        (1, "majority", ["reject"], "rejected"),
        (2, "majority", ["reject"], ""),
        (2, "majority", ["reject", "reject"], "rejected"),
        (3, "majority", ["reject"], ""),
        (3, "majority", ["reject", "reject"], "rejected"),
        (3, "majority", ["accept", "accept", "reject"], ""),
        (3, "majority", ["accept", "accept", "accept", "reject"], "granted"),
        (4, "majority", ["reject", "reject"], ""),
        (4, "majority", ["reject", "reject", "reject"], "rejected"),
        (5, "majority", ["reject"] * 2, ""),
        (5, "majority", ["reject"] * 3, "rejected"),
    ],
)
def test_tally(required: int, policy: str | None, standing: list[str], decision: str) -> None:
    data = {"requiredApprovals": required} | ({"rejectionPolicy": policy} if policy else {})
    votes = {f"p{i}": action for i, action in enumerate(standing)}
    assert tally(data, votes).decision == decision


def test_one_accept_resolves_and_resumes() -> None:
    state, events = answer(asked(approval()), ADA, {"action": "accept", "extra": 1})
    assert types(events) == ["interrupt.resolved", "approval.granted", "node.resumed"]
    assert state.interrupt.status == "resolved"
    value = state.interrupt.outcome.value  # type: ignore[union-attr]
    assert value == {
        "action": "accept",
        "extra": 1,
        "decidedBy": "ada",
        "decidedAt": "2026-09-11T12:00:00.001Z",
    }
    assert state.run.status == "running"
    assert state.run.open == ()


def test_a_vote_that_does_not_decide_emits_no_resolved() -> None:
    state, events = answer(asked(approval(requiredApprovals=2)), ADA, {"action": "accept"})
    assert types(events) == ["sayso.vote-recorded"]
    assert state.interrupt.status == "open"
    assert state.run.status == "waiting-approval"


def test_the_same_principal_counts_once_and_both_votes_are_in_the_log() -> None:
    state, first = answer(asked(approval(requiredApprovals=2)), ADA, {"action": "accept"})
    state, second = answer(state, ADA, {"action": "accept"})
    assert state.interrupt.status == "open"
    assert types(first + second) == ["sayso.vote-recorded"] * 2
    state, _ = answer(state, BOB, {"action": "accept"})
    assert state.interrupt.status == "resolved"


def test_a_later_vote_replaces_the_earlier_one() -> None:
    gate = approval(requiredApprovals=3, rejectionPolicy="majority")
    state, _ = answer(asked(gate), ADA, {"action": "reject"})
    state, _ = answer(state, ADA, {"action": "accept"})
    state, _ = answer(state, BOB, {"action": "reject"})
    assert state.interrupt.status == "open"
    state, events = answer(state, CY, {"action": "reject"})
    assert state.interrupt.status == "resolved"
    resolved = next(e for e in events if e.type == "interrupt.resolved")
    assert resolved.payload["decision"] == "rejected"
    assert resolved.payload["reason"] == "quorum-reject"


def test_refine_ends_the_gate_at_once_and_is_no_approval() -> None:
    value = {"action": "refine", "refineFeedback": {"scope": "whole", "text": "shorter"}}
    state, events = answer(asked(approval(requiredApprovals=2)), ADA, value)
    assert state.interrupt.status == "resolved"
    resolved = next(e for e in events if e.type == "interrupt.resolved")
    assert resolved.payload["action"] == "refine"
    assert "decision" not in resolved.payload
    assert resolved.payload["refineFeedback"]["text"] == "shorter"


def test_ask_never_ends_it() -> None:
    state, events = answer(asked(approval()), ADA, {"action": "ask", "question": "why?"})
    assert types(events) == ["sayso.question-asked"]
    assert state.interrupt.status == "open"
    assert state.interrupt.questions[0].text == "why?"


@pytest.mark.parametrize(
    ("bypass", "status"), [(True, "resolved"), (False, "open"), (None, "open")]
)
def test_an_override_principal_opens_alone_only_where_allowed(
    bypass: bool | None, status: str
) -> None:
    gate = approval(requiredApprovals=3)
    if bypass is not None:
        gate["overrideBypassesQuorum"] = bypass
    state, events = answer(asked(gate), person("boss", override=True), {"action": "accept"})
    assert state.interrupt.status == status
    assert ("approval.overridden" in types(events)) is (status == "resolved")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("accept", "validation_error"),
        ({}, "validation_error"),
        ({"action": "timeout"}, "validation_error"),
        ({"action": "edit-accept"}, "validation_error"),
        ({"action": "refine"}, "validation_error"),
        ({"action": "refine", "refineFeedback": {"scope": "section"}}, "validation_error"),
        (
            {"action": "refine", "refineFeedback": {"scope": "items", "itemIds": []}},
            "validation_error",
        ),
        ({"action": "refine", "refineFeedback": {"scope": "all"}}, "validation_error"),
    ],
)
def test_an_incomplete_action_is_refused(value: Any, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        answer(asked(approval()), ADA, value)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("value", "offered", "action"),
    [
        ({"decision": "approved"}, ["accept"], "accept"),
        ({"decision": "rejected"}, ["accept", "reject"], "reject"),
        ({"decision": "rejected", "feedback": "no"}, ["accept", "reject", "refine"], "refine"),
        ({"decision": "rejected", "feedback": "no"}, ["accept", "reject"], "reject"),
        ({"decision": "rejected", "action": "accept"}, ["accept"], "accept"),
    ],
)
def test_what_a_version_1_client_means(
    value: dict[str, Any], offered: list[str], action: str
) -> None:
    state, _ = answer(asked(approval(actions=offered)), ADA, value)
    assert state.interrupt.outcome is not None
    assert state.interrupt.outcome.action == action


def test_an_action_outside_the_offer_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        answer(asked(approval(actions=["accept"])), ADA, {"action": "reject"})
    assert refused.value.code == "validation_error"


STRANGER = Principal(id="slack:T:U", tenant="acme", names=frozenset({"slack:T/U"}), known=False)


@pytest.mark.parametrize(
    ("lists", "who", "policy", "because"),
    [
        ({}, ADA, POLICY, "open"),
        ({"approversList": []}, ADA, POLICY, "open"),
        ({}, STRANGER, POLICY, None),
        ({}, STRANGER, Policy(open_gates="anyone"), "open"),
        ({"approversList": ["ada"]}, ADA, POLICY, "principal"),
        ({"approversList": ["slack:T/U"]}, STRANGER, POLICY, "principal"),
        ({"approversList": ["ada"]}, BOB, POLICY, None),
        ({"approversList": ["ada"]}, BOB, Policy(open_gates="anyone"), None),
        (
            {"approverGroupRefs": ["ops"]},
            person("di", groups=frozenset({"ops"})),
            POLICY,
            "group:ops",
        ),
        ({"approverGroupRefs": ["ops"]}, ADA, POLICY, None),
        ({"approverRoleRefs": ["cfo"]}, person("ed", roles=frozenset({"cfo"})), POLICY, "role:cfo"),
        (
            {"approversList": ["bob"], "approverGroupRefs": ["ops"]},
            person("di", groups=frozenset({"ops"})),
            POLICY,
            "group:ops",
        ),
        ({"approverGroupRefs": ["ops"]}, ADA, Policy(ref_kinds=frozenset({"principal"})), "open"),
        ({"audience": {"subjects": ["bob"]}}, ADA, POLICY, "open"),
    ],
)
def test_eligibility(
    lists: dict[str, Any], who: Principal, policy: Policy, because: str | None
) -> None:
    state = asked(approval(**lists))
    if because is None:
        with pytest.raises(Refusal) as refused:
            answer(state, who, {"action": "accept"}, policy=policy)
        assert refused.value.code == "forbidden"
        return
    after, events = answer(state, who, {"action": "accept"}, policy=policy)
    assert after.interrupt.status == "resolved"
    assert events[0].record["eligible"] == because  # type: ignore[index]


def test_a_requester_may_be_barred() -> None:
    with pytest.raises(Refusal, match="somebody else"):
        answer(asked(approval()), ADA, {"action": "accept"}, policy=Policy(self_approval=False))


def test_the_order_of_the_checks() -> None:
    state, _ = answer(asked(approval(approversList=["ada"])), ADA, {"action": "accept"})
    with pytest.raises(Refusal) as over:
        answer(state, BOB, "nonsense")
    assert over.value.code == "interrupt_already_resolved"
    with pytest.raises(Refusal) as not_you:
        answer(asked(approval(approversList=["ada"])), BOB, "nonsense")
    assert not_you.value.code == "forbidden"


def test_resume_schema_is_enforced_on_what_was_sent() -> None:
    schema = {"type": "object", "properties": {"action": {"const": "accept"}}}
    schema["additionalProperties"] = False
    state = asked(approval(), resumeSchema=schema)
    with pytest.raises(Refusal) as refused:
        answer(state, ADA, {"action": "reject"})
    assert refused.value.code == "validation_error"
    after, _ = answer(state, ADA, {"action": "accept"})
    assert after.interrupt.status == "resolved"


QUESTIONS = {
    "questions": [
        {"id": "n", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
        {"id": "c", "question": "Why?"},
    ]
}


@pytest.mark.parametrize(
    "value",
    [
        {"answers": {"n": 2, "c": "x"}},
        {"answers": [{"id": "n", "answer": 2}, {"id": "c", "answer": "x"}]},
        {"n": 2, "c": "x"},
    ],
)
def test_three_spellings_of_a_clarification(value: Any) -> None:
    state, events = answer(asked(QUESTIONS, "clarification"), ADA, value)
    assert types(events) == ["interrupt.resolved", "clarification.resolved", "node.resumed"]
    assert state.interrupt.outcome.value == value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"answers": {"n": 0, "c": "x"}}, ["answers", "n"]),
        ({"answers": {"n": 2}}, ["answers", "c"]),
        ({"answers": [{"answer": 2}]}, []),
        ("two", []),
    ],
)
def test_a_wrong_clarification_says_where(value: Any, path: list[str]) -> None:
    with pytest.raises(Refusal) as refused:
        answer(asked(QUESTIONS, "clarification"), ADA, value)
    assert refused.value.details["errors"][0]["path"] == path


def test_a_deadline_never_grants() -> None:
    state = asked(approval(onTimeout="approve"), timeoutMs=10)
    assert state.interrupt.deadline == NOW + 10
    with pytest.raises(Refusal) as late:
        answer(state, ADA, {"action": "accept"}, at=NOW + 10)
    assert late.value.code == "interrupt_already_resolved"
    events = expired_events(state.interrupt, NOW + 10)
    after = evolve(state, events, NOW + 10)
    assert after.interrupt.status == "expired"
    assert events[0].payload["action"] == "timeout"
    assert events[0].payload["decision"] == "rejected"
    assert events[0].payload["reason"] == "timeout"
    assert after.run.status == "running"


def test_a_deadline_of_another_kind_fails_its_node() -> None:
    state = asked(QUESTIONS, "clarification", timeoutMs=10)
    events = expired_events(state.interrupt, NOW + 10)
    assert types(events) == ["node.failed"]
    after = evolve(state, events, NOW + 10)
    assert (after.interrupt.status, after.run.open) == ("expired", ())


def test_a_timeout_of_zero_is_no_timer() -> None:
    assert asked(approval(), timeoutMs=0).interrupt.deadline is None


def test_cancelling_takes_the_question_back() -> None:
    state = asked(approval())
    after = evolve(state, cancelled_events(state.interrupt, "changed my mind", "bob", "Bob"), NOW)
    assert after.interrupt.status == "cancelled"
    assert after.run.status == "running"


def test_cancelling_a_run_takes_all_back_and_is_final() -> None:
    state = asked(approval())
    after = evolve(state, asking.cancel_run(state, "stop", ADA), NOW)
    assert after.run.status == "cancelled"
    assert after.interrupt.status == "cancelled"
    with pytest.raises(Refusal) as refused:
        asking.cancel_run(after, "", ADA)
    assert refused.value.code == "run_terminal"
    with pytest.raises(Refusal) as refused:
        asked(approval(), state=after)
    assert refused.value.code == "run_terminal"


def test_one_node_waits_once() -> None:
    with pytest.raises(Refusal) as refused:
        asked(approval(), state=asked(approval()))
    assert refused.value.code == "run_state_conflict"
    assert refused.value.details["runStatus"] == "waiting-approval"


def test_a_conversation_opens_turns_and_closes() -> None:
    state = asked({"conversationId": "c1", "title": "T"}, "conversation.start")
    assert state.interrupt.status == "resolved"
    assert state.run.status == "running"
    opened = state.conversation("c1")
    assert opened is not None
    assert opened.title == "T"
    state = asked({"conversationId": "c1", "prompt": "Which?"}, "conversation.exchange", state)
    assert state.run.status == "waiting-input"
    state, events = answer(state, ADA, "the red one")
    assert types(events) == ["interrupt.resolved", "node.resumed", "conversation.exchanged"]
    assert events[-1].payload["turnIndex"] == 1
    assert events[-1].payload["turn"]["content"] == "the red one"
    state = asked({"conversationId": "c1", "reason": "done"}, "conversation.close", state)
    closed = state.conversation("c1")
    assert closed is not None
    assert not closed.open
    for kind in ("conversation.exchange", "conversation.close"):
        with pytest.raises(Refusal, match="closed"):
            asked({"conversationId": "c1", "prompt": "more?"}, kind, state)
    with pytest.raises(Refusal, match="taken"):
        asked({"conversationId": "c1"}, "conversation.start", state)


def test_an_exchange_needs_its_start() -> None:
    with pytest.raises(Refusal, match=r"conversation\.start comes first"):
        asked({"conversationId": "c9", "prompt": "?"}, "conversation.exchange")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"orderId": "42"}, {"orderId": 42}, True),
        ({"orderId": " 42 "}, {"orderId": "42"}, True),
        ({"orderId": "A1"}, {"orderId": "a1"}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"ok": True}, {"ok": "true"}, True),
        ({"n": 1.0}, {"n": 1}, True),
        ({"n": 1.5}, {"n": "1.5"}, True),
        ({"big": 12345678901234567890}, {"big": "12345678901234567890"}, True),
    ],
)
def test_match_keys(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    keys = {asking.match_key("t", "paid", one), asking.match_key("t", "paid", other)}
    assert (len(keys) == 1) is same


def test_match_keys_keep_tenants_and_types_apart() -> None:
    keys = {asking.match_key(t, e, {"o": 1}) for t in ("a", "b") for e in ("x", "y")}
    assert len(keys) == 4
