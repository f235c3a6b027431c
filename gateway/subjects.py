"""What a message shows: an interrupt as it is now, or a post of a session's thread.

The pump claims messages by their ids and knows nothing else of them; here the id becomes a card, and the
thread that the card goes to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adapters.cards import card_of, thread_of
from adapters.channel import NotYet
from adapters.session_cards import placed, post_of, thread_of_session
from adapters.views import Card, Person, Reader, Thread
from gateway.people import People
from host.decisions.session import WORKFLOW, Session
from host.decisions.session_thread import before, session_run
from host.decisions.state import Interrupt
from host.host import Host
from host.store.port import Message

_PATIENCE: Final = 0.5  # seconds until a post looks again whether the one before it is there
_LONGEST: Final = 60.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be shown. `interrupt` is None for a post; `version` is what the message then shows."""

    card: Card
    version: int
    thread: Thread | None = None
    interrupt: Interrupt | None = None


class Subjects:
    """Of one host. `people` say how whoever reads is spoken to, and what people are called."""

    def __init__(self, host: Host, people: People) -> None:
        self._host = host
        self._people = people

    async def of(self, message: Message, interrupt: Interrupt | None) -> Subject | None:
        """What this message shows now; None when there is nothing to show (any more).

        Raises `NotYet` for a post whose predecessor in the thread is not posted yet.
        """
        reader = self._people.reader(Person(message.channel, message.address))
        run_id = session_run(message.thread)
        session = await self._session(run_id) if run_id is not None else None
        if session is not None and run_id is not None and self._is_its_place(message, session):
            await self._in_turn(message, session)
            thread = thread_of_session(session, run_id, reader)
            if interrupt is None:
                return await self._post(message, session, thread, reader)
            return Subject(await self.card(interrupt, reader), interrupt.version, thread, interrupt)
        if interrupt is None:
            return None
        turn = await self._turn(message, interrupt, reader)
        return Subject(await self.card(interrupt, reader), interrupt.version, turn, interrupt)

    async def card(self, interrupt: Interrupt, reader: Reader, link: str = "") -> Card:
        """An interrupt's card; a session's says which branch it parks."""
        card = card_of(interrupt, self._people.names(), link, reader)
        if interrupt.status != "open" or "/s-" not in interrupt.run_id:
            return card  # no session: their runs have names of their own (`host.sessions`)
        session = await self._session(interrupt.run_id)
        return placed(card, session, interrupt.interrupt_id) if session is not None else card

    async def _session(self, run_id: str) -> Session | None:
        run = await self._host.store.log.run(run_id)
        if run is None or run.workflow_id != WORKFLOW:
            return None
        return await self._host.sessions.of(run)

    def _is_its_place(self, message: Message, session: Session) -> bool:
        """A question that moved on to a fallback address is no part of the thread."""
        return f"{message.channel}:{message.address}" == session.thread

    async def _in_turn(self, message: Message, session: Session) -> None:
        """A thread is a log: each post waits for the one before it, unless that one is dead."""
        found = before(session, message.interrupt_id)
        if message.shown > 0 or found is None or not found[1]:
            return
        for status in await self._host.store.deliveries.of(found[1]):
            here = (status.channel, status.address) == (message.channel, message.address)
            if here and status.state == "due" and status.shown == 0:
                wait = min(_PATIENCE * 2**status.attempts, _LONGEST)
                raise NotYet("waits for the post before it in the thread", wait)

    async def _post(
        self, message: Message, session: Session, thread: Thread, reader: Reader
    ) -> Subject | None:
        found = before(session, message.interrupt_id)
        if found is None:
            return None
        told, titles = found[0], {}
        for name in (*told.left, *told.waits):
            interrupt = await self._host.store.log.interrupt(name)
            if interrupt is not None:
                titles[name] = card_of(interrupt, reader=reader).title
        return Subject(post_of(session, told, titles, reader), 1, thread)

    async def _turn(self, message: Message, interrupt: Interrupt, reader: Reader) -> Thread | None:
        if not message.thread:
            return None
        log = self._host.store.log
        conversation = await log.conversation(interrupt.tenant, message.thread)
        return thread_of(interrupt, conversation.title if conversation else "", reader)
