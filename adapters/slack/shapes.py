"""Is this a payload at all? Pure. Asked before bolt, which takes members for granted and answers 500.

Only what is needed to say whose it is and what kind: everything else is read where it is used, and there a
wrong member becomes an answer to the person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

RATE_LIMITED: Final = "app_rate_limited"
"""Slack's notice, once a minute, that it holds events back: there is no event in it."""

_MAPS: Final = ("team", "user", "enterprise", "view", "event", "container", "channel", "message")
_TEXTS: Final = ("type", "team_id", "enterprise_id", "user_id", "callback_id", "command", "token")
_OTHERS: Final = {"url_verification", RATE_LIMITED}
_NAMED: Final = {
    "block_suggestion": "action_id",
    "shortcut": "callback_id",
    "message_action": "callback_id",
}


def flaw(payload: Any) -> str:
    """Empty, or what is wrong, in words that hold nothing of the payload."""
    if not isinstance(payload, Mapping):
        return "payload is no object"
    for name in _MAPS:
        found = payload.get(name)
        # Events and commands name some of these by id.
        if found is not None and not isinstance(found, Mapping | str):
            return f"'{name}' has a wrong type"
    for name in _TEXTS:
        if not isinstance(payload.get(name), str | None):
            return f"'{name}' has a wrong type"
    if "event" in payload and not isinstance(payload["event"], Mapping):
        return "'event' has a wrong type"
    granted = payload.get("authorizations")
    if granted is not None and not _maps(granted):
        return "'authorizations' has a wrong type"
    return _kind(payload)


def _kind(payload: Mapping[str, Any]) -> str:
    kind = payload.get("type")
    if kind == "block_actions":
        actions = payload.get("actions")
        if not actions or not _maps(actions) or not _named(actions[0], "action_id"):
            return "a click without an action"
    elif kind in ("view_submission", "view_closed"):
        view = payload.get("view")
        named = isinstance(view, Mapping) and _named(view, "callback_id") and _named(view, "type")
        if not named:
            return "a form without a view"
    elif kind == "event_callback":
        event = payload.get("event")
        if not isinstance(event, Mapping) or not _named(event, "type"):
            return "an event without its type"
    elif kind in _NAMED:
        if not _named(payload, _NAMED[kind]):
            return "a payload without its name"
    elif kind not in _OTHERS and not (kind is None and _named(payload, "command")):
        return "an unknown kind of payload"
    return _members(payload)


def _members(payload: Mapping[str, Any]) -> str:
    """An interaction names people and places as objects."""
    if payload.get("type") in ("event_callback", None):
        return ""
    for name in _MAPS:
        if isinstance(payload.get(name), str):
            return f"'{name}' has a wrong type"
    return ""


def _maps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _named(value: Mapping[str, Any], member: str) -> bool:
    return isinstance(value.get(member), str)
