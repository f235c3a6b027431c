"""The payloads that Slack sends, member by member."""

from __future__ import annotations

import secrets
import time
from typing import Any

from tests.fakes.slack_echo import message_of, view_of
from tests.fakes.slack_methods import Workspace
from tests.fakes.slack_state import Message, View


def _who(space: Workspace, user: str, team: str) -> dict[str, Any]:
    name = space.users.get(user, {}).get("name", "stranger")
    return {"id": user, "username": name, "name": name, "team_id": team or space.team}


def interactive(space: Workspace, kind: str, user: str, team: str) -> dict[str, Any]:
    """The members that all interactions have."""
    return {
        "type": kind,
        "user": _who(space, user, team),
        "api_app_id": space.app_id,
        "token": "legacy",
        "team": {"id": space.team, "domain": "example"},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def block_actions(
    space: Workspace,
    message: Message,
    element: dict[str, Any],
    block_id: str,
    *,
    user: str,
    team: str,
    trigger_id: str,
    response_url: str,
    action_ts: str,
) -> dict[str, Any]:
    """A click on a button of a message."""
    thread: dict[str, Any] = {"thread_ts": message.thread_ts} if message.thread_ts else {}
    action: dict[str, Any] = {
        "type": "button",
        "action_id": element["action_id"],
        "block_id": block_id,
        "text": element["text"],
        "action_ts": action_ts,
        **{name: element[name] for name in ("value", "style") if name in element},
    }
    return {
        **interactive(space, "block_actions", user, team),
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": False,
            **thread,
        },
        "trigger_id": trigger_id,
        "channel": {"id": message.channel, "name": "ops"},
        "message": message_of(space, message),
        "state": {"values": {}},
        "response_url": response_url,
        "actions": [action],
    }


def view_submission(
    space: Workspace, view: View, state: dict[str, Any], *, user: str, team: str
) -> dict[str, Any]:
    """A modal that was sent."""
    return {
        **interactive(space, "view_submission", user, team),
        "trigger_id": space.trigger(user),
        "view": {**view_of(space, view), "state": {"values": state}},
        "response_urls": [],
    }


def block_suggestion(
    space: Workspace, view: View, block: dict[str, Any], typed: str
) -> dict[str, Any]:
    """What was typed so far into an external menu of a modal."""
    return {
        **interactive(space, "block_suggestion", view.user, ""),
        "action_id": block["element"]["action_id"],
        "block_id": block["block_id"],
        "value": typed,
        "container": {"type": "view", "view_id": view.id},
        "view": view_of(space, view),
    }


def view_closed(space: Workspace, view: View, *, user: str) -> dict[str, Any]:
    """A modal that was closed without sending."""
    body = interactive(space, "view_closed", user, "")
    return {**body, "view": view_of(space, view), "is_cleared": True}


def event_callback(space: Workspace, event: dict[str, Any]) -> dict[str, Any]:
    """The envelope of an event."""
    return {
        "token": "legacy",
        "team_id": space.team,
        "api_app_id": space.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(time.time()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": space.team,
                "user_id": space.bot_user,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
        "event_context": "4-x",
    }


def message_event(
    space: Workspace, channel: str, ts: str, text: str, *, user: str, thread_ts: str = ""
) -> dict[str, Any]:
    """A message that a person wrote."""
    thread = {"thread_ts": thread_ts, "parent_user_id": space.bot_user} if thread_ts else {}
    return {
        "type": "message",
        "client_msg_id": secrets.token_hex(8),
        "channel": channel,
        "channel_type": "im" if channel.startswith("D") else "channel",
        "user": user,
        "text": text,
        "ts": ts,
        "event_ts": ts,
        "team": space.team,
        "blocks": [],
        **thread,
    }


def written(space: Workspace, message: Message) -> dict[str, Any]:
    """A person's message inside another event."""
    found = {
        "type": "message",
        "user": message.user,
        "team": space.team,
        "ts": message.ts,
        "text": message.text,
        "blocks": [],
    }
    return found | ({"thread_ts": message.thread_ts} if message.thread_ts else {})


def message_changed(
    space: Workspace, message: Message, before: dict[str, Any], after: dict[str, Any] | None
) -> dict[str, Any]:
    """A message was edited, or deleted (`after` is None)."""
    ts = space.clock.ts()
    what = {"deleted_ts": message.ts} if after is None else {"message": after}
    return {
        "type": "message",
        "subtype": "message_deleted" if after is None else "message_changed",
        "hidden": True,
        "channel": message.channel,
        "channel_type": "im" if message.channel.startswith("D") else "channel",
        "ts": ts,
        "event_ts": ts,
        "previous_message": before,
        **what,
    }
