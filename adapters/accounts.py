"""What a channel itself knows of the accounts in it, asked at the moment of a decision.

A directory that the operator writes names the people it knows. Beside it a channel may vouch: for the
address of an account, for whether it is a guest's, and for who is in a group of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol

Standing = Literal["member", "guest", "outsider", "gone"]
"""A full member; somebody let in for some rooms; somebody of another organisation, or nobody knows; an
account that was deactivated."""


@dataclass(frozen=True, slots=True)
class Account:
    """One account as the channel knows it. `email` is set when the channel has confirmed it and the
    account is a full member's. `names` are other spellings of the account, as `<place>/<id>`."""

    standing: Standing
    email: str = ""
    names: frozenset[str] = frozenset()


class RosterAway(Exception):
    """The channel could not say, within the time there was. `reason` is for the log and holds no secret.
    What was not said is not known: a rule that needs it refuses."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Roster(Protocol):
    """Accounts and groups of one channel. What it says is never older than its staleness."""

    async def account(self, person_id: str, patience: float) -> Account:
        """Of `Person.id`, within `patience` seconds. Raises `RosterAway`."""

    async def is_member(
        self, group: str, accounts: Collection[str], emails: Collection[str], patience: float
    ) -> bool:
        """Whether somebody with these accounts, or these addresses, is in a group now. False for a group
        that there isn't. Raises `RosterAway`."""

    async def called(self, group: str) -> str:
        """What people call a group, or "" when that can't be said at once. Never raises."""
