"""Branching sessions by the settings: their agents, and the worker that takes questions to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adapters.egress import Egress
from config.settings import Settings
from gateway.addresses import Addresses
from gateway.routes.compat.substructure_prompts import Agent, asks
from host.branches import Branches
from host.host import Host

if TYPE_CHECKING:
    from gateway.deciding import Deciders


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What sessions are made of in one gateway. `secret` is the gateway's own: what their client tokens
    are signed with is derived from it."""

    branches: Branches
    agents: Mapping[str, Agent]
    addresses: Addresses
    secret: str = field(repr=False)


def sessions(settings: Settings, host: Host, addresses: Addresses, secret: str) -> SessionParts:
    """By these settings. Raises `Refusal` for an agent's `notify` or `thread` that leads nowhere."""
    chosen = settings.substructure
    agents = {
        name: Agent(
            url=agent.url,
            secret=agent.secret.get_secret_value() if agent.secret is not None else "",
            notify=addresses.check(agent.notify),
            approvers=agent.approvers,
            groups=agent.approver_groups,
            thread=addresses.thread(agent.thread) if agent.thread else "",
        )
        for name, agent in chosen.agents.items()
    }
    branches = Branches(host, asks(agents), several=chosen.several, most_attempts=chosen.attempts)
    return SessionParts(branches, agents, addresses, secret)


def deciders(settings: Settings, parts: SessionParts, host: Host, egress: Egress) -> Deciders:
    """The worker that takes questions to the agents' workers. Its part is imported where there are any."""
    from gateway.deciding import Deciders
    from gateway.worker_client import WorkerClient

    seconds = settings.substructure.timeout_seconds
    client = WorkerClient(egress, seconds)
    return Deciders(host, parts.branches, parts.agents, client, seconds)
