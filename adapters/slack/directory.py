"""Slack as a roster: profiles and user groups, asked for at the decision and believed for a minute.

What Slack can't say in time is not known, and whoever asks refuses. A group's handle is looked up anew
too: it may belong to another group tomorrow. With several workspaces a handle has to name its workspace,
or any of them could call a group `@finance`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from adapters.accounts import Account, RosterAway
from adapters.slack.believed import Believed
from adapters.slack.failures import SlackFailed
from adapters.slack.origin import split_address
from adapters.slack.profile import account
from adapters.slack.workspaces import Workspace, Workspaces

_log = logging.getLogger(__name__)

_NOBODY: Final = {"user_not_found", "user_not_visible", "users_not_found"}
_NO_GROUP: Final = {"no_such_subteam", "subteam_not_found"}
_MOST_ASKED: Final = 5  # workspaces that are asked who somebody is
_NEWS: Final = ("user_change", "subteam_updated", "subteam_members_changed")


class SlackRoster:
    """Implements `adapters.accounts.Roster`. `staleness` in seconds."""

    def __init__(self, workspaces: Workspaces, staleness: float) -> None:
        self._workspaces = workspaces
        self._accounts: Believed[Account] = Believed(staleness)
        self._handles: Believed[dict[str, str]] = Believed(staleness)
        self._members: Believed[frozenset[str]] = Believed(staleness)
        self._by_email: Believed[str] = Believed(staleness)
        self._limited: dict[tuple[str, str], float] = {}

    async def account(self, person_id: str, patience: float) -> Account:
        try:
            async with asyncio.timeout(patience):
                return await self._accounts.get(person_id, lambda: self._account(person_id))
        except TimeoutError:
            raise RosterAway("Slack did not answer in time") from None

    def knows(self, person_id: str) -> bool:
        """Whether an account is known, so that Slack need not be asked now."""
        return self._accounts.peek(person_id) is not None

    async def is_member(
        self, group: str, accounts: Collection[str], emails: Collection[str], patience: float
    ) -> bool:
        try:
            async with asyncio.timeout(patience):
                return await self._is_member(group, accounts, emails)
        except TimeoutError:
            raise RosterAway("Slack did not answer in time") from None

    async def called(self, group: str) -> str:
        team, name = split_address(group)
        if name.startswith("@"):
            return name
        for workspace in self._workspaces.all():
            try:
                key, own = await _own(workspace)
            except RosterAway:
                continue
            known = self._handles.peek(f"{key}/{team}") if not team or team in own else None
            for handle, group_id in (known or {}).items():
                if group_id == name:
                    return f"@{handle}"
        return ""

    def heard(self, event: Mapping[str, Any]) -> bool:
        """Whether an event was news of people or groups; what was known of them is forgotten then."""
        kind = event.get("type")
        if kind not in _NEWS:
            return False
        if kind == "user_change":
            user = event.get("user")
            self._accounts.forget(f"/{user.get('id')}" if isinstance(user, dict) else "")
            self._by_email.forget("")
        else:
            group = event.get("subteam")
            changed = event.get("subteam_id") or (
                group.get("id") if isinstance(group, dict) else ""
            )
            self._members.forget(f"/{changed}" if changed else "")
            self._handles.forget("")
        return True

    async def _account(self, person_id: str) -> Account:
        home, _, user = person_id.partition("/")
        async for workspace in self._knowing(home):
            _, own = await _own(workspace)
            try:
                found = await self._ask(workspace, "users.info", {"user": user})
            except _Refused as no:
                if no.error in _NOBODY:
                    continue
                if no.error == "missing_scope":
                    _log.error(
                        "slack: the app lacks users:read, so nobody is known by their address"
                    )
                    return Account("outsider")
                raise RosterAway(no.reason) from None
            made = account(found.get("user") or {}, home, own)
            if made.standing != "outsider":
                return made
        return Account("outsider")

    async def _is_member(
        self, group: str, accounts: Collection[str], emails: Collection[str]
    ) -> bool:
        for there in await self._meant(group, accounts):
            key, own = await _own(there.workspace)
            members = await self._members.get(
                f"{key}/{there.team}/{there.id}", partial(self._users, there)
            )
            here = [one for one in accounts if await self._belongs(one, own)]
            users = {one.partition("/")[2] for one in here}
            if not users:
                users = {await self._user_of(there.workspace, email) for email in emails}
            if users & members:
                return True
        return False

    async def _belongs(self, person_id: str, own: frozenset[str]) -> bool:
        """Whether an account is of this very workspace or organisation: ids alone are no proof."""
        home, _, user = person_id.partition("/")
        if home in own:
            return True
        if not any(name.startswith("E") for name in own):
            return False
        found = await self._accounts.get(person_id, lambda: self._account(person_id))
        return any(f"{place}/{user}" in found.names for place in own)

    async def _meant(self, group: str, accounts: Collection[str]) -> list[_Group]:
        """Where a group may be, with its id there. None for one that there isn't."""
        team, name = split_address(group)
        found: list[_Group] = []
        for workspace in await self._places(team, name, accounts):
            group_id, asked = name, team if _is_org(workspace) else ""
            if name.startswith("@"):
                key, _ = await _own(workspace)
                handles = await self._handles.get(
                    f"{key}/{asked}", partial(self._groups, workspace, asked)
                )
                group_id = handles.get(name[1:].lower(), "")
            if group_id:
                found.append(_Group(workspace, asked, group_id))
        return found

    async def _places(self, team: str, name: str, accounts: Collection[str]) -> list[Workspace]:
        known = self._workspaces.all()
        if team:
            named = await self._workspaces.named(team) or await self._workspaces.organisation(team)
            return [named] if named is not None else []
        if len(known) == 1:
            return known
        if name.startswith("@"):
            _log.error("slack: the group %s names no workspace: write it as T0123/%s", name, name)
            return []
        homes = {one.partition("/")[0] for one in accounts}
        found = [await self._workspaces.named(home) for home in sorted(homes)]
        return [one for one in found if one is not None]

    async def _knowing(self, home: str) -> AsyncIterator[Workspace]:
        """The workspaces that can say who an account of `home` is."""
        named = await self._workspaces.named(home)
        if named is not None:
            yield named
            return
        known = self._workspaces.all()
        if len(known) == 1:
            yield known[0]
            return
        asked = 0
        for one in known:
            _, own = await _own(one)
            if any(name.startswith("E") for name in own) and asked < _MOST_ASKED:
                asked += 1
                yield one

    async def _groups(self, workspace: Workspace, team: str) -> dict[str, str]:
        """Ids by handle, without those that are switched off."""
        asked = {"team_id": team} if team else {}
        try:
            found = await self._ask(workspace, "usergroups.list", asked)
        except _Refused as no:
            _log.error("slack: %s", no.reason)
            raise RosterAway(no.reason) from None
        groups = [g for g in found.get("usergroups") or () if not g.get("date_delete")]
        return {str(g["handle"]).lower(): str(g["id"]) for g in groups if g.get("handle")}

    async def _users(self, group: _Group) -> frozenset[str]:
        asked = {"usergroup": group.id} | ({"team_id": group.team} if group.team else {})
        try:
            found = await self._ask(group.workspace, "usergroups.users.list", asked)
        except _Refused as no:
            if no.error in _NO_GROUP:
                return frozenset()
            _log.error("slack: the members of %s are not known: %s", group.id, no.reason)
            raise RosterAway(no.reason) from None
        return frozenset(str(user) for user in found.get("users") or ())

    async def _user_of(self, workspace: Workspace, email: str) -> str:
        """The user with a confirmed address, or ""."""
        key, own = await _own(workspace)

        async def ask() -> str:
            try:
                found = await self._ask(workspace, "users.lookupByEmail", {"email": email})
            except _Refused as no:
                if no.error in (*_NOBODY, "missing_scope"):
                    return ""
                raise RosterAway(no.reason) from None
            user = found.get("user") or {}
            return str(user.get("id")) if account(user, key, own).email == email else ""

        return await self._by_email.get(f"{key}/{email}", ask)

    async def _ask(
        self, workspace: Workspace, method: str, arguments: dict[str, str]
    ) -> dict[str, Any]:
        """One look-up. Raises `_Refused` for a no that stays, `RosterAway` for everything else."""
        key, _ = await _own(workspace)
        if self._limited.get((key, method), 0.0) > time.monotonic():
            raise RosterAway(f"Slack {method}: rate limited")
        try:
            return await workspace.client.look(method, arguments)
        except SlackFailed as failure:
            if failure.retry_after is not None:
                self._limited[key, method] = time.monotonic() + failure.retry_after
            if failure.permanent:
                raise _Refused(failure.error, failure.reason) from None
            raise RosterAway(failure.reason) from None


@dataclass(frozen=True, slots=True)
class _Group:
    """A user group. `team` is set where an organisation's token has to say which workspace is meant."""

    workspace: Workspace
    team: str
    id: str


class _Refused(Exception):
    def __init__(self, error: str, reason: str) -> None:
        super().__init__(reason)
        self.error, self.reason = error, reason


async def _own(workspace: Workspace) -> tuple[str, frozenset[str]]:
    """(its key, its ids). Raises `RosterAway` while Slack has not said who we are."""
    installed = workspace.installation
    if installed is not None:
        ids = {installed.team_id, installed.enterprise_id} - {""}
        return installed.key, frozenset(ids)
    try:
        identity = await workspace.client.identity()
    except SlackFailed as failure:
        raise RosterAway(failure.reason) from None
    return identity.team_id, frozenset({identity.team_id, identity.enterprise_id} - {""})


def _is_org(workspace: Workspace) -> bool:
    return workspace.installation is not None and workspace.installation.is_org
