"""Socket Mode: Slack's payloads over a websocket that we open, through the same bolt app.

The SDK's client reconnects by itself, and has been seen dead in ways it does not notice. So a
supervisor looks at it, and replaces it when it is unhealthy for longer than its own recovery takes.
There are two of them: Slack sends each payload over one, and refreshes a connection every few hours; while
one is opened anew the other goes on.
Envelopes are handled a bounded number at a time; an envelope is acknowledged only when its handler
answered 200, so what was not stored comes again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from time import time

from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from adapters.slack.client import SlackClient, quiet_logger
from adapters.slack.dispatch import MALFORMED, dispatch
from adapters.slack.inflight import InFlight
from adapters.slack.settings import SlackSettings
from adapters.slack.shapes import flaw

_log = logging.getLogger(__name__)

_STRIKES = 3  # unhealthy looks in a row before the client is replaced
_CONNECT = 15.0  # seconds for one attempt to connect
_BACKOFF = 60.0  # the longest wait between attempts, in seconds


class SocketMode:
    """Supervised sockets of one app, and what comes over them."""

    def __init__(
        self, settings: SlackSettings, client: SlackClient, bolt: AsyncApp, inflight: InFlight
    ) -> None:
        self._settings = settings
        self._client = client
        self._bolt = bolt
        self._inflight = inflight
        self._slots = asyncio.Semaphore(settings.socket_concurrency)
        self._taking = True
        self._stopping = asyncio.Event()
        self._ready = asyncio.Event()
        self._supervisors: list[asyncio.Task[None]] = []
        self._sockets: set[SocketModeClient] = set()
        self.replaced = 0

    async def start(self) -> None:
        """Connect. Returns when one is connected, or when it will go on trying in the background."""
        for number in range(self._settings.socket_connections):
            work = self._supervise()
            self._supervisors.append(asyncio.create_task(work, name=f"slack socket {number}"))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ready.wait(), self._settings.request_timeout)
        if not self._ready.is_set():
            _log.error("slack: Socket Mode is not connected yet; trying on")

    async def healthy(self) -> bool:
        """Whether a socket is open and answers its pings."""
        return any([await socket.is_connected() for socket in list(self._sockets)])

    async def stop(self) -> None:
        """Take nothing new, finish what was taken, then close."""
        self._taking = False
        if late := await self._inflight.drain(self._settings.drain):
            _log.warning(
                "slack: %d envelopes were not finished at stop; Slack sends them again", late
            )
        self._stopping.set()  # only now: the supervisors close the sockets that the answers go by
        await asyncio.gather(*self._supervisors, return_exceptions=True)

    async def _supervise(self) -> None:
        wait = self._settings.socket_check
        while not self._stopping.is_set():
            socket = self._new()
            try:
                await asyncio.wait_for(self._connect(socket), _CONNECT)
                wait = self._settings.socket_check
                self._sockets.add(socket)
                self._ready.set()
                await self._watch(socket)
            except SlackApiError as error:
                _log.error("slack: Socket Mode refused: %s", error.response.get("error"))
            except Exception as error:
                _log.warning("slack: Socket Mode did not connect: %s", type(error).__name__)
            finally:
                self._sockets.discard(socket)
                await _close(socket)
            if not self._stopping.is_set():
                self.replaced += 1
                await self._pause(wait)
                wait = min(wait * 2, _BACKOFF)

    async def _watch(self, socket: SocketModeClient) -> None:
        """Return when the socket has to be replaced or the channel stops."""
        strikes = 0
        while not self._stopping.is_set() and strikes < _STRIKES:
            await self._pause(self._settings.socket_check)
            strikes = 0 if await socket.is_connected() else strikes + 1
        if strikes:
            _log.warning("slack: the socket is dead; opening a new one")

    def _new(self) -> SocketModeClient:
        socket = SocketModeClient(
            app_token=self._settings.app_token,
            web_client=self._client.web_client(None),
            logger=quiet_logger("socket"),
            ping_interval=self._settings.socket_check,
        )
        if self._settings.is_loopback:
            socket.proxy = None
        socket.socket_mode_request_listeners.append(self._receive)
        return socket

    async def _connect(self, socket: SocketModeClient) -> None:
        # Asked for here, because the client's own connect() would try a wrong token for ever.
        socket.wss_uri = await socket.issue_new_wss_url()
        await socket.connect()  # type: ignore[no-untyped-call]

    async def _receive(self, socket: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Called by the SDK in a task that nobody holds; so the work gets one that is held."""
        if self._taking:
            self._inflight.start(self._handle(socket, request))

    async def _handle(self, socket: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        found = flaw(request.payload)
        if not found:
            retry = {"x-slack-retry-num": str(request.retry_attempt or 0)}
            async with self._slots:
                answer = await dispatch(self._bolt, request.payload, retry)
                if answer.status != MALFORMED:
                    await send_async_response(socket, request, answer, time())
                    return
        # Here nobody can be told 400, and what is not acknowledged stalls or comes again.
        _log.warning("slack: took no notice of an envelope: %s", found or "malformed")
        await socket.send_socket_mode_response(SocketModeResponse(request.envelope_id))

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


async def _close(socket: SocketModeClient) -> None:
    try:
        await socket.close()  # type: ignore[no-untyped-call]
    except Exception as error:  # a broken connection may not close cleanly, and is gone anyway
        _log.debug("slack: closing a socket: %s", type(error).__name__)
