"""Who somebody is and which groups they are in, at the moment of a decision.

The directory of the configuration comes first: a mapping is the operator's word. Beside it stand the
channels' own words, as fresh as the channel's staleness: the address of an account, whether it is a
guest's or was switched off, who is in a group of theirs. When a channel can't say, what depends on it is
refused: an account that nobody can tell the person of has no vote, a group that can't be read has no
members.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import structlog

from adapters.accounts import Account, Roster, RosterAway
from adapters.views import Person
from gateway.people import People
from host.decisions.eligibility import listed
from host.decisions.state import Interrupt, Policy, Principal
from schemas.errors import Refusal

log = structlog.get_logger("sayso.accounts")

PATIENCE: Final = 2.0  # seconds for all that is asked of one answer: Slack itself waits three
COURTESY: Final = 0.5  # for what nothing depends on


class Accounts:
    """Implements `host.directory.Directory`. `groups` are those of the configuration that a channel knows
    the members of, as `<channel>:<group>`; `rosters` are the channels, set when they are there."""

    def __init__(
        self,
        people: People,
        policy: Policy,
        groups: Mapping[str, tuple[str, ...]] | None = None,
        match_email: bool = True,
    ) -> None:
        self._people = people
        self._policy = policy
        self._groups = dict(groups or {})
        self._match_email = match_email
        self.rosters: dict[str, Roster] = {}

    def principal(self, principal_id: str, tenant: str) -> Principal:
        return self._people.principal(principal_id, tenant)

    async def of(self, person: Person, interrupt: Interrupt) -> Principal:
        """Somebody whom a channel vouches for, as the rules need them now.

        Raises `Refusal`: `forbidden` for an account that was switched off, `sayso.unavailable` when the
        channel can't say who it is.
        """
        end = time.monotonic() + PATIENCE
        known = self._people.of(person, interrupt)
        account = await self._account(person, known)
        if account is None:
            return await self._at_decision(known, interrupt, end)
        if account.standing == "gone":
            raise Refusal("forbidden", "This account was deactivated, so it can't answer any more.")
        if not self._match_email:
            account = replace(account, email="")
        principal = self._people.vouched(person, account, interrupt)
        return await self._at_decision(principal, interrupt, end)

    async def at_decision(self, principal: Principal, interrupt: Interrupt) -> Principal:
        return await self._at_decision(principal, interrupt, time.monotonic() + PATIENCE)

    async def _at_decision(
        self, principal: Principal, interrupt: Interrupt, end: float
    ) -> Principal:
        """With those groups that a channel says the principal is in; none is asked after `end`."""
        people, groups, roles = listed(interrupt.data, self._policy)
        named = principal.names | {principal.id}
        if named & set(people) or principal.groups & set(groups) or principal.roles & set(roles):
            return principal  # eligible as it is: nothing has to be asked
        away = ""
        for ref in groups if principal.kind == "user" else ():
            for channel, group in self._places(ref):
                try:
                    if await self._is_member(channel, group, principal, end - time.monotonic()):
                        return replace(principal, groups=principal.groups | {ref})
                except RosterAway as gone:
                    away = gone.reason
        if away:
            log.warning("a group could not be read", reason=away, interrupt=interrupt.interrupt_id)
            raise Refusal(
                "sayso.unavailable",
                "Who is in the group that may answer this can't be checked right now. Nothing was "
                "recorded; please try again in a moment.",
            )
        return principal

    async def called(self, interrupt: Interrupt) -> dict[str, str]:
        """What those are called who may answer, as far as they are called otherwise than in the request."""
        people, groups, _ = listed(interrupt.data, self._policy)
        names = self._people.names()
        found = {}
        for name in people:
            entry = names.get(self._people.principal(name, interrupt.tenant).id)
            if entry is not None:
                found[name] = entry
        for ref in groups:
            channel, _, group = ref.partition(":")
            if (
                group
                and channel in self.rosters
                and (said := await self.rosters[channel].called(group))
            ):
                found[ref] = f"the group {said}"
        return found

    async def _account(self, person: Person, known: Principal) -> Account | None:
        roster = self.rosters.get(person.channel)
        if roster is None:
            return None
        try:
            return await roster.account(person.id, COURTESY if known.known else PATIENCE)
        except RosterAway as gone:
            if known.known:
                return None  # the operator's word holds without the channel's
            log.warning("an account could not be looked up", reason=gone.reason)
            raise Refusal(
                "sayso.unavailable",
                "Who you are can't be checked right now. Nothing was recorded; please try again in a "
                "moment.",
            ) from None

    def _places(self, ref: str) -> Iterator[tuple[str, str]]:
        """Where a group's members are known, as (channel, group)."""
        for text in (ref, *self._groups.get(ref, ())):
            channel, _, group = text.partition(":")
            if group and channel in self.rosters:
                yield channel, group

    async def _is_member(
        self, channel: str, group: str, principal: Principal, patience: float
    ) -> bool:
        prefix = f"{channel}:"
        accounts = [n.removeprefix(prefix) for n in principal.names if n.startswith(prefix)]
        emails = [n.removeprefix("email:") for n in principal.names if n.startswith("email:")]
        accounts = [one for one in accounts if "/" in one]
        roster = self.rosters[channel]
        return await roster.is_member(
            group, accounts, emails if self._match_email else [], max(patience, 0.0)
        )
