"""What of a question and of its answer goes into events, when the operator keeps content out of them.

The lifecycle stays visible: kinds, ids, contract, counts, times, who decided what. What the program wrote
(`requests`) and what the person said (`answers`) are left out of the event's payload and kept in its
record, which the fold reads and nobody else. So a stream, a poll and a webhook show the same, and what was
not captured is never shown later either (kortyx: telemetry, captureContent).
"""

from __future__ import annotations

from typing import Any, Final

from host.decisions.contracts import input_request

HIDDEN: Final = "(not captured)"
_KEPT: Final = ("kind", "key", "timeoutMs")
_LIFECYCLE: Final = ("action", "decidedBy", "decidedAt")
_TEXTS: Final = {
    "approval": ("title",),
    "conversation.exchange": ("prompt",),
}
_DROPPED: Final = {
    "approval": ("description", "artifactData"),
    "conversation.start": ("title", "initialPrompt"),
    "conversation.exchange": ("outcomeSchema",),
    "low-confidence": ("decision",),
    "custom": ("payload",),
}


def told(payload: dict[str, Any]) -> dict[str, Any]:
    """An interrupt payload without what the program wrote. Valid where the whole one is."""
    kind, data = payload["kind"], payload["data"]
    kept: dict[str, Any] = {name: payload[name] for name in _KEPT if name in payload}
    shown = {name: value for name, value in data.items() if name not in _DROPPED.get(kind, ())}
    for name in _TEXTS.get(kind, ()):
        shown[name] = HIDDEN
    if kind == "clarification":
        shown["questions"] = [{"id": q["id"], "question": HIDDEN} for q in data["questions"]]
    asked = input_request(payload)
    if asked is not None:
        shown["payload"] = structure_of(asked)
    return {**kept, "data": shown}


def structure_of(asked: dict[str, Any]) -> dict[str, Any]:
    """A request for input without its content."""
    names = ("kind", "multiple", "contract", "schemaId", "schemaVersion")
    found = {name: asked[name] for name in names if name in asked}
    return {**found, "optionCount": len(asked["options"])}


def heard(value: Any) -> dict[str, Any] | None:
    """An answer without what was said: the action of an approval and when it was taken, else None."""
    if not isinstance(value, dict) or "action" not in value:
        return None
    return {name: value[name] for name in _LIFECYCLE if name in value}


def unsaid(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload of `interrupt.resolved` without what was said. What its schema requires of an action
    stays, empty."""
    value = heard(payload.get("resumeValue"))
    dropped = ("resumeValue", "refineFeedback", "editedArtifactData")
    kept = {name: given for name, given in payload.items() if name not in dropped}
    if value is not None:
        kept["resumeValue"] = value
    if kept.get("action") == "refine":
        kept["refineFeedback"] = {"scope": "whole"}
    if kept.get("action") == "edit-accept":
        kept["editedArtifactData"] = None
    return kept
