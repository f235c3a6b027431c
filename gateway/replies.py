"""What the gateway lends to mail that comes in: policy, people, and a second look at what never arrived."""

from __future__ import annotations

from typing import Final

from adapters.channel import Intake, Links
from adapters.email.inbound.app import Lent
from adapters.email.inbound.desk import Desk
from adapters.email.inbound.meaning import Policy
from adapters.views import Person
from gateway.people import People
from host.host import Host

_RANK: Final[dict[Policy, int]] = {"off": 0, "comment": 1, "decide": 2}


def lent(host: Host, people: People, intake: Intake, links: Links, most: Policy) -> Lent:
    """`most` is how far replies may go at this gateway; a request may ask for less."""

    async def policy(interrupt_id: str) -> Policy:
        interrupt = await host.store.log.interrupt(interrupt_id)
        asked = interrupt.replies if interrupt is not None else "off"
        return min(most, _policy(asked) or most, key=lambda each: _RANK[each])

    def same(person: Person, address: str) -> bool:
        return people.same(person, Person("email", address))

    async def recall(interrupt_id: str, address: str) -> None:
        await host.store.deliveries.recall(interrupt_id, "email", address, host.clock())
        host.waiters.wake("messages")

    async def thread(interrupt_id: str) -> str:
        interrupt = await host.store.log.interrupt(interrupt_id)
        if interrupt is None or not interrupt.kind.startswith("conversation."):
            return ""
        return str(interrupt.data["conversationId"])

    desk = Desk(intake, links, policy, same, host.clock)
    return Lent(desk, host.store.documents, thread, recall)


def _policy(text: str) -> Policy | None:
    return next((each for each in _RANK if each == text), None)
