"""The two doors of the answer page, in memory: one link, one card, every answer kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.channel import InboundEvent, Ref, Response, Visitor
from adapters.views import Action, Card, Choice, Field, Form, Person, Receipt
from schemas.errors import Refusal

HANDLE = "h" * 43
ADA = Person("web", "principal:ada", "Ada")

APPROVAL = Card(
    interrupt_id="intr-1",
    kind="approval",
    state="open",
    version=3,
    title="Refund 4411",
    actions=(
        Action("accept", "Approve", "primary"),
        Action("reject", "Reject", "danger", "reason"),
        Action("ask", "Ask", needs="question"),
    ),
    reference="A1B2C3D4",
)
CLARIFICATION = Card(
    interrupt_id="intr-1",
    kind="clarification",
    state="open",
    version=1,
    title="Which shipping?",
    actions=(Action("answer", "Send answers", "primary", "answers"),),
    form=Form(
        "Which shipping?",
        (
            Field("f0", ("answers", "q1"), "Street", "text", required=True),
            Field("f1", ("answers", "q2"), "How many", "integer", required=True),
        ),
        submit="Send answers",
    ),
)
PICKED = Card(
    interrupt_id="intr-1",
    kind="custom",
    state="open",
    version=1,
    title="Whose orders?",
    actions=(Action("answer", "Send answer", "primary", "answers"),),
    form=Form(
        "Whose orders?",
        (
            Field("f0", ("to",), "Customers", "list", required=True, picker="customers"),
            Field("f1", ("why",), "Why?", "text"),
        ),
        submit="Send answer",
    ),
)
CUSTOMERS = ("Ada Byron", "Adastra", "Bob & Sons", "Carla")
FORMS = {
    "reject": Form("Reject", (Field("f0", ("feedback",), "Why?", "longtext"),), submit="Reject"),
    "ask": Form("Ask", (Field("f0", ("question",), "Your question", "longtext", required=True),)),
}


@dataclass
class StubIntake:
    """Decides as the host would for one approver, remembering each dedupe key."""

    card: Card | None = APPROVAL
    answers: list[Response] = field(default_factory=list)
    looks: int = 0
    refuse: Callable[[Response], Receipt | None] = lambda _: None
    away: bool = False
    searches: list[str] = field(default_factory=list)
    held: Callable[[str], Awaitable[None]] | None = None

    async def options(
        self, interrupt_id: str, person: Person, action: str, field_id: str, query: str
    ) -> tuple[Choice, ...]:
        """Whose names hold the query. `held` may keep a search waiting."""
        self.searches.append(query)
        if self.held is not None:
            await self.held(query)
        found = [name for name in CUSTOMERS if query.lower() in name.lower()]
        return tuple(Choice(name, name) for name in found)

    async def answer(self, response: Response) -> Receipt:
        if self.away:
            raise Refusal("sayso.unavailable", "The store is away.")
        refused = self.refuse(response)
        if refused is not None:
            return refused
        if any(one.dedupe == response.dedupe for one in self.answers):
            return Receipt(True, "Recorded.", card=self.card)
        assert self.card is not None
        if self.card.state != "open":
            return Receipt(False, "Already answered.", "interrupt_already_resolved", card=self.card)
        self.answers.append(response)
        if response.action != "ask":
            said = {"accept": "Approved", "reject": "Rejected"}.get(response.action, "Answered")
            self.card = replace(
                self.card, state="resolved", version=9, outcome=f"{said} by Ada", actions=()
            )
        return Receipt(True, "Recorded.", card=self.card)

    async def look(self, interrupt_id: str, person: Person) -> Card | None:
        self.looks += 1
        return self.card

    async def counted(self, channel: str, dedupe: str) -> bool:
        return False

    async def turn(self, channel: str, thread_ref: Ref) -> str | None:
        return None

    def form(self, card: Card, action: str) -> Form | None:
        return card.form if action == "answer" else FORMS.get(action)

    async def event(self, source: str, event: InboundEvent) -> str:
        raise AssertionError("the page files no events")


@dataclass
class StubLinks:
    """One good handle."""

    visitor: Visitor = field(default_factory=lambda: Visitor("intr-1", ADA, HANDLE))
    refusal: Refusal | None = None
    opened: list[Any] = field(default_factory=list)

    async def open(self, handle: str) -> Visitor | None:
        self.opened.append(handle)
        if self.refusal is not None:
            raise self.refusal
        return self.visitor if handle == self.visitor.handle else None
