"""Checks of `sayso slack doctor` inside a workspace: channels, user groups, and the test card."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from adapters.slack import render
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.origin import split_address
from adapters.slack.outbound import canonical_address
from adapters.views import Card, Fact
from config.settings import Settings
from gateway.doctor.finding import Finding, fail, ok, warn

_PAGES: Final = 20
_USER: Final = re.compile(r"@([UW][A-Z0-9]{2,20})\Z")

ADVICE: Final = {
    "account_inactive": "Install the app again: it was removed, or its bot was deactivated.",
    "invalid_auth": "Set SLACK_BOT_TOKEN to the bot token of the app (OAuth & Permissions).",
    "missing_scope": "Make the app's scopes equal to `sayso slack manifest`, then install it again.",
    "not_allowed_token_type": "Set SLACK_BOT_TOKEN to the bot token, which begins with xoxb-.",
    "token_expired": "Install the app again, or set SLACK_CLIENT_ID and SLACK_CLIENT_SECRET.",
    "token_revoked": "Install the app again: its token was revoked.",
    "channel_not_found": "Correct the name; if the channel is private, invite the bot: /invite @Sayso",
    "not_in_channel": "Invite the bot: /invite @Sayso",
    "is_archived": "Choose another channel, or unarchive it.",
}


async def channels(client: SlackClient, addresses: Sequence[str]) -> AsyncIterator[Finding]:
    """Each address that requests go to without naming one: it is there, and the bot may post."""
    for address in addresses:
        _, within = split_address(address)
        try:
            yield await _channel(client, address, canonical_address(within))
        except ValueError as error:
            yield fail("channel", str(error), "Correct SAYSO_NOTIFY.")
        except SlackFailed as failure:
            yield fail("channel", f"{address}: {failure.error or failure.reason}", _do(failure))


async def _channel(client: SlackClient, address: str, within: str) -> Finding:
    direct = _USER.match(within)
    if direct:
        user = (await client.look("users.info", {"user": direct[1]})).get("user") or {}
        if user.get("deleted"):
            return fail("channel", f"{address} was deactivated", "Ask somebody else.")
        return ok("channel", f"{address} is {str(user.get('name', 'a person'))[:80]}")
    channel = await _id_of(client, within) if within.startswith("#") else within
    if not channel:
        return fail("channel", f"{address} is not to be seen", ADVICE["channel_not_found"])
    found = (await client.look("conversations.info", {"channel": channel})).get("channel") or {}
    if found.get("is_archived"):
        return fail("channel", f"{address} is archived", ADVICE["is_archived"])
    if not found.get("is_member") and not within.startswith("D"):
        return fail("channel", f"the bot is not in {address}", ADVICE["not_in_channel"])
    if found.get("is_ext_shared"):
        return warn(
            "channel",
            f"{address} is shared with another organisation, which reads all that is asked there",
            "Ask in a channel of your own, unless that is meant.",
        )
    return ok("channel", f"{address} is there, and the bot is in it")


async def _id_of(client: SlackClient, name: str) -> str:
    arguments: dict[str, Any] = {"types": "public_channel,private_channel", "limit": 1000}
    for _ in range(_PAGES):
        page = await client.look("conversations.list", arguments)
        for one in page.get("channels") or ():
            if f"#{one.get('name')}" == name:
                return str(one["id"])
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            break
        arguments["cursor"] = cursor
    return ""


async def groups(client: SlackClient, settings: Settings) -> AsyncIterator[Finding]:
    """User groups can be read, and those of the configuration are there."""
    named = sorted({one for group in settings.groups.values() for one in group.slack})
    try:
        found = (await client.look("usergroups.list", {})).get("usergroups") or []
    except SlackFailed as failure:
        if failure.error == "plan_upgrade_required" and not named:
            yield ok("user groups", "this plan of Slack has none")
            return
        told = fail if named else warn
        yield told(
            "user groups",
            f"can't be read: {failure.error or failure.reason}",
            "Requests that name a Slack group are refused. " + _do(failure),
        )
        return
    there = {str(g.get("id")) for g in found} | {f"@{g.get('handle')}" for g in found}
    missing = [one for one in named if split_address(one)[1] not in there]
    if missing:
        yield fail("user groups", f"there is no {', '.join(missing)}", "Correct [groups].")
    else:
        yield ok("user groups", f"{len(found)} can be read")


async def test_card(client: SlackClient, address: str) -> AsyncIterator[Finding]:
    """One card in a channel, as an answered request looks."""
    card = Card(
        interrupt_id="test/slack-doctor",
        kind="approval",
        state="resolved",
        version=1,
        title="A test of the Slack connection",
        body="Posted by `sayso slack doctor`. Nothing was asked, and you can delete it.",
        facts=(Fact("Asked by", "sayso slack doctor"),),
        outcome="It works: requests will look like this one.",
    )
    try:
        within = canonical_address(split_address(address)[1])
        direct = _USER.match(within)
        place = await client.direct(direct[1]) if direct else within
        await client.post(place, render.card(card))
    except ValueError as error:
        yield fail("test card", str(error), "Correct --post.")
    except SlackFailed as failure:
        yield fail("test card", f"{address}: {failure.error or failure.reason}", _do(failure))
    else:
        yield ok("test card", f"stands in {address}; look at it there")


def _do(failure: SlackFailed) -> str:
    return ADVICE.get(
        failure.error, "See https://docs.slack.dev for this error, or check the network."
    )
