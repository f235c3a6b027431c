"""The calls to Slack, each with one deadline, no hidden retries, and failures in the channel's
terms.

The SDK's default handler sends a dropped chat.postMessage again, which posts a card twice: the
call has no idempotency key. So nothing is retried here; the delivery pump does that, and knows
what it repeats.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.channel_ids import ChannelIds
from adapters.slack.failures import SlackFailed, refusal
from adapters.slack.pacing import Pacing
from adapters.slack.render import Message
from adapters.slack.settings import SlackSettings
from host.coordination.port import Rates

_NAMES: Final = 10_000  # people whose names and direct channels are remembered
_HOSTS: Final = ("hooks.slack.com", "hooks.slack-gov.com")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are in Slack: the answer of auth.test."""

    team_id: str
    enterprise_id: str
    user_id: str
    bot_id: str


class SlackClient:
    """One workspace's Web API. Open it inside a running loop; close it at the end."""

    def __init__(self, settings: SlackSettings, rates: Rates | None = None) -> None:
        self._settings = settings
        self.pace = Pacing(settings.limits, rates, self._counted_by)
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None
        self._identity: Identity | None = None
        self._asking = asyncio.Lock()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._direct: OrderedDict[str, str] = OrderedDict()
        self.channel_ids = ChannelIds(self.look)

    async def open(self) -> None:
        """Open the one HTTP session. Calls nothing yet."""
        # With a session of ours the SDK's own timeout does not apply and aiohttp's is five minutes.
        timeout = aiohttp.ClientTimeout(total=self._settings.request_timeout)
        self._session = aiohttp.ClientSession(timeout=timeout)
        self._web = self.web_client(self._settings.bot_token)

    def use(self, token: str) -> None:
        """Call with this token from now on: the one before was exchanged for it."""
        self._web = self.web_client(token)

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    def web_client(self, token: str | None) -> AsyncWebClient:
        """An SDK client on the shared session, without retries."""
        web = AsyncWebClient(
            token=token,
            base_url=self._settings.api_url,
            session=self._session,
            retry_handlers=[],
            logger=quiet_logger("sdk"),
        )
        if self._settings.is_loopback:
            web.proxy = None  # the SDK takes HTTP_PROXY and knows no NO_PROXY
        return web

    async def identity(self) -> Identity:
        """Who we are. Asked once, whoever asks first; raises `SlackFailed` and asks again next
        time.
        """
        if self._identity is None:
            async with self._asking:
                if self._identity is None:
                    found = await self.call("auth.test", {})
                    self._identity = Identity(
                        team_id=found.get("team_id") or "",
                        enterprise_id=found.get("enterprise_id") or "",
                        user_id=found.get("user_id") or "",
                        bot_id=found.get("bot_id") or "",
                    )
        return self._identity

    async def _counted_by(self) -> str:
        """What Slack counts our calls by: this bot, in this workspace or organisation; "" while Slack
        has not said who we are."""
        try:
            own = await self.identity()
        except SlackFailed:
            return ""
        return own.bot_id or own.enterprise_id or own.team_id

    async def call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call one method with JSON arguments. Raises `SlackFailed`."""
        return await self._call(method, json=arguments)

    async def look(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The same for a method that reads: most of those take a query string and ignore JSON."""
        return await self._call(method, http_verb="GET", params=arguments)

    async def _call(self, method: str, **sent: Any) -> dict[str, Any]:
        if self._web is None:
            raise SlackFailed(method, "", detail="the channel is not started")
        try:
            response = await self._web.api_call(method, **sent)
        except SlackApiError as error:
            raise refusal(method, error) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reached = not isinstance(error, aiohttp.ClientConnectorError)
            raise SlackFailed(method, "", detail=type(error).__name__, sent=reached) from None
        data = response.data
        if not isinstance(data, dict):
            raise SlackFailed(method, "", detail="the answer is not JSON")
        return data

    async def post(
        self, channel: str, message: Message, thread: str = "", mark: dict[str, Any] | None = None
    ) -> dict[str, str]:
        """Post a message; the answer is where it is, in the ids that an update needs. `mark` is its
        metadata, by which it can be found again. After a 429 the pace knows; nothing is repeated."""
        arguments = _message(channel, message)
        if thread:
            arguments["thread_ts"] = thread
        if mark is not None:
            arguments["metadata"] = mark
        try:
            found = await self.call("chat.postMessage", arguments)
        except SlackFailed as failure:
            if failure.retry_after is not None:
                await self.pace.post_limited(channel, failure.retry_after)
            raise
        return {"channel": str(found["channel"]), "ts": str(found["ts"])}

    async def update(self, ref: dict[str, Any], message: Message) -> None:
        """Make a message of ours equal to `message`."""
        arguments = _message(str(ref["channel"]), message)
        del arguments["unfurl_links"], arguments["unfurl_media"]
        try:
            await self.call("chat.update", {**arguments, "ts": str(ref["ts"])})
        except SlackFailed as failure:
            if failure.retry_after is not None:
                await self.pace.updates_limited(failure.retry_after)
            raise

    async def private(self, channel: str, user: str, text: str, thread: str = "") -> None:
        """A note that only `user` sees, in a channel. `text` is already escaped."""
        arguments = {"channel": channel, "user": user, "text": text}
        await self.call("chat.postEphemeral", arguments | ({"thread_ts": thread} if thread else {}))

    async def respond(self, url: str, text: str) -> None:
        """The same through a click's response_url: works where the bot is no member. The URL comes from
        a payload: it is called only when it is Slack's own."""
        if self._session is None or not self._may_call(url):
            raise SlackFailed("response_url", "not_allowed")
        body = {"text": text, "response_type": "ephemeral", "replace_original": False}
        try:
            async with self._session.post(url, json=body, allow_redirects=False) as response:
                if response.status != 200:
                    raise SlackFailed("response_url", "", detail=f"HTTP {response.status}")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SlackFailed("response_url", "", detail=type(error).__name__) from None

    async def direct(self, user: str) -> str:
        """The D… id of the conversation with one person: what an update needs."""
        if (known := self._direct.get(user)) is not None:
            return known
        found = await self.call("conversations.open", {"users": user})
        channel = str(found["channel"]["id"])
        return _remember(self._direct, user, channel)

    async def name_of(self, user: str) -> str:
        """A person's display name; empty when Slack can't say. Never raises: a name decides
        nothing.
        """
        if (known := self._names.get(user)) is not None:
            return known
        try:
            found = (await self.look("users.info", {"user": user})).get("user") or {}
        except SlackFailed:
            return ""
        profile = found.get("profile") or {}
        name = profile.get("display_name") or profile.get("real_name") or found.get("name") or ""
        return _remember(self._names, user, str(name))

    def _may_call(self, url: str) -> bool:
        target = urlsplit(url)
        if target.scheme == "https" and target.hostname in _HOSTS:
            return True
        own = urlsplit(self._settings.api_url)
        return self._settings.is_loopback and (target.scheme, target.netloc) == own[:2]


def quiet_logger(name: str, level: int = logging.CRITICAL) -> logging.Logger:
    """A logger for Slack's libraries, which write payloads and socket URLs into theirs."""
    logger = logging.getLogger(f"adapters.slack.{name}")
    logger.setLevel(level)
    return logger


def _message(channel: str, message: Message) -> dict[str, Any]:
    return {
        "channel": channel,
        "text": message.text,
        "blocks": message.blocks,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _remember(known: OrderedDict[str, str], key: str, value: str) -> str:
    known[key] = value
    while len(known) > _NAMES:
        known.popitem(last=False)
    return value
