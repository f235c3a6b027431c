"""The Slack channel: wiring of the way out, the way in, and the two transports.

What comes in is verified here; bolt parses and dispatches it to `Listeners`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp

from adapters.channel import Delivery, Intake, Ref, Shown
from adapters.reminders import Reminder
from adapters.slack.client import SlackClient
from adapters.slack.dialogs import Dedupe, Dialogs
from adapters.slack.directory import SlackRoster
from adapters.slack.dispatch import dispatch, read
from adapters.slack.failures import SlackFailed
from adapters.slack.inbound import Inbound
from adapters.slack.inflight import InFlight
from adapters.slack.install import Exchange, Install
from adapters.slack.installations import Installations
from adapters.slack.listeners import Listeners
from adapters.slack.origin import split_address
from adapters.slack.outbound import Outbound, canonical_address
from adapters.slack.presence import Surroundings, make
from adapters.slack.presses import Presses
from adapters.slack.rotation import Rotation
from adapters.slack.settings import SlackSettings
from adapters.slack.shapes import RATE_LIMITED
from adapters.slack.socket_mode import SocketMode
from adapters.slack.speaking import Speaking
from adapters.slack.verify import SlackRequestRefused, Verifier
from adapters.slack.workspaces import Workspace, Workspaces
from host.coordination.port import Rates

_log = logging.getLogger(__name__)

PATH: Final = "/slack/events"
_CODES: Final = {400: "validation_error", 401: "unauthenticated", 413: "payload_too_large"}


class SlackChannel:
    """Slack as a `Channel`. `dedupe(key, ttl)` says whether a key is new in `ttl` seconds."""

    name = "slack"
    holds_sessions = True  # a session can have a thread here

    def __init__(
        self,
        settings: SlackSettings,
        intake: Intake,
        dedupe: Dedupe,
        installations: Installations | None = None,
        around: Surroundings | None = None,
        rates: Rates | None = None,
    ) -> None:
        self._settings = settings
        self._rates = rates
        self._intake = intake
        self._dedupe = dedupe
        self._around = around
        self._inflight = InFlight()
        self._presses = None
        if around is not None:
            self._presses = Presses(
                around.documents, around.clock, self._inflight, lambda who: self.roster.knows(who)
            )
        self._app = SlackClient(settings)  # for what needs no workspace's token
        exchange = Exchange(settings, self._app)
        rotation = Rotation(installations, exchange) if installations else None
        self._workspaces = Workspaces(settings, self._workspace, installations, rotation)
        self._install = (
            Install(settings, self._app, installations, exchange, self._workspaces.adopt)
            if installations
            else None
        )
        self.roster = SlackRoster(self._workspaces, settings.staleness)
        self._verifier = Verifier(settings.signing_secrets)
        self._listeners = Listeners(self._workspaces, self.roster, intake, settings.default_team)
        self._bolt: AsyncApp | None = None
        self._watch: asyncio.Task[None] | None = None
        self._socket: SocketMode | None = None
        self._stopping = False

    def routes(self) -> Sequence[web.RouteDef]:
        """The one ingress of events and interactivity, and the way to install."""
        installing = self._install.routes() if self._install is not None else []
        return [web.post(PATH, self._http), *installing]

    @property
    def refused(self) -> dict[str, int]:
        """How many requests were refused since the start, by reason."""
        return dict(self._verifier.refused)

    async def start(self) -> None:
        """Ask Slack who we are, and open the socket when there is an app token.

        Raises `DeliveryFailed` when the token can never work; when Slack is away, goes on without.
        """
        await self._app.open()
        try:
            await self._workspaces.start()
        except SlackFailed:
            await self._app.close()
            raise
        self._bolt = self._listeners.wire(self._app.web_client(None))
        if self._presses is not None:
            watching = self._presses.watch(self._side)
            self._watch = asyncio.create_task(watching, name="slack presses")
        if self._settings.app_token:
            self._socket = SocketMode(self._settings, self._app, self._bolt, self._inflight)
            await self._socket.start()

    async def stop(self) -> None:
        """Refuse what is new, finish what was acknowledged, close."""
        self._stopping = True
        if self._socket is not None:
            await self._socket.stop()
        if self._watch is not None and self._presses is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._presses.stop()
        if late := await self._inflight.drain(self._settings.drain):
            _log.warning("slack: %d private notes or forms were not finished at stop", late)
        await self._workspaces.stop()
        await self._app.close()

    async def show(self, delivery: Delivery) -> Shown:
        """Post or update the message of one interrupt. Raises `DeliveryFailed`."""
        workspace, address = await self._workspaces.at(delivery.address)
        inner = replace(delivery, address=address)
        try:
            shown = await workspace.outbound.show(inner)
        except SlackFailed as failure:
            if not await self._workspaces.renewed(workspace, failure):
                raise
            shown = await workspace.outbound.show(inner)
        thread, post = delivery.thread, delivery.card.kind == "session.post"
        turn = thread is not None and (post or not thread.intro)
        if workspace.presence is None or turn:
            return shown
        return replace(shown, ref=await workspace.presence.talk.follow(inner, shown.ref))

    async def refresh_inboxes(self) -> None:
        """Bring the Home tabs up to date that were opened lately. Raises `StoreUnavailable`."""
        for workspace in self._workspaces.all():
            if workspace.presence is not None:
                await workspace.presence.homes.refresh()

    async def quiet_until(self, account: str, now: int) -> int:
        """When this account may be disturbed again (ms); 0: now."""
        team, _, user = account.partition("/")
        workspace = await self._workspaces.named(team)
        presence = workspace.presence if workspace is not None else None
        if presence is None or presence.quiet is None:
            return 0
        return presence.quiet.until((await presence.viewers.of(user)).zone, now)

    async def remind(self, address: str, ref: Ref, reminder: Reminder) -> None:
        """Remind in the thread below a card. Raises `NotYet`, `DeliveryFailed`."""
        workspace, within = await self._workspaces.at(address)
        if workspace.presence is not None:
            await workspace.presence.talk.remind(within, ref, reminder)

    def check_address(self, address: str) -> str:
        """`#name`, a channel id or `@` and a user id, behind `<workspace>/` where there are several.
        Raises `ValueError`."""
        workspace, within = split_address(address.strip())
        found = canonical_address(within)
        return f"{workspace}/{found}" if workspace else found

    def _workspace(self, settings: SlackSettings, team: str) -> Workspace:
        client = SlackClient(settings, self._rates)
        presence = None
        if self._around is not None:
            presence = make(client, self._intake, self._inflight, team, self._around)
        speaking = Speaking(client, presence.viewers if presence is not None else None)
        dialogs = Dialogs(client, self._intake, self._dedupe, self._inflight, speaking, team)
        threads = presence.threads if presence is not None else None
        inbound = Inbound(
            client,
            self._intake,
            self._dedupe,
            self._inflight,
            speaking,
            dialogs,
            team,
            threads,
            self._presses,
            presence.talks if presence is not None else None,
        )
        return Workspace(client, inbound, dialogs, Outbound(client), presence)

    async def _side(self, origin: tuple[str, ...]) -> Inbound | None:
        """The workspace that a press came to which somebody else left."""
        for name in origin:
            if (found := await self._workspaces.named(name)) is not None:
                return found.inbound
        return None

    async def _http(self, request: web.Request) -> web.Response:
        if self._stopping or self._bolt is None:
            return _error(503, "sayso.unavailable", "This gateway is stopping; send it again.")
        try:
            body = await read(request, self._verifier)
            payload = self._verifier.check(request.headers, body, time.time())
        except SlackRequestRefused as refusal:
            _log.warning("slack: refused a request: %s", refusal.reason)
            return _error(refusal.status, _CODES[refusal.status], f"Refused: {refusal.reason}.")
        if payload.get("type") == RATE_LIMITED:
            _log.warning("slack: more than 30,000 events an hour; Slack holds some back")
            return web.Response()
        found = await dispatch(self._bolt, payload, request.headers, request.query_string)
        return await to_aiohttp_response(found)


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": code, "message": message}, status=status)
