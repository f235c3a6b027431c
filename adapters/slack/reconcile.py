"""Was it posted? Finds a message whose post had no answer, by the metadata that it was posted with.

chat.postMessage has no idempotency key. So before a post the intent is kept with the message ("posting, in
this channel, since then"), and who finds an intent without a place looks before posting again. The look-up
takes a `history` scope and is rare: once for each crash or lost answer. Where Slack doesn't let us look
(scope missing, bot not in the channel) the message is posted again: one card may then stand there twice,
both lead to the same interrupt, and only the newer one is kept current.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from adapters.channel import NotYet, Ref
from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed

_log = logging.getLogger(__name__)

CARD: Final = "sayso_card"
ROOT: Final = "sayso_conversation"
_SKEW: Final = 300  # seconds that Slack's clock and ours may be apart
_PAGES: Final = 10
_PAGE: Final = 200


def mark(kind: str, name: str, version: int) -> dict[str, Any]:
    """Metadata of a post: opaque ids only, for everybody in the workspace can read it."""
    return {"event_type": kind, "event_payload": {"id": name, "version": version}}


def intent(kind: str, channel: str, now: float, thread: str = "") -> Ref:
    """What is kept before a post: no place, but where to look for one."""
    found: Ref = {"posting": kind, "channel": channel, "since": int(now)}
    return {**found, "thread": thread} if thread else found


def place(ref: Ref | None) -> Ref | None:
    """The ref of a message that is known to be there: not an intent."""
    return ref if ref and "ts" in ref else None


async def find(client: SlackClient, intended: Ref, name: str) -> Ref | None:
    """Where the message of this intent is, or None: not there, or Slack doesn't let us look.

    Raises `NotYet` when the look-up is rate limited, `SlackFailed` when Slack did not answer.
    """
    try:
        channel = await client.channel_ids.of(str(intended["channel"]))
        if not channel:
            return None
        return await _search(client, intended, channel, name)
    except SlackFailed as failure:
        if failure.retry_after is not None:
            raise NotYet(failure.reason, failure.retry_after) from None
        if not failure.permanent:
            raise
        _log.warning("slack: posting again, it may be there already: %s", failure.reason)
        return None


async def _search(client: SlackClient, intended: Ref, channel: str, name: str) -> Ref | None:
    thread = str(intended.get("thread", ""))
    method = "conversations.replies" if thread else "conversations.history"
    arguments: dict[str, Any] = {
        "channel": channel,
        "oldest": str(int(intended["since"]) - _SKEW),
        "limit": _PAGE,
        "include_all_metadata": True,
        **({"ts": thread} if thread else {}),
    }
    own = (await client.identity()).user_id
    for _ in range(_PAGES):
        found = await client.look(method, arguments)
        for message in found.get("messages") or []:
            if message.get("user") == own and _is(message, intended["posting"], name):
                return {"channel": channel, "ts": str(message["ts"])}
        cursor = (found.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return None
        arguments["cursor"] = cursor
    return None


def _is(message: dict[str, Any], kind: str, name: str) -> bool:
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    return bool(metadata.get("event_type") == kind and payload.get("id") == name)
