"""A session whose thread is in a Slack channel: a gateway, the strict fake, a worker and a client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.session_worker import Worker
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_state import Message
from tests.integration.conftest import Api
from tests.integration.session_world import SECRET, Client, client_of
from tests.integration.slack_office import Start, office


@dataclass
class Thread:
    slack: FakeSlack
    api: Api
    worker: Worker
    client: Client
    channel: str = "C0OPS"

    async def root(self) -> Message:
        """The first message of the thread, once the gateway knows that it is one."""
        message = await self.slack.posted(self.channel)
        ref = {"channel": message.channel, "ts": message.ts}
        deliveries = self.api.gateway.host.store.deliveries
        while await deliveries.find_thread("slack", ref) is None:
            self.slack.server.changed.clear()
            await self.slack.server.changed.wait()  # what is posted below it comes after
        return message

    def posts(self) -> list[Message]:
        """What the program has posted in the thread, in the order of the thread."""
        own = [m for m in self.slack.messages.values() if m.user == self.slack.space.bot_user]
        return sorted((m for m in own if m.thread_ts), key=lambda m: m.ts)

    async def post(self, text: str) -> Message:
        """The first post of the thread that says so, once it's there."""

        def found() -> Message | None:
            return next((m for m in self.posts() if text in m.shown()), None)

        message: Message = await self.slack.until(found, f"{text!r} in the thread")
        return message

    async def card(self, count: int = 1) -> Message:
        """The `count`th post that asks something, once the gateway knows where it is."""

        def found() -> Message | None:
            cards = [m for m in self.posts() if "Reference" in m.shown()]
            return cards[count - 1] if len(cards) >= count else None

        message: Message = await self.slack.until(found, f"card {count} in the thread")
        store = self.api.gateway.host.store
        asked = (await store.log.interrupts("acme", None, 100, None)).interrupts
        for interrupt in asked:
            while any(m.state == "due" for m in await store.deliveries.of(interrupt.interrupt_id)):
                await asyncio.sleep(0.01)  # a condition: at most until the test's own timeout
        return message

    async def write(self, text: str, user: str = "U0ADA") -> Message:
        """Somebody writes in the thread."""
        root = await self.root()
        sent = await self.slack.reply(root.channel, root.ts, text, user=user)
        assert sent.answer.status == 200
        return self.slack.messages[(root.channel, sent.payload["event"]["ts"])]

    async def said(self) -> list[str]:
        """The conversation from the root to the head, as texts."""
        session = await self.client.look()
        return [str(m["content"]) for m in session["messages"] if m.get("content")]


@contextlib.asynccontextmanager
async def threaded(
    start: Start, worker: Worker, *, agent: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[Thread]:
    """The agent `bot` has its threads in #ops."""
    chosen = {"url": worker.url, "secret": SECRET, "thread": "slack:#ops", **(agent or {})}
    async with office(
        start,
        "http",
        substructure={"agents": {"bot": chosen}},
        egress={"allow": [worker.origin]},
        **settings,
    ) as found:
        found.slack.limits.scale = 60.0
        yield Thread(found.slack, found.api, worker, await client_of(found.api))
