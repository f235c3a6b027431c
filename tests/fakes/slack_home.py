"""The Home tab, the command and the shortcuts of the fake Slack: what a person does there.

home = await slack_home.open_home(slack, "U0ADA")
await slack_home.press(slack, home, "Review")
answer = await slack_home.command(slack, "inbox", user="U0ADA")
"""

from __future__ import annotations

import html
from typing import Any

from tests.fakes import slack_payloads as payloads
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_echo import message_of, view_of
from tests.fakes.slack_state import Message, View
from tests.fakes.slack_transport import Answer


async def open_home(slack: FakeSlack, user: str = "U0ADA", *, shown: int = 1) -> View:
    """Open the app's Home tab; the tab once it was published `shown` times (at least)."""
    event: dict[str, Any] = {
        "type": "app_home_opened",
        "user": user,
        "channel": "D0HOME",
        "tab": "home",
        "event_ts": slack.space.clock.ts(),
    }
    known = slack.space.home.get(user)
    if known is not None:
        event["view"] = view_of(slack.space, known)
    sent = await slack.emit(event)
    assert sent.answer.status == 200
    return await published(slack, user, (known.edits if known else 0) + shown)


async def published(slack: FakeSlack, user: str, times: int) -> View:
    """The Home tab of somebody, once it was published so often."""

    def found() -> View | None:
        view = slack.space.home.get(user)
        return view if view is not None and view.edits >= times else None

    view: View = await slack.until(found, f"the Home tab of {user}, published {times} times")
    return view


async def press(
    slack: FakeSlack, view: View, label: str, *, user: str = "", number: int = 1
) -> Answer:
    """Press the `number`th button of this label in a view."""
    for block in view.view["blocks"]:
        elements = [
            *block.get("elements", []),
            *([block["accessory"]] if "accessory" in block else []),
        ]
        for element in elements:
            if element.get("type") == "button" and element["text"]["text"] == label:
                number -= 1
                if number == 0:
                    return await _pressed(slack, view, block, element, user or view.user)
    raise AssertionError(f"the view has no button {label!r}: {view.shown()}")


async def _pressed(
    slack: FakeSlack, view: View, block: dict[str, Any], element: dict[str, Any], user: str
) -> Answer:
    action: dict[str, Any] = {
        "type": "button",
        "action_id": element["action_id"],
        "block_id": block.get("block_id", "auto"),
        "text": element["text"],
        "action_ts": slack.space.clock.ts(),
        **{name: element[name] for name in ("value", "style") if name in element},
    }
    body = payloads.interactive(slack.space, "block_actions", user, "")
    payload = {
        **body,
        "container": {"type": "view", "view_id": view.id},
        "trigger_id": slack.space.trigger(user),
        "view": view_of(slack.space, view),
        "actions": [action],
    }
    return await slack.send("interactive", payload)


async def command(
    slack: FakeSlack, text: str, *, user: str = "U0ADA", team: str = "", trigger: str = ""
) -> Answer:
    """Type `/sayso text`; the answer is checked as Slack checks a message."""
    members = {
        "token": "legacy",
        "team_id": team or slack.space.team,
        "team_domain": "example",
        "channel_id": "C0OPS",
        "channel_name": "ops",
        "user_id": user,
        "user_name": slack.space.users.get(user, {}).get("name", "stranger"),
        "command": "/sayso",
        "text": html.escape(text, quote=False),
        "api_app_id": slack.space.app_id,
        "is_enterprise_install": "false",
        "response_url": slack.server.response_url(user),
        "trigger_id": trigger or slack.space.trigger(user),
    }
    answer = await slack.send("slash_commands", members)
    if isinstance(answer.body, dict):
        assert answer.body.get("response_type") == "ephemeral"
        slack.space.check_content(answer.body, 40_000)
    return answer


async def shortcut(slack: FakeSlack, callback_id: str, *, user: str = "U0ADA") -> Answer:
    """A global shortcut."""
    body = payloads.interactive(slack.space, "shortcut", user, "")
    payload = {
        **body,
        "callback_id": callback_id,
        "trigger_id": slack.space.trigger(user),
        "action_ts": slack.space.clock.ts(),
    }
    return await slack.send("interactive", payload)


async def message_shortcut(
    slack: FakeSlack, callback_id: str, message: Message, *, user: str = "U0ADA"
) -> Answer:
    """A shortcut of a message."""
    body = payloads.interactive(slack.space, "message_action", user, "")
    payload = {
        **body,
        "callback_id": callback_id,
        "trigger_id": slack.space.trigger(user),
        "action_ts": slack.space.clock.ts(),
        "message_ts": message.ts,
        "message": message_of(slack.space, message),
        "channel": {"id": message.channel, "name": "ops"},
        "response_url": slack.server.response_url(user),
    }
    return await slack.send("interactive", payload)


async def edit(slack: FakeSlack, message: Message, text: str) -> Answer:
    """Its author edits a message."""
    before = message_of(slack.space, message) | {"user": message.user}
    for name in ("bot_id", "app_id"):
        before.pop(name)
    message.text = text
    now = slack.space.clock.ts()
    after = {**before, "text": text, "edited": {"user": message.user, "ts": now}}
    event = _hidden("message_changed", message, now) | {
        "message": after,
        "previous_message": before,
    }
    return (await slack.emit(event)).answer


async def delete(slack: FakeSlack, message: Message) -> Answer:
    """Its author deletes a message."""
    before = message_of(slack.space, message) | {"user": message.user}
    for name in ("bot_id", "app_id"):
        before.pop(name)
    del slack.messages[(message.channel, message.ts)]
    now = slack.space.clock.ts()
    event = _hidden("message_deleted", message, now) | {
        "deleted_ts": message.ts,
        "previous_message": before,
    }
    return (await slack.emit(event)).answer


def _hidden(subtype: str, message: Message, now: str) -> dict[str, Any]:
    return {
        "type": "message",
        "subtype": subtype,
        "hidden": True,
        "channel": message.channel,
        "channel_type": "channel",
        "ts": now,
        "event_ts": now,
    }
