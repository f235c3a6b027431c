"""Delivery reports and complaints: an address that can't be reached must not keep a run waiting.

A bounce counts only at the bounce address of the very mail that it is about (VERP): anybody can write a
report, few know that address. It shows on the interrupt, and the question moves on as it does from any other
address that is dead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from adapters.channel import Visitor
from adapters.email.inbound.desk import Became
from adapters.email.inbound.ledger import Ledger
from adapters.email.inbound.machines import Bounce, Complaint, Machine
from host.notes import Note

log = structlog.get_logger(__name__)

GONE_FOR: Final = 90
"""Days that nothing is sent to an address that does not exist. Mailboxes come back."""

Recall = Callable[[str, str], Awaitable[None]]
"""(interrupt id, address): what was sent there never arrived, look at it again."""


class Reports:
    """Takes what machines say about mails of ours."""

    def __init__(self, ledger: Ledger, recall: Recall) -> None:
        self._ledger = ledger
        self._recall = recall

    async def take(self, visitor: Visitor, machine: Machine) -> Became:
        """What became of it. Raises `StoreUnavailable`."""
        address = visitor.person.id
        if isinstance(machine, Complaint) and machine.kind == "not-spam":
            return "automatic"  # RFC 6430: the opposite of a complaint
        if isinstance(machine, Complaint):
            note = Note("email", f"{address} reported our mail as {machine.kind}")
            await self._ledger.note(visitor.interrupt_id, note, f"complaint\0{address}")
            await self._ledger.suppress(address, f"complained ({machine.kind})", None)
            await self._lost(visitor, "the recipient complained")
            return "complained"
        if not isinstance(machine, Bounce):
            return "automatic"
        if not machine.failed:
            return "automatic"
        reason = f"could not be delivered to {address}: {machine.says}"
        await self._ledger.note(visitor.interrupt_id, Note("email", reason), f"bounce\0{address}")
        if machine.gone:
            await self._ledger.suppress(address, f"bounced: {machine.says}", GONE_FOR)
        await self._lost(visitor, f"bounced: {machine.says}")
        return "bounced"

    async def _lost(self, visitor: Visitor, why: str) -> None:
        await self._ledger.undelivered(visitor.interrupt_id, visitor.person.id, why)
        await self._recall(visitor.interrupt_id, visitor.person.id)
