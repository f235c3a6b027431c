"""The substructure dialect, put together: sessions, the agents of the configuration, client tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from adapters.egress import Egress
from config.settings import Settings
from gateway.addresses import Addresses
from gateway.auth import Keys
from gateway.client_tokens import ClientTokens
from gateway.deciding import Deciders
from gateway.routes.compat.substructure import SubstructureRoutes
from gateway.routes.compat.substructure_agui import AguiRoutes
from gateway.routes.compat.substructure_http import Callers
from gateway.routes.compat.substructure_prompts import Agent, asks
from gateway.routes.compat.substructure_stream import SessionStreams
from gateway.routes.events import EventRoutes
from gateway.worker_client import WorkerClient
from host.branches import Branches
from host.host import Host


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What sessions are made of in one gateway."""

    branches: Branches
    agents: Mapping[str, Agent]
    tokens: ClientTokens


def sessions(settings: Settings, host: Host, addresses: Addresses, secret: str) -> SessionParts:
    """By these settings. Raises `Refusal` for an agent's `notify` that leads nowhere."""
    chosen = settings.substructure
    agents = {
        name: Agent(
            url=agent.url,
            secret=agent.secret.get_secret_value() if agent.secret is not None else "",
            notify=addresses.check(agent.notify),
            approvers=agent.approvers,
            groups=agent.approver_groups,
        )
        for name, agent in chosen.agents.items()
    }
    branches = Branches(host, asks(agents), several=chosen.several, most_attempts=chosen.attempts)
    return SessionParts(branches, agents, ClientTokens(secret))


def deciders(settings: Settings, parts: SessionParts, host: Host, egress: Egress) -> Deciders:
    """The worker that takes questions to the agents' workers."""
    seconds = settings.substructure.timeout_seconds
    client = WorkerClient(egress, seconds)
    return Deciders(host, parts.branches, parts.agents, client, seconds)


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
    callers = Callers(keys, parts.tokens, parts.agents)
    streams = SessionStreams(host, seats, stopping)
    return Dialect(
        SubstructureRoutes(parts.branches, callers, parts.tokens, host.clock, streams),
        AguiRoutes(host, parts.branches, callers, seats, stopping),
    )
