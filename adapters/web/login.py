"""A link that has to be proven: a code goes to the address that the link was made for.

A mailed link is a secret that travels: mails are forwarded. Where the policy asks for it, the page of a
gate that names its approvers shows the question and takes an answer only from a browser in which
somebody typed the code that was mailed to the approver's own address. Who has the mail but not the
mailbox reads, and decides nothing.
"""

from __future__ import annotations

from typing import Final, Protocol

from adapters.channel import Visitor
from adapters.views import Card, Reader
from adapters.web.nonces import FormSeal

SEND: Final = "code"
ENTER: Final = "login"
ACTIONS: Final = frozenset({SEND, ENTER})
"""What the page posts besides the actions of a card."""

CODE: Final = "code"
"""The name of the field that is typed into."""


class Codes(Protocol):
    """Makes codes, mails them, and knows them again. Both raise `Refusal` (`sayso.unavailable`)."""

    async def send(self, visitor: Visitor, reader: Reader) -> bool:
        """Mail a new code to the person of this link. False: that was too often."""

    async def check(self, visitor: Visitor, code: str) -> bool:
        """Whether this is the code. It is good once, and after a few wrong ones no more."""


class Login:
    """Who has proven that a link is theirs. Holds no state: the proof is a sealed cookie."""

    def __init__(self, codes: Codes, seal: FormSeal) -> None:
        self.codes = codes
        self._seal = seal

    def wanted(self, visitor: Visitor, card: Card, proof: str, browser: str) -> bool:
        """Whether this visitor has to prove it first. `browser` is the form cookie."""
        if card.state != "open" or not card.listed or visitor.person.channel != "email":
            return False
        return not self._seal.is_proof(proof, visitor.handle, browser)

    def proof(self, visitor: Visitor, browser: str) -> str:
        """The cookie of a browser in which it was proven."""
        return self._seal.proof(visitor.handle, browser)
