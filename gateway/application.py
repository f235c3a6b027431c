"""The HTTP application: every route of the gateway, and what stands around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from adapters.channel import Channel
from adapters.egress import Egress
from adapters.webhooks.deliver import Sender
from config.settings import Settings
from gateway import channels as wiring
from gateway import conformance, workflows
from gateway.addresses import Addresses
from gateway.auth import Keys
from gateway.callbacks import Callbacks
from gateway.health import Health
from gateway.http import PROTOCOL
from gateway.idempotency import Idempotency
from gateway.links import AnswerLinks
from gateway.requests import name_request, observed
from gateway.routes.compat.later import Later
from gateway.routes.discovery import DiscoveryRoutes
from gateway.routes.events import EventRoutes
from gateway.routes.fork import ForkRoutes
from gateway.routes.hooks import HookRoutes
from gateway.routes.inputs import InputRoutes
from gateway.routes.interrupts import InterruptRoutes
from gateway.routes.keys import KeyRoutes
from gateway.routes.openapi import OpenApiRoutes
from gateway.routes.own import OwnRoutes
from gateway.routes.runs import RunRoutes
from gateway.routes.webhooks import WebhookRoutes
from gateway.sessions import SessionParts
from gateway.stored_keys import recognising
from gateway.watch import Watch
from host.access import Access
from host.chat_sessions import ChatSessions
from host.coordination.port import Coordination
from host.host import Host
from host.registry import Contracts

if TYPE_CHECKING:
    from host.pauses import Pauses


class Routed(Protocol):
    """What has routes of its own."""

    def routes(self) -> list[web.RouteDef]: ...


@dataclass(frozen=True, slots=True)
class Served:
    """What the routes work with."""

    settings: Settings
    host: Host
    keys: Keys
    access: Access
    links: AnswerLinks
    addresses: Addresses
    egress: Egress
    watch: Watch
    channels: Mapping[str, Channel]
    coordination: Coordination
    contracts: Contracts
    pauses: Pauses | None
    sessions: SessionParts


def application(served: Served) -> tuple[web.Application, EventRoutes, Health]:
    """The application, its event streams (to be told of a stop) and its health."""
    recognise = recognising(served.host.store.api_keys, served.host.clock)
    app = web.Application(
        middlewares=[observed(served.watch, recognise)],
        client_max_size=served.settings.http.max_body_bytes,
    )
    app.on_response_prepare.append(name_request)
    app[PROTOCOL] = protocol = served.settings.protocol.version
    seeded = conformance.fixtures() if served.settings.conformance_seed else []
    fixtures = workflows.ids(seeded)
    once = Idempotency(served.host, served.coordination, served.watch)
    sessions = ChatSessions(served.host.store.documents, served.host.clock)
    events = EventRoutes(served.host, served.keys, served.settings.protocol.max_streams)
    health = Health(
        served.host.store,
        served.coordination,
        served.host.waiters,
        served.watch.metrics,
        lambda: events.subscribers.open,
        served.host.clock,
    )
    secret = served.settings.egress.callback_secret.get_secret_value()
    callbacks = Callbacks(served.host, served.egress, secret)
    parts: tuple[Routed, ...] = (
        # First what is asked for most: paths that begin alike are tried one after the other.
        InterruptRoutes(served.host, served.access, served.keys, once),
        RunRoutes(served.host, served.keys, once, callbacks),
        events,
        ForkRoutes(served.host, served.keys, once, served.addresses),
        WebhookRoutes(served.host, served.keys, once, served.egress, Sender(served.egress)),
        OwnRoutes(
            served.host,
            served.access,
            served.links,
            served.keys,
            once,
            served.addresses,
            served.watch,
            callbacks,
        ),
        InputRoutes(served.host, served.keys, once, served.addresses, served.contracts, sessions),
        KeyRoutes(served.host, served.keys),
        HookRoutes(served.host, served.keys, once, wiring.remapping(served.settings)),
        DiscoveryRoutes(served.host.policy, protocol, fixtures, callbacks=bool(secret)),
        OpenApiRoutes(protocol),
        health,
    )
    for routes in (
        *(part.routes() for part in parts),
        *(channel.routes() for channel in served.channels.values()),
    ):
        app.add_routes(routes)
    for dialect in _dialects(served, events, sessions):
        app.router.register_resource(dialect)
    return app, events, health


def _dialects(served: Served, events: EventRoutes, sessions: ChatSessions) -> list[Later]:
    """Other systems' routes. None is imported before somebody speaks it."""

    def kortyx() -> Iterable[web.RouteDef]:
        from gateway.routes.compat import kortyx_dialect as dialect

        made = dialect.kortyx(served.settings, served.host, served.keys, served.access, sessions)
        return made.routes()

    def substructure() -> Iterable[web.RouteDef]:
        from gateway.routes.compat import substructure_dialect as dialect

        return dialect.substructure(served.sessions, served.host, served.keys, events).routes()

    found = [Later("/compat/kortyx", kortyx), Later("/compat/substructure", substructure)]
    pauses = served.pauses
    if pauses is not None:

        def symfonic() -> Iterable[web.RouteDef]:
            from gateway.routes.compat.symfonic import SymfonicRoutes

            return SymfonicRoutes(pauses, served.keys, served.addresses).routes()

        found.append(Later("/compat/symfonic", symfonic))
    return found
