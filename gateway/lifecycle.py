"""The gateway as one object: composed from the settings, started in order, stopped in reverse.

Start: the data folder is locked, the store opened, the socket bound, the channels built with the door in;
coordination comes up beside all that; then the workers run. Only then is `/healthz` 200. Stop: not ready, the
workers end, the channels drain what they acknowledged, waiting polls and streams are answered and other
requests finish, and the store is closed last.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import Counter
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

import structlog
from aiohttp import web

from adapters.channel import Channel
from adapters.egress import Egress
from adapters.webhooks.deliver import Sender
from config.settings import Settings
from gateway import channels as wiring
from gateway import conformance, inputs, optional, sessions, stores, workflows
from gateway.addresses import Addresses
from gateway.application import Served, application
from gateway.audit import AuditWorker
from gateway.auth import Key, Keys
from gateway.callbacks import check_secret
from gateway.chosen import accounts_of, keys_of, policy_of, ring_of
from gateway.health import Health
from gateway.inbox import Inbox
from gateway.inboxes import Inboxes
from gateway.intake import Intake
from gateway.keyring import KeyringFile, follow_keys
from gateway.links import AnswerLinks
from gateway.listening import bind, sole, url_of
from gateway.metrics import Metrics
from gateway.outbound import Outbound
from gateway.people import People
from gateway.pump import Pump
from gateway.reminders import Reminders
from gateway.retention import Retention
from gateway.secrets import OwnSecrets, own_secrets
from gateway.shelving import ShelfWorker
from gateway.talks import Talks
from gateway.tracing import Tracing, from_environment
from gateway.wakeups import Wakeups
from gateway.watch import Watch
from gateway.workers import Cascades, Deadlines, Housekeeping
from host.access import Access
from host.coordination.embedded import EmbeddedValkey
from host.coordination.redis import RedisCoordination
from host.flows import Flows
from host.host import Host
from host.registry import Contracts
from schemas.contracts import Contract

log = structlog.get_logger("sayso")

_DRAIN_SECONDS = 10.0


class Gateway:
    """One running gateway. `keys` are the API keys beside those of the settings; `tracing` takes the
    place of what OpenTelemetry's variables say."""

    def __init__(self, settings: Settings, keys: list[Key], tracing: Tracing | None = None) -> None:
        self.settings = settings
        self.url = ""
        self.counts: Counter[tuple[str, str]] = Counter()
        self.channels: dict[str, Channel] = {}
        self._keys = Keys([*keys, *keys_of(settings)])
        self._stack = AsyncExitStack()
        self._tracing = tracing
        self.health: Health | None = None

    async def start(self) -> None:
        """Returns when requests are served. Raises `StartError`, `StoreUnavailable`, `ValueError`."""
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise

    async def stop(self) -> None:
        if self.health is not None:
            self.health.phase = "stopping"
        await self._stack.aclose()

    async def _start(self) -> None:
        settings, data = self.settings, self.settings.data_dir
        named = inputs.contracts(settings)
        self.workflows = workflows.load(settings.workflows, named, settings.kortyx.ttl_ms)
        if settings.conformance_seed:
            conformance.check_harmless(settings)
            self.workflows += conformance.fixtures()
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if stores.owns_data_folder(settings):
            self._stack.enter_context(sole(data))
        tracing = self._tracing or from_environment()
        self._stack.push_async_callback(tracing.flush)
        self.watch = Watch(Metrics(lambda: self.counts, self._slack_refusals), tracing)
        store = stores.choose(settings)
        coordination, connecting = self._coordination()
        await store.start()
        self._stack.push_async_callback(store.stop)
        listening = bind(settings)
        self._stack.callback(listening.close)
        self.url = settings.http.public_url or url_of(listening)
        wakeups = Wakeups(coordination) if settings.redis.url is not None else None
        announce = wakeups.announce if wakeups is not None else None
        policy = policy_of(settings)
        flows = Flows.of(self.workflows, policy, settings.notify)
        self.host = Host(store, policy, _now, announce, flows=flows, observer=self.watch)
        keys = KeyringFile(data)
        await self._compose(coordination, own_secrets(data), keys, named)
        self.health = await self._serve(listening, coordination)
        await connecting
        for channel in self.channels.values():
            await channel.start()
            self._stack.push_async_callback(_drained, channel)
        self._start_workers(coordination)
        if wakeups is not None:
            self._work(wakeups.run(self.host.waiters))
        if not settings.tokens.keys:
            self._work(follow_keys(keys, lambda: self._reload_keys(keys)))
        self.health.phase = "serving"

    async def _compose(
        self,
        coordination: RedisCoordination,
        secrets: OwnSecrets,
        keys: KeyringFile,
        named: list[Contract],
    ) -> None:
        """Everything around the host, from the people to the channels. Only the way out is opened."""
        settings = self.settings
        self.people = People(settings.people, wiring.everybody(settings))
        accounts = accounts_of(settings, self.people, self.host.policy)
        self.access = Access(self.host, ring_of(settings, keys, self.host.clock()), accounts)
        self.links = AnswerLinks(self.host.store, self.access, secrets.links.encode(), self.url)
        intake = Intake(
            self.host, self.people, accounts, self.links, wiring.filing(settings), self.watch
        )
        talks = Talks(self.host, self.people, accounts)
        self.egress = Egress(settings.egress.allow, loopback=settings.conformance_seed)
        doors = wiring.Doors(
            intake,
            self.links,
            coordination.first,
            self._count,
            self.host.store.documents,
            wiring.sealing(settings, secrets.links),
            Inbox(self.host, settings.tenant, wiring.tenants(settings), self.people, accounts),
            optional.receiving(settings, self.host, self.people, intake, self.links),
            self.egress,
            coordination.rates,
            talks,
        )
        self.channels = wiring.build(settings, self.url, secrets.forms, doors)
        accounts.rosters = wiring.rosters(self.channels)
        self.addresses = Addresses(self.channels, settings.notify)
        self.addresses.check(None)
        self._fallback = Addresses(self.channels, settings.fallback).check(None)
        self.sessions = sessions.sessions(settings, self.host, self.addresses, secrets.links)
        talks.branches = self.sessions.branches
        check_secret(settings.egress.callback_secret.get_secret_value())
        await self.egress.start()
        self._stack.push_async_callback(self.egress.stop)
        self.host.options = optional.picking(settings, self.egress)
        self.contracts = Contracts(self.host, named, settings.kortyx.ttl_ms)
        self.pauses = optional.registered(settings, self.host)
        self.outbound = Outbound(self.host, Sender(self.egress), settings.protocol.version)

    def _start_workers(self, coordination: RedisCoordination) -> None:
        assert self.health is not None
        for worker in (
            self._pump(coordination),
            Deadlines(self.host),
            Cascades(self.host),
            ShelfWorker(self.host),
            Housekeeping(self.host, self.settings.store.keep_key_hours),
            AuditWorker(self.host),
            Inboxes(self.host, self.channels),
        ):
            self._work(worker.run())
        if self.settings.slack.reminders:
            self._work(Reminders(self.host, self.channels, self.people).run())
        if self.settings.substructure.agents:
            deciders = sessions.deciders(self.settings, self.sessions, self.host, self.egress)
            self._work(deciders.run())
        if self.settings.store.keep_days is not None:
            removing = Retention(self.host, self.settings.store.keep_days, self.watch.metrics)
            self._work(removing.run())
        self._work(self.health.watch_loop())
        self._work(self.outbound.run())

    def _pump(self, coordination: RedisCoordination) -> Pump:
        return Pump(
            self.host,
            self.channels,
            self.people,
            self.links,
            coordination,
            self.watch,
            self._fallback,
        )

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._stack.push_async_callback(_cancelled, task)

    def _reload_keys(self, file: KeyringFile) -> None:
        self.access.use(ring_of(self.settings, file, self.host.clock()))

    def _coordination(self) -> tuple[RedisCoordination, asyncio.Task[None]]:
        """Not connected yet, and what connects it: a server of our own starts while the rest is made."""
        redis, own = self.settings.redis, None
        if redis.url is not None:
            url = redis.url.get_secret_value()
        else:
            own = EmbeddedValkey(self.settings.data_dir)
            self._stack.push_async_callback(own.stop)
            url = own.url
        coordination = RedisCoordination(url, prefix=redis.prefix)
        self._stack.push_async_callback(coordination.stop)

        async def connect() -> None:
            if own is not None:
                await own.start()
            await coordination.start()

        connecting = asyncio.create_task(connect())
        self._stack.push_async_callback(_abandoned, connecting)
        return coordination, connecting

    async def _serve(self, listening: socket.socket, coordination: RedisCoordination) -> Health:
        served = Served(
            settings=self.settings,
            host=self.host,
            keys=self._keys,
            access=self.access,
            links=self.links,
            addresses=self.addresses,
            egress=self.egress,
            watch=self.watch,
            channels=self.channels,
            coordination=coordination,
            contracts=self.contracts,
            pauses=self.pauses,
            sessions=self.sessions,
        )
        app, events, health = application(served)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_DRAIN_SECONDS)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        self._stack.callback(events.stopping.set)
        self._stack.callback(self.host.waiters.close)
        await web.SockSite(runner, listening, backlog=1024).start()
        return health

    def _slack_refusals(self) -> dict[str, int]:
        """By reason. Slack's package is not even imported where Slack is off."""
        refused: dict[str, int] = getattr(self.channels.get("slack"), "refused", {})
        return refused

    def _count(self, source: str, outcome: str) -> None:
        self.counts[(source, outcome)] += 1


def _now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _abandoned(task: asyncio.Task[None]) -> None:
    """Ended, however; whoever waited for it has its error."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()


async def _drained(channel: Channel) -> None:
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            await channel.stop()
    except TimeoutError:
        log.warning("channel did not drain in time", channel=channel.name)
