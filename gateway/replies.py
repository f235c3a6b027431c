"""What the gateway lends to mail that comes in: policy, people, and a second look at what never arrived."""

from __future__ import annotations

from typing import Final

from adapters.channel import Intake, Links
from adapters.email.inbound.app import Lent
from adapters.email.inbound.desk import Desk, Turn
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

    async def turn(interrupt_id: str, address: str) -> Turn | None:
        return await _turn(host, interrupt_id, await thread(interrupt_id), address)

    desk = Desk(intake, links, policy, same, turn, host.clock)
    return Lent(desk, host.store.documents, thread, recall)


async def _turn(host: Host, interrupt_id: str, thread: str, address: str) -> Turn | None:
    """The open turn of a conversation that was mailed to this address. Of several, on branches, nobody
    can say which one is meant."""
    before = await host.store.log.interrupt(interrupt_id)
    if before is None or not thread:
        return None
    conversation = await host.store.log.conversation(before.tenant, thread)
    run = await host.store.log.run(conversation.run_id) if conversation else None
    found = []
    for wait in run.open if run else ():
        if wait.kind != "conversation.exchange":
            continue
        interrupt = await host.store.log.interrupt(wait.interrupt_id)
        if interrupt is None or interrupt.data["conversationId"] != thread:
            continue
        for message in await host.store.deliveries.of(wait.interrupt_id):
            if (message.channel, message.address) == ("email", address) and message.shown:
                found.append(Turn(wait.interrupt_id, interrupt.requested_at))
    return found[0] if len(found) == 1 else None


def _policy(text: str) -> Policy | None:
    return next((each for each in _RANK if each == text), None)
