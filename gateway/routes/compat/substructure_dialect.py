"""The substructure dialect, put together."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from gateway.auth import Keys
from gateway.client_tokens import ClientTokens
from gateway.routes.compat.substructure import SubstructureRoutes
from gateway.routes.compat.substructure_agui import AguiRoutes
from gateway.routes.compat.substructure_http import Callers
from gateway.routes.compat.substructure_stream import SessionStreams
from gateway.routes.events import EventRoutes
from gateway.sessions import SessionParts
from host.host import Host


@dataclass(frozen=True, slots=True)
class Dialect:
    """All routes under `/compat/substructure`."""

    api: SubstructureRoutes
    agui: AguiRoutes

    def routes(self) -> list[web.RouteDef]:
        return [*self.api.routes(), *self.agui.routes()]


def substructure(parts: SessionParts, host: Host, keys: Keys, events: EventRoutes) -> Dialect:
    """The routes."""
    seats, stopping = events.subscribers, events.stopping
    tokens = ClientTokens(parts.secret)
    callers = Callers(keys, tokens, parts.agents, parts.addresses)
    streams = SessionStreams(host, seats, stopping)
    return Dialect(
        SubstructureRoutes(parts.branches, callers, tokens, host.clock, streams),
        AguiRoutes(host, parts.branches, callers, seats, stopping),
    )
