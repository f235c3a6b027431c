"""Votes on an approval: actions, quorum, veto, majority, override.

Interrupt specification, section 'Approval' (OpenWOP: actions, quorum, disposition):

  quorum        granted when the distinct eligible approvals reach `requiredApprovals` (default 1)
  single-veto   the first eligible reject decides (the default)
  majority      decided when rejects > requiredApprovals / 2
  override      with `overrideBypassesQuorum`, a configured override principal's accept opens alone;
                otherwise it counts once like any other
  refine        ends the gate at once and is never an approval
  edit-accept   one approval; the deciding vote's value is what the run gets
  ask           never ends it and never counts

A principal has one standing vote; a later one replaces it, and both are in the log. A vote that does not
decide emits no `interrupt.resolved`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from host.decisions.capture import HIDDEN
from host.decisions.eligibility import check_eligible
from host.decisions.ending import resolved_events
from host.decisions.state import Interrupt, NewEvent, Outcome, Policy, Principal
from schemas.errors import Refusal
from schemas.payloads import problems
from schemas.resume import ApprovalResume

APPROVING = frozenset({"accept", "edit-accept"})


@dataclass(frozen=True, slots=True)
class Tally:
    """The standing votes against what is required. `decision` is empty while nothing is decided."""

    approvals: int
    rejects: int
    required: int
    decision: Literal["", "granted", "rejected"] = ""


def tally(data: dict[str, Any], standing: dict[str, str]) -> Tally:
    """Count `standing` ({principal: action}) by the rules of `data`. Pure arithmetic."""
    required: int = data.get("requiredApprovals") or 1
    approvals = sum(1 for action in standing.values() if action in APPROVING)
    rejects = sum(1 for action in standing.values() if action == "reject")
    vetoed = rejects * 2 > required if data.get("rejectionPolicy") == "majority" else rejects > 0
    if vetoed:
        return Tally(approvals, rejects, required, "rejected")
    if approvals >= required:
        return Tally(approvals, rejects, required, "granted")
    return Tally(approvals, rejects, required)


def modern(value: dict[str, Any], offered: list[str]) -> dict[str, Any]:
    """What a version 1 client means by `decision`: approved is accept; rejected with words is refine
    where that is offered, else reject (OpenWOP: approval actions)."""
    decision, words = value.get("decision"), value.get("feedback")
    if "action" in value or decision not in ("approved", "rejected"):
        return value
    if decision == "approved":
        return {**value, "action": "accept"}
    if words and "refine" in offered:
        return {**value, "action": "refine", "refineFeedback": {"scope": "whole", "text": words}}
    return {**value, "action": "reject"}


def read_action(interrupt: Interrupt, value: Any) -> ApprovalResume:
    """The checked resume value. Raises `Refusal` (`validation_error`)."""
    offered: list[str] = interrupt.data["actions"]
    if not isinstance(value, dict):
        raise Refusal("validation_error", "An approval is answered by an object with an 'action'.")
    value = modern(value, offered)
    if value.get("action") not in offered:
        raise Refusal(
            "validation_error",
            f"This request can be answered by {', '.join(offered)}.",
            errors=[{"path": ["action"], "message": f"must be one of {', '.join(offered)}"}],
        )
    try:
        return ApprovalResume.model_validate(value)
    except ValidationError as error:
        # A member that is missing is named as Python names it; all of them are ours.
        found = [
            {**one, "path": [to_camel(p) if isinstance(p, str) else p for p in one["path"]]}
            for one in problems(error)
        ]
        raise Refusal(
            "validation_error", f"The answer is not complete: {found[0]['message']}.", errors=found
        ) from None


def vote(
    interrupt: Interrupt, principal: Principal, value: Any, via: str, now: int, policy: Policy
) -> list[NewEvent]:
    """The events of one vote, deciding or not. Raises `Refusal`: `forbidden` or `validation_error`."""
    eligible = check_eligible(interrupt, principal, policy)
    resume = read_action(interrupt, value)
    value = modern(value, interrupt.data["actions"])
    who: dict[str, Any] = {
        "interruptId": interrupt.interrupt_id,
        "by": principal.id,
        "name": principal.name or principal.id,
        "via": via,
        "eligible": eligible.because,
    }
    if resume.action == "ask":
        return [_question(interrupt, value, who, captured=policy.capture_answers)]
    outcome = Outcome(
        value=value, action=resume.action, by=principal.id, name=who["name"], via=via, at=now
    )
    events: list[NewEvent] = []
    data = interrupt.data
    own = principal.names | {principal.id}
    others = {v.principal: v.action for v in interrupt.votes if not v.is_of(own)}
    standing = others | {principal.id: resume.action}
    counted = tally(data, standing)
    if counted.required > 1 or interrupt.votes:
        payload = {"nodeId": interrupt.node_id, "interruptId": interrupt.interrupt_id}
        payload |= {"action": resume.action}
        spelled = sorted(principal.names - {principal.id})
        record = who | ({"names": spelled} if spelled else {})
        events.append(NewEvent("sayso.vote-recorded", payload, interrupt.node_id, record))
    decision = _decision(data, principal, resume.action, counted)
    if decision:
        by_votes = decision == "rejected" and counted.required > 1
        reason = "quorum-reject" if by_votes and counted.rejects > 1 else ""
        events += resolved_events(
            interrupt,
            outcome,
            decision=decision,
            reason=reason,
            eligible=eligible.because,
            aliases=policy.aliases,
            captured=policy.capture_answers,
        )
    return events


def _decision(data: dict[str, Any], principal: Principal, action: str, counted: Tally) -> str:
    if action == "refine":
        return "refined"
    if counted.decision:
        return counted.decision
    bypasses = data.get("overrideBypassesQuorum") is True and principal.override
    return "overridden" if bypasses and action in APPROVING else ""


def _question(
    interrupt: Interrupt, value: dict[str, Any], who: dict[str, Any], *, captured: bool
) -> NewEvent:
    given = value.get("question", value.get("feedback", ""))
    text = given if isinstance(given, str) else ""
    payload = {
        "nodeId": interrupt.node_id,
        "interruptId": interrupt.interrupt_id,
        "text": text if captured else HIDDEN,
    }
    record = who if captured else {**who, "text": text}
    return NewEvent("sayso.question-asked", payload, interrupt.node_id, record)
