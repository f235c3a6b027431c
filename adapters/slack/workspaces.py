"""The installed workspaces: which one a payload or an address belongs to.

One app token in the settings is one workspace, and nothing is looked up. With OAuth the installations are
in the store: they are followed every few seconds, and one that is not known yet is looked up at once, so
an installation counts at every gateway without a restart. Nothing here calls Slack for a payload: bolt's
own way costs an auth.test for each request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.channel import DeliveryFailed
from adapters.slack.client import SlackClient
from adapters.slack.dialogs import Dialogs
from adapters.slack.failures import SlackFailed
from adapters.slack.inbound import Inbound
from adapters.slack.installations import Installation, Installations
from adapters.slack.origin import candidates, split_address
from adapters.slack.outbound import Outbound
from adapters.slack.presence import Presence
from adapters.slack.rotation import Rotation
from adapters.slack.settings import SlackSettings
from host.store.records import StoreUnavailable

_log = logging.getLogger(__name__)

_ABSENT_SECONDS: Final = 5.0  # how long "not installed there" is believed
_MOST_ABSENT: Final = 1000
_TOKEN_OVER: Final = ("token_expired", "token_revoked", "invalid_auth", "account_inactive")


@dataclass(slots=True)
class Workspace:
    """One workspace, or one organisation: its client and both ways. `installation` is None for the one
    whose token is in the settings."""

    client: SlackClient
    inbound: Inbound
    dialogs: Dialogs
    outbound: Outbound
    presence: Presence | None = None
    installation: Installation | None = None


Make = Callable[[SlackSettings, str], Workspace]
"""(settings with the token, workspace id or "") -> its parts, not opened yet."""


class Workspaces:
    """All of them. Open inside a running loop."""

    def __init__(
        self,
        settings: SlackSettings,
        make: Make,
        installations: Installations | None = None,
        rotation: Rotation | None = None,
    ) -> None:
        self._settings = settings
        self._make = make
        self._installations = installations
        self._rotation = rotation
        self.own = make(settings, settings.default_team) if settings.bot_token else None
        self._installed: dict[str, Workspace] = {}
        self._absent: OrderedDict[str, float] = OrderedDict()
        self._adopting = asyncio.Lock()
        self._follower: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Ask Slack who we are. Raises `SlackFailed` when the token of the settings can never work; when
        Slack or the store is away, goes on without."""
        if self.own is not None:
            await self.own.client.open()
            try:
                await self.own.client.identity()
            except SlackFailed as failure:
                if failure.permanent:
                    await self.own.client.close()
                    raise
                _log.warning("slack: starting without Slack: %s", failure.reason)
        if self._installations is not None:
            with contextlib.suppress(StoreUnavailable):
                await self._installations.reseal()
            await self._look()
            self._follower = asyncio.create_task(self._follow(), name="slack installations")

    async def stop(self) -> None:
        """Close every session."""
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.gather(self._follower, return_exceptions=True)
        for one in self.all():
            await one.client.close()

    def all(self) -> list[Workspace]:
        """Those that are known now, that of the settings first."""
        return [*([self.own] if self.own else []), *self._installed.values()]

    async def of(self, body: Mapping[str, Any]) -> Workspace | None:
        """The workspace that a payload came to, or None: the app is not installed there (any more)."""
        if self._installations is None:
            return self.own
        for name in candidates(body):
            if (found := await self.named(name)) is not None:
                return found
        if self.own is not None and not await self._can_tell(""):
            return self.own
        return None

    async def named(self, name: str) -> Workspace | None:
        """By the id of a workspace or an organisation. A store that is away knows none that is new."""
        if (found := self._installed.get(name)) is not None:
            return found
        if self.own is not None and await self._is_own(name):
            return self.own
        now = asyncio.get_running_loop().time()
        if self._installations is None or self._absent.get(name, 0.0) > now:
            return None
        try:
            installation = await self._installations.get(name)
        except StoreUnavailable:
            return None
        if installation is None:
            self._absent[name] = now + _ABSENT_SECONDS
            while len(self._absent) > _MOST_ABSENT:
                self._absent.popitem(last=False)
            return None
        return await self._adopt(installation)

    async def at(self, address: str) -> tuple[Workspace, str]:
        """The workspace of an address, and the address within it. Raises `DeliveryFailed`."""
        name, rest = split_address(address)
        known = self.all()
        if name:
            found = await self.named(name) or await self.organisation(name)
            if found is not None:
                return found, rest
            sure = await self._can_tell(name)
            raise DeliveryFailed(f"the Slack app is not installed in {name}", permanent=sure)
        if self.own is not None or len(known) == 1:
            return self.own or known[0], rest
        if not known:
            raise DeliveryFailed("the Slack app is not installed anywhere yet")
        raise DeliveryFailed(
            f"the Slack app is in {len(known)} workspaces: write the address with its workspace, "
            f"like slack:{next(iter(self._installed))}/{rest}",
            permanent=True,
        )

    async def adopt(self, installation: Installation) -> Workspace:
        """Use an installation that was just made or changed."""
        self._absent.pop(installation.key, None)
        return await self._adopt(installation)

    async def renewed(self, workspace: Workspace, failure: SlackFailed) -> bool:
        """Whether a refused token was one of yesterday: another gateway has exchanged it, and it is used
        from now on."""
        installation = workspace.installation
        if failure.error not in _TOKEN_OVER or not installation or not self._installations:
            return False
        try:
            current = await self._installations.get(installation.key)
        except StoreUnavailable:
            return False
        if current is None or not _is_newer(current, installation):
            return False
        await self._adopt(current)
        return True

    async def removed(self, body: Mapping[str, Any]) -> None:
        """The app was taken out of a workspace, or its token revoked. Raises `StoreUnavailable`.

        An event from before the last installation speaks of the one before it.
        """
        found = await self.of(body)
        installation = found.installation if found is not None else None
        if installation is None or self._installations is None:
            return
        current = await self._installations.get(installation.key)
        at = body.get("event_time")
        told = at * 1000 + 999 if isinstance(at, int) else 0
        if current is not None and told >= current.installed_at:
            await self._installations.remove(current)
            await self._drop(installation.key)
            _log.warning("slack: the app was removed from %s", installation.key)

    async def _can_tell(self, name: str) -> bool:
        """Whether 'not installed there' is certain: Slack has said who we are, and the store answers."""
        try:
            if self.own is not None:
                await self.own.client.identity()
            if self._installations is not None and name:
                await self._installations.get(name)
        except (SlackFailed, StoreUnavailable):
            return False
        return True

    async def _is_own(self, name: str) -> bool:
        assert self.own is not None
        try:
            identity = await self.own.client.identity()
        except SlackFailed:
            return False
        return name in (identity.team_id, identity.enterprise_id)

    async def organisation(self, team: str) -> Workspace | None:
        """The organisation's installation that has been granted this workspace."""
        for one in self.all():
            if one.installation is not None and one.installation.is_org:
                try:
                    found = await one.client.look("auth.teams.list", {"limit": "1000"})
                except SlackFailed:
                    continue
                if team in [str(t.get("id")) for t in found.get("teams") or ()]:
                    return one
        return None

    async def _adopt(self, installation: Installation) -> Workspace:
        async with self._adopting:
            known = self._installed.get(installation.key)
            if known is not None and known.installation is not None:
                if _is_newer(installation, known.installation):
                    known.client.use(installation.token)
                    known.installation = installation
                return known
            chosen = replace(self._settings, bot_token=installation.token, default_team="")
            made = self._make(chosen, installation.team_id)
            made.installation = installation
            await made.client.open()
            self._installed[installation.key] = made
            return made

    async def _drop(self, key: str) -> None:
        gone = self._installed.pop(key, None)
        if gone is not None:
            await gone.client.close()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._settings.installations_check)
            try:
                await self._look()
            except Exception:
                _log.exception("slack: the installations could not be followed")

    async def _look(self) -> None:
        """Once: what is new, what changed, what is gone, what has to be refreshed."""
        assert self._installations is not None
        try:
            found = {one.key: one for one in await self._installations.all()}
            for one in found.values():
                await self._adopt(await self._rotation.fresh(one) if self._rotation else one)
        except StoreUnavailable:
            return
        for key in [key for key in self._installed if key not in found]:
            await self._drop(key)


def _is_newer(one: Installation, known: Installation) -> bool:
    """An installation made after another was removed begins with version 1 again."""
    if one.installed_at != known.installed_at:
        return one.installed_at > known.installed_at
    return one.version > known.version
