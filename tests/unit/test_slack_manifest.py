"""The app's manifest is what the code uses: no scope, event or name too few, and none too many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import adapters.slack
from adapters.slack import manifest as m
from adapters.slack.app import PATH
from adapters.slack.install import REDIRECT

SOURCE = Path(adapters.slack.__file__).parent
FAMILIES = "apps|auth|chat|conversations|files|oauth|reactions|team|usergroups|users|views"
# What Slack can tell an app of; the ones that we don't use would be noise, or a secret too many.
KNOWN_EVENTS = {
    "app_home_opened", "app_mention", "app_uninstalled", "channel_archive", "channel_deleted",
    "channel_id_changed", "channel_rename", "channel_unarchive", "group_archive", "group_deleted",
    "link_shared", "member_joined_channel", "member_left_channel", "reaction_added",
    "subteam_created", "subteam_members_changed", "subteam_updated", "team_access_granted",
    "team_access_revoked", "team_join", "tokens_revoked", "user_change",
}  # fmt: skip
BY_EVENT = {
    "app_mention": {"app_mentions:read"},
    "message.channels": {"channels:history"},
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "subteam_members_changed": {"usergroups:read"},
    "subteam_updated": {"usergroups:read"},
    "user_change": {"users:read"},
}


def sources() -> str:
    doctor = SOURCE.parents[1] / "gateway" / "doctor"
    files = [*SOURCE.glob("*.py"), *doctor.glob("slack*.py")]
    return "\n".join(f.read_text() for f in files if f.name != "manifest.py")


def test_each_method_that_is_called_is_listed_and_no_other() -> None:
    text = sources()
    named = set(re.findall(rf'"((?:{FAMILIES})\.[a-zA-Z.]+)"', text))
    by_sdk = {"auth_revoke", "auth_test", "apps_connections_open", "oauth_v2_access"}
    called = set(re.findall(rf"\.((?:{FAMILIES})_\w+)\(", text))
    assert called == by_sdk
    assert named | {name.replace("_", ".") for name in by_sdk} == m.METHODS.keys()


def test_the_scopes_are_those_of_the_methods_and_events() -> None:
    used = {scope for scopes in m.METHODS.values() for scope in scopes}
    used |= {scope for event in m.BOT_EVENTS for scope in BY_EVENT.get(event, set())}
    assert used | {"commands"} == m.BOT_SCOPES.keys()


def test_each_event_that_is_listened_to_is_subscribed_and_no_other() -> None:
    quoted = set(re.findall(r'"(\w+)"', sources()))
    subscribed = {event.partition(".")[0] for event in m.BOT_EVENTS}
    assert subscribed <= quoted
    assert KNOWN_EVENTS & quoted == subscribed - {"message"}


def test_the_paths_and_names_are_those_that_are_served() -> None:
    assert (m.EVENTS_PATH, m.REDIRECT_PATH) == (PATH, REDIRECT)
    made = m.manifest("https://sayso.example", socket=False, oauth=True)
    found = {s["type"]: s["callback_id"] for s in made["features"]["shortcuts"]}
    assert found == {"global": m.INBOX_SHORTCUT, "message": m.ASK_SHORTCUT}
    assert made["features"]["slash_commands"][0]["command"] == m.COMMAND
    assert made["features"]["app_home"]["home_tab_enabled"]
    urls = {
        made["settings"]["event_subscriptions"]["request_url"],
        made["settings"]["interactivity"]["request_url"],
        made["features"]["slash_commands"][0]["url"],
    }
    assert urls == {"https://sayso.example/slack/events"}
    assert made["oauth_config"]["redirect_urls"] == ["https://sayso.example/slack/oauth_redirect"]


def test_over_a_socket_nothing_has_an_address() -> None:
    made = m.manifest("", socket=True, oauth=False)
    assert "http" not in str(made)
    assert made["settings"]["socket_mode_enabled"]
    assert not made["settings"]["token_rotation_enabled"]


@pytest.mark.parametrize("url", ["", "http://sayso.example"])
@pytest.mark.parametrize(
    "more", [{"socket": False, "oauth": False}, {"socket": True, "oauth": True}]
)
def test_slack_comes_only_to_https(url: str, more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="https"):
        m.manifest(url, **more)


def test_slacks_own_limits_are_kept() -> None:
    made = m.manifest("https://sayso.example", socket=False, oauth=True)
    assert len(made["display_information"]["description"]) <= 140
    for shortcut in made["features"]["shortcuts"]:
        assert len(shortcut["name"]) <= 24
        assert len(shortcut["description"]) <= 150
    (command,) = made["features"]["slash_commands"]
    assert len(command["command"]) <= 32
    assert len(command["description"]) <= 2000
    assert len(command["usage_hint"]) <= 1000
