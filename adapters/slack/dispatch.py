"""What came -> slack-bolt, and its answer; behind the verification the same for both transports.

Bolt looks for ids in members of members before it asks what anything is, and raises where one has a type
that Slack never sends. `shapes` refuses most of these; what it lets through ends here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.slack.acks import Ack
from adapters.slack.verify import MAX_BODY, SlackRequestRefused, Verifier

MALFORMED: Final = 400
_BODY_PATIENCE: Final = 10.0  # seconds


async def read(request: web.Request, verifier: Verifier) -> bytes:
    """The raw body, bounded by our own limit whatever the application's is. Raises
    `SlackRequestRefused`."""
    if (request.content_length or 0) > MAX_BODY:
        raise verifier.refuse_size()
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_PATIENCE):
            async for chunk in request.content.iter_chunked(64 * 1024):
                body += chunk
                if len(body) > MAX_BODY:
                    raise verifier.refuse_size()
    except TimeoutError:
        raise SlackRequestRefused(400, "body too slow") from None
    return bytes(body)


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
