"""A verified payload -> slack-bolt, the same for both transports.

Bolt looks for ids in members of members before it asks what anything is, and raises where one has a type
that Slack never sends. `shapes` refuses most of these; what it lets through ends here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.slack.acks import Ack

MALFORMED = 400


async def dispatch(
    bolt: AsyncApp, payload: dict[str, Any], headers: Mapping[str, str], query: str = ""
) -> BoltResponse:
    """Bolt's answer; status 400 for a payload that it can't even take up."""
    try:
        # Parsed already: taken in the form in which a socket brings it. Bolt's own parser loses a command
        # whose text holds the word "payload".
        asked = AsyncBoltRequest(
            body=payload,
            query=query,
            headers=headers,  # type: ignore[arg-type]  # any mapping of names to values
            mode="socket_mode",
        )
    except (AttributeError, KeyError, TypeError):
        return BoltResponse(status=MALFORMED, body="")
    return await bolt.async_dispatch(asked)


def answer(ack: Ack) -> BoltResponse:
    """What a listener returns, as bolt takes it."""
    if ack.body is None:
        return BoltResponse(status=ack.status, body="")
    return BoltResponse(
        status=ack.status,
        body=json.dumps(ack.body),
        headers={"content-type": "application/json"},
    )
