"""What the fake Slack says of its messages and views, in payloads and in answers."""

from __future__ import annotations

import copy
from typing import Any, Protocol

from tests.fakes.slack_state import Message, SlackError, View, stored


class Space(Protocol):
    """What they need to know of a workspace."""

    team: str
    bot_id: str
    app_id: str


def message_of(space: Space, message: Message) -> dict[str, Any]:
    """A message as payloads and answers carry it."""
    found = {
        "type": "message",
        "user": message.user,
        "bot_id": space.bot_id,
        "app_id": space.app_id,
        "team": space.team,
        "ts": message.ts,
        "text": message.text,
        "blocks": stored(message.blocks),
    }
    return found | ({"thread_ts": message.thread_ts} if message.thread_ts else {})


def view_of(space: Space, view: View) -> dict[str, Any]:
    """A view as payloads and answers carry it."""
    return {
        "id": view.id,
        "team_id": space.team,
        "private_metadata": "",
        "callback_id": "",
        **stored(view.view),
        "state": {"values": {}},
        "hash": view.hash,
        "clear_on_close": False,
        "notify_on_close": False,
        "root_view_id": view.id,
        "previous_view_id": None,
        "app_id": space.app_id,
        "app_installed_team_id": space.team,
        "external_id": "",
        "bot_id": space.bot_id,
    }


def metadata_of(given: Any) -> dict[str, Any]:
    """What may be kept with a message: a type and flat values."""
    if given in (None, {}):
        return {}
    right = isinstance(given, dict) and given.keys() == {"event_type", "event_payload"}
    if not right or not isinstance(given["event_type"], str):
        raise SlackError("invalid_metadata_format")
    payload = given["event_payload"]
    if not isinstance(payload, dict) or any(isinstance(v, dict | list) for v in payload.values()):
        raise SlackError("invalid_metadata_schema")
    return copy.deepcopy(given)
