"""A whole gateway and the strict fake Slack: what a person does in Slack, down to the store and back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from schemas.ids import path_segment
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_state import Message
from tests.integration.conftest import Api, approval

Start = Callable[..., Awaitable[Api]]

PEOPLE = (
    {"id": "ada", "name": "Ada", "slack": ["T0TEAM/U0ADA"], "groups": ["payments"]},
    {"id": "bob", "name": "Bob", "slack": ["T0TEAM/U0BOB"]},
)
ALL = ["accept", "reject", "refine", "edit-accept", "ask"]


@dataclass
class Office:
    slack: FakeSlack
    api: Api
    run: str

    async def ask(self, payload: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Ask something, in #ops unless `notify` says otherwise."""
        more.setdefault("notify", ["slack:#ops"])
        return await self.api.ask(self.run, payload, node=payload["key"], **more)

    async def approval(self, key: str = "k", *, notify: Any = ("slack:#ops",), **data: Any) -> str:
        """Ask for an approval; its interrupt id."""
        found = await self.ask(approval(key, **data), notify=list(notify))
        return str(found["interruptId"])

    async def record(self, interrupt_id: str) -> dict[str, Any]:
        """What the gateway says of a request."""
        path = f"/host/sayso/interrupts/{path_segment(interrupt_id)}"
        status, body, _ = await self.api.call("GET", path)
        assert status == 200, body
        return dict(body)

    async def card(self, channel: str = "C0OPS", count: int = 1) -> Message:
        """The message of a request, once the gateway knows where it is."""
        message = await self.slack.posted(channel, count)
        host = self.api.gateway.host
        key = f"{message.channel}/{message.ts}"
        while await host.store.documents.get("slack.card", key, host.clock()) is None:
            await asyncio.sleep(0.01)  # a condition: at most until the test's own timeout
        return message

    async def settled(self, interrupt_id: str) -> None:
        """Until all messages of a request are shown, and that stands in the store."""
        deliveries = self.api.gateway.host.store.deliveries
        while any(m.state == "due" for m in await deliveries.of(interrupt_id)):
            await asyncio.sleep(0.01)

    async def shown(self, message: Message, text: str) -> Message:
        """The message, once it says so."""
        await self.slack.until(lambda: text in message.shown(), f"{text!r} in {message.shown()}")
        return message


@contextlib.asynccontextmanager
async def office(start: Start, transport: str, **settings: Any) -> AsyncIterator[Office]:
    """Reached over "http" or over a "socket"."""
    async with FakeSlack() as slack:
        slack.space.users["U0ADA"] |= {"tz": "Europe/Berlin", "locale": "en-GB"}
        own = {
            "bot_token": slack.bot_token,
            "signing_secret": slack.signing_secret,
            "api_url": slack.api_url,
            "pace": 1000.0,
        }
        if transport == "socket":
            own["app_token"] = slack.app_token
        chosen = {"people": PEOPLE, **settings}
        chosen["slack"] = {**own, **settings.get("slack", {})}
        api = await start(**chosen)
        if transport == "http":
            slack.target = api.gateway.url
        yield Office(slack, api, await api.run())
