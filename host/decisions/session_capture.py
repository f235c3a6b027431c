"""A session's events without what they say, when the operator keeps content out of events.

As for interrupts (`capture`): ids, kinds, places and times stay in the payload, what programs and people
wrote goes into the record, which the fold reads. The session itself needs it, and shows it to its owner.
"""

from __future__ import annotations

from typing import Any, Final

from host.decisions.capture import HIDDEN
from host.decisions.state import NewEvent, Policy

_DROPPED: Final = (
    "payload", "asked", "result", "detail", "state", "agent", "metadata", "usage", "cost",
)  # fmt: skip
_HIDDEN: Final = ("reason", "error")
_EMPTIED: Final = ("owner", "answer", "rest", "data")
_OUTLINE: Final = {"message": ("id", "role"), "trigger": ("type", "id", "interrupt_id")}


def session_event(kind: str, said: dict[str, Any], policy: Policy) -> NewEvent:
    """An event of a session, captured or not."""
    if policy.capture_requests and policy.capture_answers:
        return NewEvent(kind, said)
    return NewEvent(kind, outline(kind, said), None, {"whole": said})


def whole(payload: dict[str, Any], record: dict[str, Any] | None) -> dict[str, Any]:
    """What the fold reads of an event."""
    found: dict[str, Any] = (record or {}).get("whole", payload)
    return found


def outline(kind: str, said: dict[str, Any]) -> dict[str, Any]:
    """The payload without content. Valid where the whole one is."""
    found: dict[str, Any] = {}
    for name, value in said.items():
        if name in _OUTLINE and isinstance(value, dict):
            found[name] = {n: value[n] for n in _OUTLINE[name] if n in value}
        elif name in _EMPTIED:
            if kind != "sayso.turn-ended":
                found[name] = {}
        elif name in _HIDDEN:
            found[name] = HIDDEN
        elif name not in _DROPPED:
            found[name] = value
    return found
