"""The webhooks by which providers bring mail: `/mail/ses`, `/mail/postmark`, `/mail/mailgun/mime`,
`/mail/sendgrid`; and report on mail of ours that did not arrive: `/mail/postmark/reports`,
`/mail/mailgun/reports`, `/mail/ses` once more.

Bounded, then verified, then taken; 2xx only when what became of the mail is durable. What trying again can't
mend is answered so that the provider doesn't.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import aiohttp
import structlog
from aiohttp import web
from aiohttp.client_exceptions import ClientError

from adapters.email.handles import Handle, parse_reply_address
from adapters.email.inbound.desk import Arrival
from adapters.email.inbound.inbox import Inbox
from adapters.email.inbound.ledger import Ledger
from adapters.email.inbound.providers import mailgun, postmark, sendgrid, ses
from adapters.email.inbound.providers.provider import (
    Asked,
    Brought,
    NotProven,
    NotUsable,
    Reported,
)
from adapters.email.inbound.providers.sns import Fetch, SnsVerifier
from adapters.email.inbound.sender import Trust
from adapters.email.inbound.settings import InboundSettings
from host.store.records import StoreUnavailable
from schemas.errors import Refusal

log = structlog.get_logger(__name__)

BODY_DEADLINE: Final = 20.0
"""Seconds for a body to arrive."""
FETCH_BYTES: Final = 64 * 1024
_RETRY: Final = {"Retry-After": "10"}


async def fetch(url: str) -> bytes:
    """GET one https URL whose host the caller has pinned: no redirect, few bytes, five seconds. Whom it
    trusts is read anew, so a system's renewed store (or `SSL_CERT_FILE`) counts without a restart."""
    timeout = aiohttp.ClientTimeout(total=5)
    trusted = await asyncio.to_thread(ssl.create_default_context)
    async with (
        aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.get(url, allow_redirects=False, ssl=trusted) as response,
    ):
        if response.status != 200:
            raise OSError(f"status {response.status}")
        return await response.content.read(FETCH_BYTES)


