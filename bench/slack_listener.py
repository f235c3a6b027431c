"""slack-bolt's own empty listener, for comparison: verifies, acknowledges, and does nothing else.

    python bench/slack_listener.py API_URL SECRET

Prints its port. `bench/slack.py` starts it.
"""

from __future__ import annotations

import asyncio
import re
import sys

from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient


async def acknowledge(ack: AsyncAck) -> None:
    """All that it does."""
    await ack()


async def serving() -> web.Application:
    """The application, as `AsyncApp` makes it. Made inside the loop."""
    client = AsyncWebClient(token="xoxb-bench", base_url=sys.argv[1])
    client.proxy = None
    bolt = AsyncApp(client=client, signing_secret=sys.argv[2])
    bolt.action(re.compile(".*"))(acknowledge)
    app: web.Application = bolt.web_app(path="/slack/events")
    return app


async def main() -> None:
    """Serve until it's killed."""
    runner = web.AppRunner(await serving(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
