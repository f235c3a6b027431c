"""The Slack channel: wiring of the way out, the way in, and the two transports.

Bolt parses, authorises and dispatches; a catch-all listener for each kind of payload hands over to
`Inbound`. With `process_before_response` the answer goes out when the listener returns, so
'persist, then acknowledge' is the order of the code, without bolt's ten-millisecond poll for an
ack.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.channel import Delivery, Intake, Ref, Shown
from adapters.reminders import Reminder
from adapters.slack.acks import Ack
from adapters.slack.client import SlackClient, SlackFailed, quiet_logger
from adapters.slack.desk import Desk
from adapters.slack.directory import SlackRoster
from adapters.slack.dispatch import answer, dispatch, read
from adapters.slack.inbound import Dedupe, Inbound
from adapters.slack.inflight import InFlight
from adapters.slack.install import Exchange, Install
from adapters.slack.installations import Installations
from adapters.slack.options import suggest
from adapters.slack.origin import candidates, split_address
from adapters.slack.outbound import Outbound, canonical_address
from adapters.slack.presence import Surroundings, make
from adapters.slack.receive import map_of
from adapters.slack.rotation import Rotation
from adapters.slack.settings import SlackSettings
from adapters.slack.shapes import RATE_LIMITED
from adapters.slack.socket_mode import SocketMode
from adapters.slack.verify import SlackRequestRefused, Verifier
from adapters.slack.workspaces import Workspace, Workspaces
from host.store.records import StoreUnavailable

_log = logging.getLogger(__name__)

PATH: Final = "/slack/events"
_ANY = re.compile(r".*", re.DOTALL)
_CODES: Final = {400: "validation_error", 401: "unauthenticated", 413: "payload_too_large"}


class SlackChannel:
    """Slack as a `Channel`. `dedupe(key, ttl)` says whether a key is new in `ttl` seconds."""

    name = "slack"

    def __init__(
        self,
        settings: SlackSettings,
        intake: Intake,
        dedupe: Dedupe,
        installations: Installations | None = None,
        around: Surroundings | None = None,
    ) -> None:
        self._settings = settings
        self._intake = intake
        self._dedupe = dedupe
        self._around = around
        self._inflight = InFlight()
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
        self._bolt: AsyncApp | None = None
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
        self._bolt = self._wire()
        if self._settings.app_token:
            self._socket = SocketMode(self._settings, self._app, self._bolt, self._inflight)
            await self._socket.start()

    async def stop(self) -> None:
        """Refuse what is new, finish what was acknowledged, close."""
        self._stopping = True
        if self._socket is not None:
            await self._socket.stop()
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
        if workspace.presence is None or delivery.thread is not None:
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
        client = SlackClient(settings)
        inbound = Inbound(client, self._intake, self._dedupe, self._inflight, team)
        presence = None
        if self._around is not None:
            presence = make(client, self._intake, self._inflight, team, self._around)
            inbound.threads, inbound.viewers = presence.threads, presence.viewers
        return Workspace(client, inbound, Outbound(client), presence)

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

    def _wire(self) -> AsyncApp:
        bolt = AsyncApp(
            name="sayso",
            logger=quiet_logger("bolt", logging.ERROR),
            client=self._app.web_client(None),
            authorize=_authorized,
            signing_secret="",  # not read: the signature was checked over the raw bytes already
            request_verification_enabled=False,
            ssl_check_enabled=False,  # bolt would answer it before any verification
            ignoring_self_events_enabled=False,  # `receive` knows who is nobody, and why
            attaching_function_token_enabled=False,
            process_before_response=True,
        )
        bolt.action(_ANY)(self._on_action)
        bolt.view_submission(_ANY)(self._on_submission)
        bolt.view_closed(_ANY)(self._on_nothing)  # closing a form is not an answer
        bolt.event(_ANY)(self._on_event)
        bolt.shortcut(_ANY)(self._on_shortcut)
        bolt.options(_ANY)(self._on_options)
        bolt.command(_ANY)(self._on_command)
        return bolt

    async def _on_action(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        if workspace is not None and (desk := _desk(workspace)) is not None and desk.takes(body):
            return answer(await desk.click(body))
        return answer(await workspace.inbound.click(body) if workspace else _not_here(body))

    async def _on_submission(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        if workspace is not None and (desk := _desk(workspace)) is not None and desk.takes(body):
            return answer(await desk.submit(body))
        return answer(await workspace.inbound.submit(body) if workspace else _not_here(body))

    async def _on_event(self, body: dict[str, Any], req: AsyncBoltRequest) -> BoltResponse:
        count = (req.headers.get("x-slack-retry-num") or ["0"])[0]
        attempt = int(count) if count.isascii() and count.isdigit() else 0
        try:
            if await self._heard(body):
                return answer(Ack())
        except StoreUnavailable:
            return answer(Ack(503))  # Slack tells it again
        workspace = await self._workspaces.of(body)
        if workspace is None:
            return answer(_not_here(body))
        desk = _desk(workspace)
        if desk is not None and map_of(body, "event").get("type") == "app_home_opened":
            await desk.opened(body)
            return answer(Ack())
        return answer(await workspace.inbound.event(body, min(attempt, 99)))

    async def _heard(self, body: dict[str, Any]) -> bool:
        """Whether it was news of an installation or of people, and no word of a person."""
        event = body.get("event")
        if not isinstance(event, dict):
            return False
        revoked = event.get("tokens")
        kind = event.get("type")
        if kind == "app_uninstalled" or (
            kind == "tokens_revoked" and isinstance(revoked, dict) and revoked.get("bot")
        ):
            await self._workspaces.removed(body)
            return True
        return self.roster.heard(event)

    async def _on_nothing(self, body: dict[str, Any]) -> BoltResponse:
        return answer(Ack())

    async def _on_options(self, body: dict[str, Any]) -> BoltResponse:
        return answer(await suggest(self._intake, body, self._settings.default_team))

    async def _on_shortcut(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        desk = _desk(workspace) if workspace is not None else None
        return answer(await desk.shortcut(body) if desk is not None else Ack())

    async def _on_command(self, body: dict[str, Any]) -> BoltResponse:
        workspace = await self._workspaces.of(body)
        if workspace is None:
            return answer(_not_here(body))
        if (desk := _desk(workspace)) is not None:
            return answer(await desk.command(body))
        text = "Sayso has no commands: answer a request with the buttons of its message."
        return answer(Ack(body={"response_type": "ephemeral", "text": text}))


async def _authorized() -> AuthorizeResult:
    """Nothing is asked: bolt would call auth.test, 300 ms of a trigger's three seconds. Which
    installation a payload belongs to is looked up from memory where it is handled, and whether the
    person may do anything is asked of the host, at the decision.
    """
    return AuthorizeResult(enterprise_id=None, team_id=None, bot_token="")


def _desk(workspace: Workspace) -> Desk | None:
    return workspace.presence.desk if workspace.presence is not None else None


def _not_here(body: dict[str, Any]) -> Ack:
    """Nobody can be told anything: there is no token for that workspace."""
    names = ", ".join(candidates(body))[:200]
    _log.warning("slack: a payload of a workspace without an installation: %s", names)
    return Ack()


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": code, "message": message}, status=status)