class Hooks:
    """The routes of the providers that are set up. `clock` gives milliseconds since 1970."""

    def __init__(
        self,
        settings: InboundSettings,
        inbox: Inbox,
        ledger: Ledger,
        clock: Callable[[], int],
        fetched: Fetch = fetch,
    ) -> None:
        self._settings = settings
        self._inbox = inbox
        self._ledger = ledger
        self._clock = clock
        self._fetch = fetched
        self._sns = SnsVerifier(settings.ses_topics, fetched)
        key = settings.sendgrid_key
        self._sendgrid = sendgrid.public_key(key) if key else None

    def routes(self) -> Sequence[web.RouteDef]:
        settings = self._settings
        found = []
        if settings.ses_topics:
            found.append(web.post("/mail/ses", self._ses))
        if settings.postmark_password:
            found.append(web.post("/mail/postmark", self._postmark))
            found.append(web.post("/mail/postmark/reports", self._postmark_reports))
        if settings.mailgun_key:
            found.append(web.post("/mail/mailgun/mime", self._mailgun))
            found.append(web.post("/mail/mailgun/reports", self._mailgun_reports))
        if self._sendgrid is not None:
            found.append(web.post("/mail/sendgrid", self._by_sendgrid))
        return found

    async def _postmark(self, request: web.Request) -> web.Response:
        async def receive(asked: Asked) -> Brought:
            return postmark.receive(asked, self._settings.postmark_password)

        return await self._take(request, receive)

    async def _mailgun(self, request: web.Request) -> web.Response:
        async def receive(asked: Asked) -> Brought:
            settings = self._settings
            return await asyncio.to_thread(
                mailgun.receive, asked, settings.mailgun_key, settings.max_bytes
            )

        return await self._take(request, receive)

    async def _postmark_reports(self, request: web.Request) -> web.Response:
        async def receive(asked: Asked) -> Reported:
            return postmark.report(asked, self._settings.postmark_password)

        return await self._take(request, receive)

    async def _mailgun_reports(self, request: web.Request) -> web.Response:
        async def receive(asked: Asked) -> Reported:
            return mailgun.report(asked, self._settings.mailgun_key)

        return await self._take(request, receive)

    async def _by_sendgrid(self, request: web.Request) -> web.Response:
        async def receive(asked: Asked) -> Brought:
            assert self._sendgrid is not None
            return await asyncio.to_thread(
                sendgrid.receive, asked, self._sendgrid, self._settings.max_bytes
            )

        return await self._take(request, receive)

    async def _ses(self, request: web.Request) -> web.Response:
        async def receive(asked: Asked) -> Brought | Reported | None:
            message = await self._sns.verify(asked)
            if not message.subscribe:
                return ses.receive(message.text)
            try:
                await self._fetch(message.subscribe)
            except (ClientError, OSError, TimeoutError) as error:
                raise NotUsable(f"the topic was not confirmed: {type(error).__name__}") from None
            log.info("mail.topic_confirmed")
            return None

        return await self._take(request, receive)

    async def _take(
        self, request: web.Request, receive: Callable[[Asked], Awaitable[Brought | Reported | None]]
    ) -> web.Response:
        try:
            body = await self._read(request)
            headers = {name.lower(): value for name, value in request.headers.items()}
            brought = await receive(Asked(headers, body, self._clock() / 1000))
            became = await self._became(brought) if brought is not None else "confirmed"
        except NotProven as why:
            log.warning("mail.not_proven", path=request.path, why=str(why))
            # One sentence for all reasons: which one it was helps an attacker more than a provider.
            unproven = Refusal("unauthenticated", "this request is not proven to be the provider's")
            basic = request.path.startswith("/mail/postmark")
            headers = {"WWW-Authenticate": "Basic"} if basic else {}
            return web.json_response(unproven.envelope(), status=401, headers=headers)
        except NotUsable as why:
            log.error("mail.not_usable", path=request.path, why=str(why))
            unusable = Refusal("validation_error", str(why))
            return web.json_response(unusable.envelope(), status=unusable.status)
        except Refusal as refusal:
            retry = _RETRY if refusal.status == 503 else None
            return web.json_response(refusal.envelope(), status=refusal.status, headers=retry)
        except StoreUnavailable:
            away = Refusal("sayso.unavailable", "The mail was not kept. Send it again.")
            return web.json_response(away.envelope(), status=away.status, headers=_RETRY)
        return web.json_response({"status": became})

    async def _became(self, brought: Brought | Reported) -> str:
        if brought.once and await self._ledger.seen(brought.once):
            raise NotProven("this very request was here before")
        if isinstance(brought, Brought):
            became = await self._arrived(brought)
        elif brought.machine is None:
            became = "ignored"
        else:
            became = await self._inbox.reported(brought.mark, brought.machine)
        if brought.once:
            await self._ledger.keep_seen(brought.once, became)
        return became

    async def _arrived(self, brought: Brought) -> str:
        if len(brought.raw) > self._settings.max_bytes:
            raise NotUsable("the mail is too large")
        handles = self._handles(brought)
        if len(handles) != 1:
            log.warning("mail.for_nobody" if not handles else "mail.for_several")
            return "refused"
        (handle,) = handles
        known = await self._inbox.knows(handle)
        if known == "later":
            raise Refusal("rate_limited", "this address took too many mails; send it again later")
        if known == "no":
            return "gone"
        trust = Trust(dkim=self._settings.dkim, verdict=brought.verdict)
        return await self._inbox.take(Arrival(brought.raw, handle, brought.mail_from, trust))

    def _handles(self, brought: Brought) -> set[Handle]:
        place = self._settings.place
        found = (parse_reply_address(each.strip(), place) for each in brought.recipients)
        return {each for each in found if each is not None}

    async def _read(self, request: web.Request) -> bytes:
        """The raw body. Base64 and JSON make a mail larger than it is, by half at most."""
        limit = self._settings.max_bytes * 3 // 2 + 64 * 1024
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_DEADLINE):
                async for chunk in request.content.iter_any():
                    body += chunk
                    if len(body) > limit:
                        raise Refusal("payload_too_large", f"the body has more than {limit} bytes")
        except (TimeoutError, ClientError, web.RequestPayloadError, asyncio.IncompleteReadError):
            raise Refusal("validation_error", "the body did not arrive whole; send again") from None
        return bytes(body)
