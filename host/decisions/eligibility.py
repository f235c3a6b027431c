"""Who may answer: approver lists, groups and roles, and what an empty list means.

Interrupt specification, section 'Approver enforcement'. With several fields set
the eligible set is their union. Membership was resolved just before and is part of the principal; what
is decided here is recorded with the vote and never looked up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from host.decisions.state import Interrupt, Policy, Principal
from schemas.errors import Refusal


@dataclass(frozen=True, slots=True)
class Eligible:
    """Why somebody may answer: `principal`, `group:<ref>`, `role:<ref>` or `open`. Goes to the log."""

    because: str


def listed(data: dict[str, Any], policy: Policy) -> tuple[list[str], list[str], list[str]]:
    """The principals, groups and roles that are enforced. A kind of reference that this host does not
    advertise is ignored, as the specification asks."""
    people = data.get("approversList") or []
    groups = (data.get("approverGroupRefs") or []) if "group" in policy.ref_kinds else []
    roles = (data.get("approverRoleRefs") or []) if "role" in policy.ref_kinds else []
    return people, groups, roles


def is_listed_gate(data: dict[str, Any], policy: Policy) -> bool:
    """Whether the request names who may answer it."""
    return any(listed(data, policy))


def check_eligible(interrupt: Interrupt, principal: Principal, policy: Policy) -> Eligible:
    """Why this principal may answer. Raises `Refusal` (`forbidden`) when they may not."""
    check_not_requester(interrupt, principal, policy)
    if not policy.enforce_lists:
        return Eligible("relaxed")
    people, groups, roles = listed(interrupt.data, policy)
    if not (people or groups or roles):
        if principal.known or principal.asked:
            return Eligible("open")
        if policy.open_gates == "anyone" and not principal.outsider:
            return Eligible("open")
        if policy.open_gates == "anyone":
            raise Refusal(
                "forbidden",
                "Guests and people of other organisations answer only what they are asked by name. Ask "
                "somebody of the organisation, or its operator to add you.",
            )
        raise Refusal(
            "forbidden",
            "This gateway answers only to people it knows, and you are not in its directory yet. "
            "Ask its operator to add you.",
        )
    for name in people:
        if name in principal.names or name == principal.id:
            return Eligible("principal")
    for ref in groups:
        if ref in principal.groups:
            return Eligible(f"group:{ref}")
    for ref in roles:
        if ref in principal.roles:
            return Eligible(f"role:{ref}")
    raise Refusal("forbidden", who_may(interrupt, policy))


def who_may(
    interrupt: Interrupt, policy: Policy, called: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The refusal of somebody who is in no list, which says who is. `called` holds what principals and
    groups are called, as far as they are called otherwise than by their references."""
    people, groups, roles = listed(interrupt.data, policy)
    names = [called.get(p, p) for p in people]
    names += [called.get(g, f"group {g}") for g in groups]
    return f"Only {_who([*names, *(f'role {r}' for r in roles)])} may answer this."


def check_not_requester(interrupt: Interrupt, principal: Principal, policy: Policy) -> None:
    """Who asked may not decide, where the operator or the request says so: neither can lift what the other
    forbids. Raises `Refusal` (`forbidden`)."""
    allowed = policy.self_approval and interrupt.self_approval is not False
    if allowed or interrupt.kind not in ("approval", "low-confidence"):
        return
    if interrupt.requested_by and interrupt.requested_by in principal.names | {principal.id}:
        raise Refusal("forbidden", "You asked for this, so somebody else has to decide it.")


def _who(names: list[str]) -> str:
    shown = names[:5]
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]
