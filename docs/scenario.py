"""The example of all pictures: an agent wants to refund 4,000 €, and somebody in finance decides.

Everything is decided by the real rules (`host/decisions`) at fixed moments, so the pictures are the same
each time they are drawn.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from adapters.cards import card_of
from adapters.views import Card
from host import contracts
from host.decisions.evolve import evolve
from host.decisions.request import Ask, request, start_run
from host.decisions.resolve import Answer, resolve
from host.decisions.state import Policy, Principal, Run, State
from schemas.payloads import check_payload
from schemas.runs import EXTERNAL_WORKFLOW

ASKED = datetime(2026, 9, 11, 12, 4, tzinfo=UTC)
DECIDED = datetime(2026, 9, 11, 12, 31, tzinfo=UTC)
ADDRESS = "ada@example.com"
NAMES = {"billing-agent": "billing-agent", "ada": "Ada Lindqvist"}

_POLICY = Policy()
_AGENT = Principal("billing-agent", "main", name="billing-agent", kind="workload")
_ADA = Principal("ada", "main", name="Ada Lindqvist", groups=frozenset({"finance"}))

_REFUND = {
    "kind": "approval",
    "key": "refund-4711",
    "timeoutMs": 4 * 3600 * 1000,
    "data": {
        "artifactId": "4711",
        "artifactType": "order",
        "title": "Refund 4,000.00\N{NO-BREAK SPACE}€ to Acme Ltd",
        "description": "The customer sent the milling machine back within the return period, and the "
        "warehouse has confirmed that it arrived complete.",
        "artifactData": {"order": "4711", "amount": "4000.00", "currency": "EUR"},
        "approverGroupRefs": ["finance"],
        "actions": ["accept", "refine", "reject"],
    },
}
_QUESTIONS = {
    "kind": "clarification",
    "key": "refund-4711-details",
    "data": {
        "questions": [
            {
                "id": "way",
                "question": "How should the refund be paid?",
                "schema": {"enum": ["Bank transfer", "Credit card", "Credit note"]},
            },
            {
                "id": "on",
                "question": "When should it be paid?",
                "schema": {"type": "string", "format": "date"},
            },
            {
                "id": "note",
                "question": "What should the customer read about it?",
                "schema": {"type": "string", "maxLength": 500},
            },
        ]
    },
}


def refund() -> Card:
    """The approval, just asked."""
    return card_of(_asked(_REFUND).interrupt, NAMES)


def refunded() -> Card:
    """The same approval, granted."""
    state, now = _asked(_REFUND), _ms(DECIDED)
    answer = Answer(_ADA, {"action": "accept"}, "slack")
    events = resolve(state, answer, now, _POLICY, contracts.validate)
    return card_of(evolve(state, events, now).interrupt, NAMES)


def questions() -> Card:
    """Three questions about the refund."""
    return card_of(_asked(_QUESTIONS).interrupt, NAMES)


def _asked(payload: dict[str, Any]) -> State:
    now = _ms(ASKED)
    run = Run("main/01K4W7Q8R2M5", EXTERNAL_WORKFLOW, created_at=now)
    state = evolve(State(run), start_run(run, None), now)
    wire = check_payload(payload).wire()
    ask = Ask("main/01K4W7Q8X9T3B6", "refund", wire, ("slack:#finance",), _AGENT, None)
    return evolve(state, request(state, ask, now, _POLICY), now)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
