"""decide: an answer to an interrupt -> events, or a refusal. The order of the checks is a rule.

resolved or over (409) -> may this principal (403) -> is the value right (400) -> votes -> events
(OpenWOP: order of checks). The store's append decides between two that were both right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host.decisions.answers import Check, check_value, correlates
from host.decisions.approval import vote
from host.decisions.capture import HIDDEN
from host.decisions.eligibility import check_eligible
from host.decisions.ending import already_resolved, resolved_events
from host.decisions.state import NewEvent, Outcome, Policy, Principal, State
from schemas.errors import Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `via` names the channel or surface that it came through.

    `matched` is true for an event that was matched by its provider's verified payload: it needs no
    eligibility and no second look at its correlation. `because` says why the rules let them in the words
    of the surface that knows, for the audit trail.
    """

    principal: Principal
    value: Any
    via: str
    matched: bool = False
    because: str = ""


def resolve(state: State, answer: Answer, now: int, policy: Policy, check: Check) -> list[NewEvent]:
    """The events of this answer. Raises `Refusal`: `interrupt_already_resolved`, `forbidden`,
    `validation_error`."""
    interrupt = state.interrupt
    if interrupt.status != "open":
        raise already_resolved(interrupt)
    if interrupt.deadline is not None and now >= interrupt.deadline:
        raise Refusal("interrupt_already_resolved", "This request is past its deadline.")
    if interrupt.kind == "approval":
        events = vote(interrupt, answer.principal, answer.value, answer.via, now, policy)
        check_value(interrupt, answer.value, check)
        return events
    eligible = "matched" if answer.matched else ""
    if not answer.matched:
        eligible = check_eligible(interrupt, answer.principal, policy).because
    eligible = answer.because or eligible
    check_value(interrupt, answer.value, check)
    if interrupt.kind == "external-event" and policy.check_correlation and not answer.matched:
        _check_correlation(state, answer)
    who = answer.principal
    outcome = Outcome(
        value=answer.value, by=who.id, name=who.name or who.id, via=answer.via, at=now
    )
    events = resolved_events(
        interrupt,
        outcome,
        eligible=eligible,
        aliases=policy.aliases,
        captured=policy.capture_answers,
    )
    if interrupt.kind == "conversation.exchange":
        said = answer.value if policy.capture_answers else HIDDEN
        events.append(_exchanged(state, said, now))
    return events


def _check_correlation(state: State, answer: Answer) -> None:
    if not correlates(state.interrupt, answer.value):
        raise Refusal(
            "validation_error", "The event does not carry the correlation that this run waits for."
        )


def _exchanged(state: State, said: Any, now: int) -> NewEvent:
    interrupt = state.interrupt
    conversation_id: str = interrupt.data["conversationId"]
    conversation = state.conversation(conversation_id)
    turns = conversation.turns if conversation else 0
    index = interrupt.data.get("turnIndex", turns + 1)
    turn = {
        "messageId": f"{conversation_id}:{index}:user"[:256],
        "from": "user",
        "content": said,
        "ts": now,
        "role": "user",
        "turnIndex": index,
    }
    payload = {"conversationId": conversation_id, "turnIndex": index, "turn": turn}
    return NewEvent("conversation.exchanged", payload, interrupt.node_id)
