"""Where the app is installed: one record a workspace or organisation, its tokens sealed.

The record is a document of the store, so every gateway sees it, and a write names the version that it
was made on. An organisation's installation is kept under the organisation alone: with a workspace's id
in its key the look-up of any other workspace of it would miss.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from host.sealing import SealBroken, Sealer
from host.store.documents import Document, Documents

_log = logging.getLogger(__name__)

KIND: Final = "slack.installation"
_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Installation:
    """The app in one workspace, or in a whole organisation (`is_org`). Times in ms; `expires_at` 0: never.

    `version` is the document's, 0 for one that is not kept yet.
    """

    team_id: str
    enterprise_id: str
    is_org: bool
    name: str
    app_id: str
    bot_user: str
    scopes: tuple[str, ...]
    installed_at: int
    token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_at: int = 0
    version: int = 0

    @property
    def key(self) -> str:
        """What addresses and payloads call it: the organisation's id, else the workspace's."""
        return self.enterprise_id if self.is_org else self.team_id


class Installations:
    """The installations in the store. `clock` gives milliseconds. Raises `StoreUnavailable`."""

    def __init__(self, documents: Documents, sealer: Sealer, clock: Callable[[], int]) -> None:
        self.documents = documents
        self.clock = clock
        self._sealer = sealer

    async def get(self, key: str) -> Installation | None:
        """None when the app is not installed there, or what is kept can't be opened (which is logged)."""
        found = await self.documents.get(KIND, key, self.clock())
        return None if found is None else self._opened(found)

    async def all(self) -> list[Installation]:
        """Every one that can be opened."""
        found: list[Installation] = []
        after = ""
        while True:
            page = await self.documents.list(KIND, self.clock(), after=after, limit=_PAGE)
            found += [one for one in map(self._opened, page) if one is not None]
            if len(page) < _PAGE:
                return found
            after = page[-1].key

    async def save(self, made: Installation) -> Installation:
        """Keep a new installation; one that was there is over, and so are its tokens."""
        version = await self._put(made, None)
        assert version is not None
        return replace(made, version=version)

    async def swap(self, changed: Installation) -> Installation | None:
        """Write it on top of the version that it has. None when somebody else has written since."""
        version = await self._put(changed, changed.version)
        return None if version is None else replace(changed, version=version)

    async def remove(self, installation: Installation) -> bool:
        """False when it has been installed again meanwhile: then it stays."""
        return await self.documents.delete(KIND, installation.key, expected=installation.version)

    async def _put(self, one: Installation, expected: int | None) -> int | None:
        secrets = json.dumps({"token": one.token, "refresh": one.refresh_token})
        value: dict[str, Any] = {
            "team": one.team_id,
            "enterprise": one.enterprise_id,
            "org": one.is_org,
            "name": one.name,
            "app": one.app_id,
            "bot": one.bot_user,
            "scopes": list(one.scopes),
            "installed": one.installed_at,
            "expires": one.expires_at,
            "sealed": self._sealer.seal(secrets, _place(one.key)),
        }
        return await self.documents.put(KIND, one.key, value, self.clock(), expected=expected)

    def _opened(self, found: Document) -> Installation | None:
        value = found.value
        try:
            secrets = json.loads(self._sealer.open(value["sealed"], _place(found.key)))
        except SealBroken as broken:
            _log.error("slack: the installation of %s can't be opened: %s", found.key, broken)
            return None
        return Installation(
            team_id=value["team"],
            enterprise_id=value["enterprise"],
            is_org=value["org"],
            name=value["name"],
            app_id=value["app"],
            bot_user=value["bot"],
            scopes=tuple(value["scopes"]),
            installed_at=value["installed"],
            token=secrets["token"],
            refresh_token=secrets["refresh"],
            expires_at=value["expires"],
            version=found.version,
        )

    async def reseal(self) -> int:
        """Seal anew what an older key has sealed. Returns how many. Called at start."""
        done = 0
        for one in await self.all():
            found = await self.documents.get(KIND, one.key, self.clock())
            if found is None or self._sealer.is_current(found.value["sealed"]):
                continue
            done += await self.swap(replace(one, version=found.version)) is not None
        return done


def _place(key: str) -> str:
    return f"{KIND}/{key}"


def granted(answer: dict[str, Any], now: int) -> Installation:
    """The installation that `oauth.v2.access` answered with; `now` in ms.

    Raises `ValueError` for an answer that holds no bot of a workspace or an organisation.
    """
    team, enterprise = answer.get("team") or {}, answer.get("enterprise") or {}
    is_org = answer.get("is_enterprise_install") is True
    token = str(answer.get("access_token") or "")
    home = enterprise if is_org else team
    if not token or answer.get("token_type") != "bot" or not home.get("id"):
        raise ValueError("Slack granted no bot: the app has to ask for bot scopes")
    lifetime = int(answer.get("expires_in") or 0)
    return Installation(
        team_id="" if is_org else str(team["id"]),
        enterprise_id=str(enterprise.get("id") or ""),
        is_org=is_org,
        name=str(home.get("name") or home["id"])[:200],
        app_id=str(answer.get("app_id") or ""),
        bot_user=str(answer.get("bot_user_id") or ""),
        scopes=tuple(s for s in str(answer.get("scope") or "").split(",") if s),
        installed_at=now,
        token=token,
        refresh_token=str(answer.get("refresh_token") or ""),
        expires_at=now + lifetime * 1000 if lifetime else 0,
    )
