"""The kortyx dialect, put together."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from config.settings import Settings
from gateway.auth import Keys
from gateway.routes.compat.kortyx import KortyxRoutes
from gateway.routes.compat.kortyx_checkpoints import KortyxCheckpoints
from gateway.routes.compat.kortyx_discovery import KortyxDiscovery
from gateway.routes.compat.kortyx_telemetry import Capture
from gateway.routes.compat.kortyx_turns import Turns
from host.access import Access
from host.chat_sessions import ChatSessions
from host.host import Host


@dataclass(frozen=True, slots=True)
class Dialect:
    """All routes under `/compat/kortyx`."""

    chat: KortyxRoutes
    discovery: KortyxDiscovery
    checkpoints: KortyxCheckpoints

    def routes(self) -> list[web.RouteDef]:
        return [
            *self.chat.routes(),
            *self.discovery.routes(),
            *self.checkpoints.routes(),
        ]


def kortyx(
    settings: Settings, host: Host, keys: Keys, access: Access, sessions: ChatSessions
) -> Dialect:
    """The dialect by these settings."""
    turns = Turns(host, access, sessions, settings.kortyx.wait_seconds)
    capture = Capture(settings.capture.requests, settings.capture.answers)
    return Dialect(
        KortyxRoutes(turns, keys, settings.kortyx.workflow, settings.kortyx.late),
        KortyxDiscovery(host, keys, sessions, turns, capture),
        KortyxCheckpoints(host, keys, sessions, turns),
    )
