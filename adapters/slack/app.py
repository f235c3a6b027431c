"""The Slack channel: wiring of the way out, the way in, and the two transports.

Bolt parses, authorises and dispatches; a catch-all listener for each kind of payload hands over to
`Inbound`. With `process_before_response` the answer goes out when the listener returns, so
'persist, then acknowledge' is the order of the code, without bolt's ten-millisecond poll for an
ack.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.channel import Delivery, Intake, Shown
from adapters.slack.client import SlackClient, SlackFailed, quiet_logger
from adapters.slack.inbound import Ack, Dedupe, Inbound
from adapters.slack.inflight import InFlight
from adapters.slack.outbound import Outbound, canonical_address
from adapters.slack.settings import SlackSettings
from adapters.slack.socket_mode import SocketMode
from adapters.slack.verify import MAX_BODY, SlackRequestRefused, Verifier

_log = logging.getLogger(__name__)

PATH: Final = "/slack/events"
_BODY_PATIENCE: Final = 10.0
_ANY = re.compile(r".*", re.DOTALL)
_CODES: Final = {400: "validation_error", 401: "unauthenticated", 413: "payload_too_large"}


class SlackChannel:
    """Slack as a `Channel`. `dedupe(key, ttl)` says whether a key is new in `ttl` seconds."""

    name = "slack"

    def __init__(self, settings: SlackSettings, intake: Intake, dedupe: Dedupe) -> None:
        self._settings = settings
        self._client = SlackClient(settings)
        self._inflight = InFlight()
        self._inbound = Inbound(self._client, intake, dedupe, self._inflight, settings.default_team)
        self._outbound = Outbound(self._client)
        self._verifier = Verifier(settings.signing_secrets)
        self._bolt: AsyncApp | None = None
        self._socket: SocketMode | None = None
        self._stopping = False

    def routes(self) -> Sequence[web.RouteDef]:
        """The one ingress of events and interactivity."""
        return [web.post(PATH, self._http)]

    @property
    def refused(self) -> dict[str, int]:
        """How many requests were refused since the start, by reason."""
        return dict(self._verifier.refused)

    async def start(self) -> None:
        """Ask Slack who we are, and open the socket when there is an app token.

        Raises `DeliveryFailed` when the token can never work; when Slack is away, goes on without.
        """
        await self._client.open()
        try:
            await self._client.identity()
        except SlackFailed as failure:
            if failure.permanent:
                await self._client.close()
                raise
            _log.warning("slack: starting without Slack: %s", failure.reason)
        self._bolt = self._wire()
        if self._settings.app_token:
            self._socket = SocketMode(self._settings, self._client, self._bolt, self._inflight)
            await self._socket.start()

    async def stop(self) -> None:
        """Refuse what is new, finish what was acknowledged, close."""
        self._stopping = True
        if self._socket is not None:
            await self._socket.stop()
        if late := await self._inflight.drain(self._settings.drain):
            _log.warning("slack: %d private notes or forms were not finished at stop", late)
        await self._client.close()

    async def show(self, delivery: Delivery) -> Shown:
        """Post or update the message of one interrupt. Raises `DeliveryFailed`."""
        return await self._outbound.show(delivery)

    def check_address(self, address: str) -> str:
        """`#name`, a channel id or `@` and a user id. Raises `ValueError`."""
        return canonical_address(address)

    async def _http(self, request: web.Request) -> web.Response:
        if self._stopping or self._bolt is None:
            return _error(503, "sayso.unavailable", "This gateway is stopping; send it again.")
        try:
            body = await self._read(request)
            self._verifier.check(request.headers, body, time.time())
        except SlackRequestRefused as refusal:
            _log.warning("slack: refused a request: %s", refusal.reason)
            return _error(refusal.status, _CODES[refusal.status], f"Refused: {refusal.reason}.")
        asked = AsyncBoltRequest(
            body=body.decode(),
            query=request.query_string,
            headers=request.headers,  # type: ignore[arg-type]  # any mapping of names to values
        )
        return await to_aiohttp_response(await self._bolt.async_dispatch(asked))

    async def _read(self, request: web.Request) -> bytes:
        """The raw body, bounded by our own limit whatever the application's is."""
        if (request.content_length or 0) > MAX_BODY:
            raise self._verifier.refuse_size()
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_PATIENCE):
                async for chunk in request.content.iter_chunked(64 * 1024):
                    body += chunk
                    if len(body) > MAX_BODY:
                        raise self._verifier.refuse_size()
        except TimeoutError:
            raise SlackRequestRefused(400, "body too slow") from None
        return bytes(body)

    def _wire(self) -> AsyncApp:
        bolt = AsyncApp(
            name="sayso",
            logger=quiet_logger("bolt", logging.ERROR),
            client=self._client.web_client(None),
            authorize=_authorizer(self._client, self._settings.bot_token),
            signing_secret="",  # not read: the signature was checked over the raw bytes already
            request_verification_enabled=False,
            ssl_check_enabled=False,  # bolt would answer it before any verification
            process_before_response=True,
        )
        bolt.action(_ANY)(self._on_action)
        bolt.view_submission(_ANY)(self._on_submission)
        bolt.view_closed(_ANY)(self._on_nothing)  # closing a form is not an answer
        bolt.event(_ANY)(self._on_event)
        bolt.shortcut(_ANY)(self._on_nothing)
        bolt.options(_ANY)(self._on_options)
        bolt.command(_ANY)(self._on_command)
        return bolt

    async def _on_action(self, body: dict[str, Any]) -> BoltResponse:
        return _answer(await self._inbound.click(body))

    async def _on_submission(self, body: dict[str, Any]) -> BoltResponse:
        return _answer(await self._inbound.submit(body))

    async def _on_event(self, body: dict[str, Any], req: AsyncBoltRequest) -> BoltResponse:
        count = (req.headers.get("x-slack-retry-num") or ["0"])[0]
        attempt = int(count) if count.isascii() and count.isdigit() else 0
        return _answer(await self._inbound.event(body, min(attempt, 99)))

    async def _on_nothing(self, body: dict[str, Any]) -> BoltResponse:
        return _answer(Ack())

    async def _on_options(self, body: dict[str, Any]) -> BoltResponse:
        return _answer(Ack(body={"options": []}))

    async def _on_command(self, body: dict[str, Any]) -> BoltResponse:
        text = "Sayso has no commands: answer a request with the buttons of its message."
        return _answer(Ack(body={"response_type": "ephemeral", "text": text}))


def _authorizer(client: SlackClient, token: str) -> Callable[[], Awaitable[AuthorizeResult]]:
    """Our own installation, from memory: bolt would call auth.test, 300 ms of a trigger's three
    seconds. Whether the person may do anything is asked of the host, at the decision.

    A plain function, because bolt hands a method its `self` twice.
    """

    async def authorize() -> AuthorizeResult:
        try:
            found = await client.identity()
        except SlackFailed:
            return AuthorizeResult(enterprise_id=None, team_id=None, bot_token=token)
        return AuthorizeResult(
            enterprise_id=found.enterprise_id or None,
            team_id=found.team_id,
            bot_token=token,
            bot_id=found.bot_id,
            bot_user_id=found.user_id,
        )

    return authorize


def _answer(ack: Ack) -> BoltResponse:
    if ack.body is None:
        return BoltResponse(status=ack.status, body="")
    return BoltResponse(
        status=ack.status,
        body=json.dumps(ack.body),
        headers={"content-type": "application/json"},
    )


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": code, "message": message}, status=status)
