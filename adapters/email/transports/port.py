"""What every way out of the house offers: hand over one mail for one recipient."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from adapters.email.message import Envelope, serialise
from adapters.email.render import Mail

MARK: Final = "sayso"
"""The name under which a provider keeps a mail's mark (`Envelope.mark`), and reports it."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One mail to one recipient. `serialised` is the whole of it as SMTP takes it, for those that
    take it so; it raises `ValueError` for a header that can't be written."""

    mail: Mail
    envelope: Envelope
    date: datetime

    def serialised(self) -> bytes:
        """The message, CRLF line ends."""
        return serialise(self.mail, self.envelope, self.date)


class Transport(Protocol):
    """A mail server or a provider."""

    async def send(self, outgoing: Outgoing) -> str:
        """Hand it over. Returns the Message-ID that the recipient gets, which some replace.

        Raises `DeliveryFailed`, permanent where trying again can't help; `NotYet` where the
        provider says when to. When it fails half-way nobody knows, and the next try may send it
        twice, with the same Message-ID where that is kept.
        """

    async def close(self) -> None:
        """Let go of all connections."""
