"""The calls to Slack, each with one deadline, no hidden retries, and failures in the channel's
terms.

The SDK's default handler sends a dropped chat.postMessage again, which posts a card twice: the
call has no idempotency key. So nothing is retried here; the delivery pump does that, and knows
what it repeats.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.channel import DeliveryFailed
from adapters.slack.pace import Pace
from adapters.slack.render import Message
from adapters.slack.settings import SlackSettings

_NAMES: Final = 10_000  # people whose names and direct channels are remembered
_HOSTS: Final = ("hooks.slack.com", "hooks.slack-gov.com")

_TRANSIENT: Final = {
    "accesslimited",
    "external_channel_migrating",
    "fatal_error",
    "internal_error",
    "message_limit_exceeded",
    "ratelimited",
    "request_timeout",
    "rollup_error",
    "service_unavailable",
    "team_added_to_org",
}

# Slack says of these that what was asked may have been done all the same.
_UNSURE: Final = {"", "fatal_error", "internal_error", "request_timeout", "service_unavailable"}

_ADVICE: Final = {
    "account_inactive": "the app was removed or its bot is deactivated; install it again",
    "channel_not_found": "no such channel, or it is private and the bot is not in it",
    "invalid_auth": "the bot token is wrong; set SLACK_BOT_TOKEN",
    "is_archived": "the channel is archived",
    "is_inactive": "the channel is archived",
    "message_not_found": "somebody deleted the message, and the one that was posted in its place",
    "missing_scope": "the app lacks a scope; add it and install the app again",
    "not_in_channel": "invite the bot to the channel",
    "restricted_action": "the workspace lets nobody but its owners post there",
    "thread_not_found": "somebody deleted the first message of the thread",
    "token_expired": "the bot token is over; install the app again",
    "token_revoked": "the bot token was revoked; install the app again",
    "user_not_found": "no such user in this workspace",
}


class SlackFailed(DeliveryFailed):
    """Slack said no, or said nothing. `error` is Slack's own word, or empty.

    `unsure`: what was asked may have been done all the same. `sent=False`: it never left this machine.
    """

    def __init__(
        self,
        method: str,
        error: str,
        *,
        detail: str = "",
        retry_after: float | None = None,
        sent: bool = True,
    ) -> None:
        permanent = bool(error) and error not in _TRANSIENT
        advice = detail or _ADVICE.get(error, "")
        reason = f"Slack {method}: {error or 'no answer'}" + (f" ({advice})" if advice else "")
        code = error if error in _ADVICE else ""
        super().__init__(reason, permanent=permanent, retry_after=retry_after, code=code)
        self.error = error
        self.unsure = sent and error in _UNSURE


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are in Slack: the answer of auth.test."""

    team_id: str
    enterprise_id: str
    user_id: str
    bot_id: str


class SlackClient:
    """One workspace's Web API. Open it inside a running loop; close it at the end."""

    def __init__(self, settings: SlackSettings) -> None:
        self._settings = settings
        self.pace = Pace(settings.limits, time.monotonic)
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None
        self._identity: Identity | None = None
        self._asking = asyncio.Lock()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._direct: OrderedDict[str, str] = OrderedDict()

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
            raise _failed(method, error) from None
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
                self.pace.post_limited(channel, failure.retry_after)
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
                self.pace.updates_limited(failure.retry_after)
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


def _failed(method: str, failure: SlackApiError) -> SlackFailed:
    """Slack's refusal without its response: that one holds the request's texts."""
    response = failure.response
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    data = getattr(response, "data", None)
    error = str(data.get("error", "")) if isinstance(data, dict) else ""
    if status == 429:
        after = str(response.headers.get("Retry-After", ""))
        return SlackFailed(
            method, "ratelimited", retry_after=float(after) if after.isdigit() else 30
        )
    if status >= 500 or not error:
        return SlackFailed(method, "", detail=f"HTTP {status}")
    detail = ""
    if isinstance(data, dict) and error in ("invalid_blocks", "invalid_arguments"):
        notes = (data.get("response_metadata") or {}).get("messages") or []
        detail = "; ".join(str(note) for note in notes)[:300]
    elif isinstance(data, dict) and error == "missing_scope":
        detail = f"the app lacks the scope {str(data.get('needed', '?'))[:100]}; install it again"
    return SlackFailed(method, error, detail=detail)
