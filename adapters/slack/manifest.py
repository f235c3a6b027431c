"""The app's manifest: everything that this channel uses of Slack, each with its reason. Pure.

A test compares it with what the code calls and listens to, so an app that was made from it lacks
nothing and is asked for nothing more.
"""

from __future__ import annotations

from typing import Any, Final

BOT_SCOPES: Final[dict[str, str]] = {
    "app_mentions:read": "an answer in a thread that mentions the app",
    "channels:history": "answers in the threads of public channels",
    "channels:read": "whether the app is in a channel (`sayso slack doctor`)",
    "chat:write": "posts and updates cards",
    "commands": "/sayso and the shortcuts",
    "groups:history": "answers in the threads of private channels",
    "groups:read": "whether the app is in a private channel",
    "im:history": "answers in direct messages",
    "im:write": "opens direct messages",
    "usergroups:read": "who is in a user group that a request names",
    "users:read": "names, guests, deactivated accounts, time zones and languages",
    "users:read.email": "knows somebody by their confirmed address",
}
BOT_EVENTS: Final[dict[str, str]] = {
    "app_home_opened": "the inbox on the Home tab",
    "app_mention": "an answer that mentions the app",
    "app_uninstalled": "the installation is over",
    "message.channels": "answers in threads",
    "message.groups": "answers in threads of private channels",
    "message.im": "answers in direct messages",
    "subteam_members_changed": "a user group has other members",
    "subteam_updated": "a user group has another name, or is switched off",
    "tokens_revoked": "the token is over",
    "user_change": "somebody was deactivated, or has another address",
}
_READ: Final = ("channels:read", "groups:read")
_HISTORY: Final = ("channels:history", "groups:history", "im:history")
METHODS: Final[dict[str, tuple[str, ...]]] = {
    "apps.connections.open": (),  # by the app-level token, which has connections:write
    "auth.revoke": (),
    "auth.teams.list": (),
    "auth.test": (),
    "chat.getPermalink": (),
    "chat.postEphemeral": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.update": ("chat:write",),
    "conversations.history": _HISTORY,
    "conversations.info": _READ,
    "conversations.list": _READ,
    "conversations.open": ("im:write",),
    "conversations.replies": _HISTORY,
    "oauth.v2.access": (),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "users.info": ("users:read",),
    "users.lookupByEmail": ("users:read.email", "users:read"),
    "views.open": (),
    "views.publish": (),
    "views.push": (),
    "views.update": (),
}
"""Every Web API method that is called, with the scopes that Slack asks for it."""

EVENTS_PATH: Final = "/slack/events"
REDIRECT_PATH: Final = "/slack/oauth_redirect"
COMMAND: Final = "/sayso"
INBOX_SHORTCUT: Final = "sayso.inbox"
ASK_SHORTCUT: Final = "sayso.ask"


def manifest(public_url: str, *, socket: bool, oauth: bool, name: str = "Sayso") -> dict[str, Any]:
    """The manifest, as Slack's app configuration takes it. `public_url` without a slash at its end; it
    isn't needed with `socket` alone.

    Raises `ValueError` when Slack could not reach the gateway.
    """
    if (oauth or not socket) and not public_url.startswith("https://"):
        raise ValueError(
            "Slack comes to an https address: set http.public_url, or print the manifest for Socket Mode"
        )
    events: dict[str, Any] = {"bot_events": sorted(BOT_EVENTS)}
    interactivity: dict[str, Any] = {"is_enabled": True}
    command: dict[str, Any] = {
        "command": COMMAND,
        "description": "What waits for you, and asking for an approval",
        "usage_hint": "inbox | show ID | ask …",
        "should_escape": True,
    }
    if not socket:
        events["request_url"] = interactivity["request_url"] = public_url + EVENTS_PATH
        command["url"] = public_url + EVENTS_PATH
    config: dict[str, Any] = {"scopes": {"bot": sorted(BOT_SCOPES)}}
    if oauth:
        config["redirect_urls"] = [public_url + REDIRECT_PATH]
    return {
        "display_information": {
            "name": name,
            "description": "Brings questions of running programs to the people who can answer them",
            "background_color": "#1f3a5f",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name, "always_online": True},
            "shortcuts": [
                {
                    "name": "My approvals",
                    "type": "global",
                    "callback_id": INBOX_SHORTCUT,
                    "description": "What waits for your decision",
                },
                {
                    "name": "Ask with Sayso",
                    "type": "message",
                    "callback_id": ASK_SHORTCUT,
                    "description": "Ask for an approval about this message",
                },
            ],
            "slash_commands": [command],
        },
        "oauth_config": config,
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": oauth,
            "socket_mode_enabled": socket,
            "token_rotation_enabled": oauth,
        },
    }
