"""What people say in the threads of sessions: who they are, whether they may, and what it is to the session.

Whoever may answer a request that names nobody may speak: the session's own interrupts still ask their
approvers. A message that the channel delivers again is the same turn, and counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import structlog

from adapters.cards import card_of
from adapters.channel import Ref
from adapters.languages.catalogue import words_of
from adapters.talks import Heard, Utterance, Waits
from adapters.views import Reader, Receipt
from gateway.accounts import Accounts
from gateway.intake import spoken
from gateway.people import People
from host.decisions import session_thread
from host.decisions.eligibility import check_eligible
from host.decisions.session import WORKFLOW, Session
from host.decisions.state import Interrupt, Principal, Run
from host.host import Host
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

if TYPE_CHECKING:
    from host.branches import Branches

log = structlog.get_logger("sayso.talks")

_MOST_NAMED: Final = 5


class Talks:
    """Implements `adapters.talks.Talks`. `branches` is set when there are sessions."""

    def __init__(self, host: Host, people: People, accounts: Accounts) -> None:
        self._host = host
        self._people = people
        self._accounts = accounts
        self.branches: Branches | None = None

    async def holds(self, channel: str, thread_ref: Ref) -> bool:
        try:
            return await self._session(channel, thread_ref) is not None
        except StoreUnavailable as away:
            raise _unavailable(self._people.reader()) from away

    async def said(self, utterance: Utterance) -> Heard | None:
        reader = self._people.reader(utterance.person)
        try:
            found = await self._session(utterance.channel, utterance.thread_ref)
            if found is None:
                return None
            return await self._heard(utterance, *found, reader)
        except StoreUnavailable as away:
            raise _unavailable(reader) from away

    async def _heard(
        self, utterance: Utterance, run: Run, session: Session, reader: Reader
    ) -> Heard | None:
        if utterance.edited and not session_thread.was_heard(session, utterance.message):
            return None
        words = words_of(reader.locale)
        try:
            principal = await self._speaker(utterance, run, session)
            await self._put(utterance, run, principal)
        except Refusal as refusal:
            if refusal.code == "sayso.unavailable":
                raise
            log.info("not passed on", run=run.run_id, code=refusal.code)
            held: list[str] = refusal.details.get("interrupts", [])
            if held:
                waits = await self._waits(run, held, reader)
                receipt = Receipt(False, words("session.parked"), refusal.code)
                return Heard(receipt, waits)
            busy = utterance.edited and refusal.code == "run_state_conflict"
            said = words("session.busy") if busy else spoken(refusal, reader)
            return Heard(Receipt(False, said, refusal.code))
        return Heard(Receipt(True, words("receipt.answer")))

    async def _session(self, channel: str, thread_ref: Ref) -> tuple[Run, Session] | None:
        """The session whose thread it is, if it is one's."""
        found = await self._host.store.deliveries.find_thread(channel, thread_ref)
        run_id = session_thread.session_run(found[1]) if found is not None else None
        run = await self._host.store.log.run(run_id) if run_id is not None else None
        if found is None or run is None or run.workflow_id != WORKFLOW or run.tenant != found[0]:
            return None
        session = await self._host.sessions.of(run)
        if session is None or session.thread.partition(":")[0] != channel:
            return None
        return run, session

    async def _speaker(self, utterance: Utterance, run: Run, session: Session) -> Principal:
        """Who speaks. Raises `Refusal` (`forbidden`) for somebody who may not: a thread is judged as an
        open question of its session would be that names nobody."""
        seat = Interrupt(
            interrupt_id=run.run_id,
            run_id=run.run_id,
            node_id="",
            key="",
            kind="conversation.exchange",
            payload={"kind": "conversation.exchange", "key": "", "data": {}},
            requested_at=run.created_at,
            notify=(session.thread,),
        )
        principal = await self._accounts.of(utterance.person, seat)
        check_eligible(seat, principal, self._host.policy)
        return principal

    async def _put(self, utterance: Utterance, run: Run, principal: Principal) -> None:
        assert self.branches is not None, "there are no sessions here"
        name = utterance.dedupe if utterance.edited else utterance.message
        label = principal.name or principal.id
        author = {"channel": utterance.channel, "user": principal.id, "label": label}
        message: dict[str, Any] = {
            "id": name,
            "role": "user",
            "content": utterance.text,
            "name": label,
            "author": author,
        }
        if utterance.edited:
            await self.branches.spoken(
                run.run_id,
                utterance.dedupe,
                lambda moves: session_thread.edited(
                    moves, utterance.message, message, utterance.dedupe
                ),
            )
        else:
            await self.branches.spoken(
                run.run_id,
                utterance.dedupe,
                lambda moves: session_thread.said(moves, message, utterance.dedupe),
            )

    async def _waits(self, run: Run, held: list[str], reader: Reader) -> tuple[Waits, ...]:
        """What the session waits for, with the cards that stand in its thread."""
        session = await self._host.sessions.of(await self._host.store.log.run(run.run_id) or run)
        found = []
        for pause in session.pauses if session is not None else ():
            interrupt = await self._host.store.log.interrupt(pause.host_id)
            if session is None or interrupt is None or pause.interrupt_id not in held:
                continue
            shown = await self._host.store.deliveries.of(pause.host_id)
            here = [m.ref for m in shown if f"{m.channel}:{m.address}" == session.thread]
            ref = next((r for r in here if r and "ts" in r), None)
            found.append(Waits(card_of(interrupt, reader=reader).title, ref))
        return tuple(found[:_MOST_NAMED])


def _unavailable(reader: Reader) -> Refusal:
    return Refusal("sayso.unavailable", words_of(reader.locale)("receipt.try_again"))
