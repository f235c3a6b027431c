"""Whose turn is it? Which requests wait for somebody, and in which order they are shown. Pure.

Nothing here is remembered: a list is made from the open requests and today's eligibility, by the very
rule that decides whether an answer counts (`host.decisions.eligibility`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from host.decisions.eligibility import check_eligible
from host.decisions.state import Interrupt, Policy, Principal
from schemas.errors import Refusal

ASKS_PEOPLE: Final = frozenset(
    {"approval", "clarification", "custom", "low-confidence", "conversation.exchange"}
)
"""Kinds that a person answers. The others wait for an event, or end by themselves."""


def may_decide(interrupt: Interrupt, principal: Principal, policy: Policy) -> bool:
    """Whether an answer of this principal would count, whatever they said before."""
    if interrupt.kind not in ASKS_PEOPLE:
        return False
    try:
        check_eligible(interrupt, principal, policy)
    except Refusal:
        return False
    return True


def waits_for(interrupt: Interrupt, principal: Principal, policy: Policy, now: int) -> bool:
    """Whether this request waits for this principal: open, theirs to decide, and not voted on yet."""
    if interrupt.status != "open" or (interrupt.deadline is not None and now >= interrupt.deadline):
        return False
    if any(vote.principal == principal.id for vote in interrupt.votes):
        return False
    return may_decide(interrupt, principal, policy)


def took_part(interrupt: Interrupt, principal: Principal) -> bool:
    """Whether this principal voted on it or ended it."""
    voted = any(vote.principal == principal.id for vote in interrupt.votes)
    return voted or (interrupt.outcome is not None and interrupt.outcome.by == principal.id)


def by_urgency(interrupts: Iterable[Interrupt]) -> list[Interrupt]:
    """Those with a deadline first, the soonest on top; then the others, the oldest on top."""
    return sorted(interrupts, key=lambda i: (i.deadline is None, i.deadline or 0, i.requested_at))
