"""A Slack channel on a recording intake and the strict fake, for the tests of each way."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from adapters.channel import Delivery, Response
from adapters.slack.app import SlackChannel
from adapters.slack.pace import Limits, Rate
from adapters.slack.settings import SlackSettings
from adapters.views import Action, Card, Choice, Fact, Field, Form, Person, Receipt, Thread
from schemas.errors import Refusal
from tests.fakes.slack import FakeSlack

APPROVAL = Card(
    interrupt_id="int_0123456789abcdef",
    kind="approval",
    state="open",
    version=3,
    title="Deploy <api> to prod?",
    body="Release 1.4 & its migration",
    facts=(Fact("Asked by", "ada"),),
    evidence='{"image": "api:1.4"}',
    actions=(
        Action("accept", "Approve", "primary"),
        Action("refine", "Ask for changes", needs="refinement"),
        Action("reject", "Reject", "danger", needs="reason"),
    ),
    link="https://sayso.example/a/x",
    reference="89abcdef",
)
REASON = Form("Reject", (Field("f0", ("feedback",), "Why?", "longtext", required=True),))
QUESTIONS = Form(
    "Two questions",
    (
        Field(
            "f0",
            ("answers", "region"),
            "Region",
            "choice",
            required=True,
            choices=(Choice("eu-west-1", "Ireland"), Choice("eu-central-1", "Frankfurt")),
        ),
        Field("f1", ("answers", "count"), "How many?", "integer", required=True, minimum=1),
    ),
)
CLARIFICATION = replace(
    APPROVAL,
    kind="clarification",
    title="Two questions",
    actions=(Action("answer", "Answer", "primary", needs="answers"),),
    form=QUESTIONS,
)
TURN = replace(
    APPROVAL,
    interrupt_id="int_turn_1",
    kind="conversation.exchange",
    title="Which one?",
    actions=(),
)


@dataclass
class StubIntake:
    """Records what the channel says, and answers what the test wants."""

    cards: dict[str, Card] = field(default_factory=dict)
    forms: dict[str, Form] = field(default_factory=lambda: {"reject": REASON, "answer": QUESTIONS})
    turns: dict[str, str] = field(default_factory=dict)
    receipts: list[Receipt | Exception] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)
    away: bool = False
    why_not: str = ""  # what somebody is told who asks for a form and may not answer

    kept: dict[str, Receipt] = field(default_factory=dict)

    async def answer(self, response: Response) -> Receipt:
        """Idempotent by the act's key, as the contract of `Intake` has it: what counted once is told
        again and counts no more."""
        if response.dedupe in self.kept:
            return self.kept[response.dedupe]
        self.answers.append(response)
        receipt = self.receipts.pop(0) if self.receipts else Receipt(True, "Recorded")
        if isinstance(receipt, Exception):
            raise receipt
        if receipt.ok:
            self.kept[response.dedupe] = receipt
        return receipt

    async def look(self, interrupt_id: str, person: Person) -> Card | None:
        if self.away:
            raise Refusal("sayso.unavailable", "The store is away; try again.")
        return self.cards.get(interrupt_id)

    async def barred(self, interrupt_id: str, person: Person) -> str:
        return self.why_not

    async def turn(self, channel: str, thread_ref: dict[str, Any]) -> str | None:
        assert channel == "slack"
        assert thread_ref.keys() == {"channel", "ts"}
        return self.turns.get(thread_ref["ts"])

    async def counted(self, channel: str, dedupe: str) -> bool:
        return channel == "slack" and dedupe in self.kept

    def form(self, card: Card, action: str) -> Form | None:
        return self.forms.get(action)

    async def event(self, source: str, event: Any) -> str:
        raise AssertionError("Slack files no events")


class Seen:
    """Dedupe in memory."""

    def __init__(self) -> None:
        self.keys: set[str] = set()

    async def __call__(self, key: str, ttl: float) -> bool:
        assert ttl > 0
        new = key not in self.keys
        self.keys.add(key)
        return new


@dataclass
class World:
    slack: FakeSlack
    intake: StubIntake
    channel: SlackChannel

    async def show(self, card: Card, **more: Any) -> Any:
        self.intake.cards[card.interrupt_id] = card
        delivery = Delivery(address=more.pop("address", "#ops"), card=card, **more)
        return await self.channel.show(delivery)


UNHURRIED = Limits(Rate(1000.0, 100), Rate(1000.0, 100), Rate(1000.0, 100), 0, 0.0)
"""For tests of what is shown and not of when."""

THREAD = Thread("conv-1", "About the release", prompt="Which one?")


@contextlib.asynccontextmanager
async def slack_world(
    transport: str, monkeypatch: pytest.MonkeyPatch, limits: Limits = UNHURRIED
) -> AsyncIterator[World]:
    """A started channel, reached over "http" or over a "socket"."""
    # A proxy that is set on the machine must not stand between: the channel has to see to that.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with FakeSlack() as slack:
        settings = SlackSettings(
            bot_token=slack.bot_token,
            signing_secrets=("the-old-one", slack.signing_secret),
            app_token=slack.app_token if transport == "socket" else "",
            api_url=slack.api_url,
            socket_check=0.05,
            limits=limits,
        )
        intake = StubIntake()
        channel = SlackChannel(settings, intake, Seen())
        runner = await serve(channel)
        await channel.start()
        if transport == "http":
            slack.target = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield World(slack, intake, channel)
        finally:
            await channel.stop()
            await runner.cleanup()


async def serve(channel: SlackChannel) -> web.AppRunner:
    app = web.Application()
    app.add_routes(channel.routes())
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner
