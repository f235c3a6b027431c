"""The webhooks channel: `/hooks/{sourceId}`, and nothing shown to anybody.

Order matters. The source is looked up, the raw bytes are read within bounds, their signature and
freshness are verified, and only then is anything parsed. The answer goes out when the event is
durable. Providers retry for days on anything but 2xx and then switch the endpoint off, so what they
can't help (an unknown event, a mapping of ours that fails) is stored and answered 200; 5xx says
only that the store is away, or the provider that has to be asked. GET and OPTIONS are there for the
handshakes of the few providers that have one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

import structlog
from aiohttp import web
from aiohttp.client_exceptions import ClientError

from adapters.channel import Delivery, DeliveryFailed, Intake
from adapters.webhooks.fetch_back import FetchBack, FetchFailed
from adapters.webhooks.providers.provider import JSON, Lookup
from adapters.webhooks.receive import Received, receive_all
from adapters.webhooks.settings import HookSource
from adapters.webhooks.verify import SignatureRefused, verify
from schemas.errors import Refusal

log = structlog.get_logger(__name__)

RETRY_AFTER: Final = 5
"""Seconds that a provider is asked to wait while the store, or its own API, is away."""
BODY_DEADLINE: Final = 20.0
"""Seconds for a body to arrive. Providers give us 5 to 30 for all of it."""

_AT_ONCE: Final = 64
"""Events of one body that are on their way to the store together."""

_SHOWS_NOTHING: Final = (
    "webhooks only receive: name a slack, email or web address in notify instead"
)


class WebhooksChannel:
    """Signed events of providers, in.

    `clock` gives Unix seconds. `count(source, outcome)` counts: `source` is the id of a configured
    source or "unknown", `outcome` one of "stored", "duplicate", "unmapped", "unavailable",
    "failed", "unknown_source", "too_large", "unsupported", "incomplete", "handshake", "no_object",
    "rate_limited", "fetch_" with the reason of a fetch that failed, and "refused_" with the verifier's
    reason. `fetching` asks the providers that sign nothing; raises `ValueError` without it for a source
    of one.
    """

    name = "webhooks"

    def __init__(
        self,
        sources: Mapping[str, HookSource],
        intake: Intake,
        clock: Callable[[], float],
        count: Callable[[str, str], None],
        *,
        fetching: FetchBack | None = None,
        body_deadline: float = BODY_DEADLINE,
    ) -> None:
        for source in sources.values():
            if source.lookup is not None and fetching is None:
                raise ValueError(f"hooks.{source.id}: {source.provider} can't be asked from here")
        self.fetching = fetching
        self._sources = dict(sources)
        self._intake = intake
        self._clock = clock
        self._count = count
        self._body_deadline = body_deadline

    def routes(self) -> Sequence[web.RouteDef]:
        """The one ingress, for all sources."""
        path = "/hooks/{sourceId}"
        return [
            web.post(path, self._receive),
            web.get(path, self._greet, allow_head=False),
            web.options(path, self._greet),
        ]

    async def start(self) -> None:
        """Nothing to open: the gateway serves the route."""

    async def stop(self) -> None:
        """Nothing to close: what was acknowledged is stored already."""

    async def show(self, delivery: Delivery) -> NoReturn:
        """Always raises `DeliveryFailed`, for good."""
        raise DeliveryFailed(_SHOWS_NOTHING, permanent=True)

    def check_address(self, address: str) -> NoReturn:
        """Always raises `ValueError`: there is nobody to notify behind a webhook source."""
        raise ValueError(_SHOWS_NOTHING)

    async def _receive(self, request: web.Request) -> web.Response:
        source = self._sources.get(request.match_info["sourceId"])
        if source is None:
            self._count("unknown", "unknown_source")
            return _unread(Refusal("not_found", "no webhook source has this URL"))
        try:
            _check_form(request, source.media)
            body = await self._read(request, source.max_body)
        except Refusal as refusal:
            self._count(source.id, _UNREADABLE[refusal.code])
            return _unread(refusal)
        if source.lookup is not None:
            return await self._look_up(source, source.lookup, body)
        headers = _headers(request)
        try:
            url = signed_url(source, request.raw_path.partition("?")[2])
            verify(source.scheme, source.secrets, headers, body, self._clock(), url)
        except SignatureRefused as refused:
            self._count(source.id, f"refused_{refused.reason}")
            # One sentence for all reasons: which one it was helps an attacker more than a provider.
            return _refused(
                Refusal(
                    "unauthenticated", "the signature is missing, wrong or too old for this URL"
                )
            )
        greeted = source.handshake(headers, body) if source.handshake is not None else None
        if greeted is not None:
            self._count(source.id, "handshake")
            return web.json_response(dict(greeted))
        return await self._file(source, receive_all(source, headers, body))

    async def _look_up(self, source: HookSource, lookup: Lookup, body: bytes) -> web.Response:
        """A notice that nobody signed: have its provider tell what it is about.

        Who calls learns nothing: an object that there isn't, a new state and a known one have one answer.
        """
        try:
            asked = lookup.read(body)
        except Exception:
            self._count(source.id, "refused_malformed")
            told = f"this is no notice of {source.provider}: send one id, as a form"
            return _refused(Refusal("validation_error", told))
        assert self.fetching is not None  # `__init__` saw to it
        wait = self.fetching.wait(source.id, self._clock())
        if wait:
            self._count(source.id, "rate_limited")
            told = "too many calls; send this one again later"
            return _refused(Refusal("rate_limited", told), math.ceil(wait))
        try:
            raw = await self.fetching.fetch(source, asked)
        except FetchFailed as failed:
            self._count(source.id, f"fetch_{failed.reason}")
            log.warning("provider not asked", source=source.id, reason=failed.reason)
            told = "the object can't be looked up now; send this again later"
            return _refused(Refusal("sayso.unavailable", told))
        if raw is None:
            self._count(source.id, "no_object")
            return web.json_response(_RECEIVED)
        # Headers are of the notice, which is anybody's: the mapping sees none.
        answer = await self._file(source, receive_all(source, {}, raw))
        return web.json_response(_RECEIVED) if answer.status == 200 else answer

    async def _greet(self, request: web.Request) -> web.Response:
        """A provider's handshake before its first event."""
        source = self._sources.get(request.match_info["sourceId"])
        if source is None:
            self._count("unknown", "unknown_source")
            return _unread(Refusal("not_found", "no webhook source has this URL"))
        greeting = source.greeting
        if greeting is None or greeting.method != request.method:
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        answer = greeting.answer(source.secrets, request.query, _headers(request))
        if answer is None:
            return _refused(
                Refusal("validation_error", "this is not the handshake of the source's provider")
            )
        return web.Response(text=answer.text, headers=answer.headers)

    async def _file(self, source: HookSource, found: Sequence[Received]) -> web.Response:
        """Store all events of one request, and only then answer: a batch is sent again as a whole."""
        said: list[str] = []
        try:
            for start in range(0, len(found), _AT_ONCE):
                part = found[start : start + _AT_ONCE]
                filing = (self._intake.event(source.id, one.event) for one in part)
                said += await asyncio.gather(*filing)
        except Refusal as refusal:
            self._count(source.id, "unavailable" if refusal.status == 503 else "failed")
            return _refused(refusal)
        except Exception:
            self._count(source.id, "failed")
            raise
        for one, status in zip(found, said, strict=True):
            known = one.mapped or status == "duplicate"
            self._count(source.id, status if known else "unmapped")
        status = "duplicate" if said and set(said) == {"duplicate"} else "stored"
        answer: dict[str, Any] = {"status": status}
        return web.json_response(answer if len(said) == 1 else answer | {"events": len(said)})

    async def _read(self, request: web.Request, limit: int) -> bytes:
        """The raw body. Read by hand: each source has a limit of its own."""
        if (request.content_length or 0) > limit:
            raise _too_large(limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_deadline):
                async for chunk in request.content.iter_any():
                    body += chunk
                    if len(body) > limit:
                        raise _too_large(limit)
        except (TimeoutError, ClientError, web.RequestPayloadError, asyncio.IncompleteReadError):
            raise Refusal("validation_error", "the body did not arrive whole; send again") from None
        return bytes(body)


_RECEIVED: Final = {"status": "received"}
_UNREADABLE: Final[dict[str, str]] = {
    "payload_too_large": "too_large",
    "unsupported_media_type": "unsupported",
    "validation_error": "incomplete",
}


def signed_url(source: HookSource, query: str) -> str:
    """The URL as the provider signed it: the configured one, with the query that came.

    Never rebuilt from `Host` or a forwarding header, which anybody writes.
    """
    if not source.public_url or not query or "?" in source.public_url:
        return source.public_url
    return f"{source.public_url}?{query}"


def _check_form(request: web.Request, media: Sequence[str]) -> None:
    """Raise `Refusal` for a body that is coded, or plainly of another type than the source takes."""
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        # The server would inflate it before we see it, and the signature is over what was sent.
        raise Refusal("unsupported_media_type", "send the body without Content-Encoding")
    if "Content-Type" not in request.headers or request.content_type in media:
        return
    kind = request.content_type
    if JSON in media and (kind == "application/json" or kind.endswith("+json")):
        return
    wanted = " or ".join("application/json" if one == JSON else one for one in media)
    raise Refusal("unsupported_media_type", f"set the content type to {wanted}")


def _headers(request: web.Request) -> dict[str, str]:
    """Headers by lower-case name. One that comes twice is joined, as RFC 9110 5.3 has it."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def _too_large(limit: int) -> Refusal:
    return Refusal("payload_too_large", f"the body has more than {limit} bytes", limit=limit)


def _refused(refusal: Refusal, retry_after: int = RETRY_AFTER) -> web.Response:
    again = refusal.status in (429, 503)
    headers: dict[str, Any] = {"Retry-After": str(retry_after)} if again else {}
    return web.json_response(refusal.envelope(), status=refusal.status, headers=headers)


def _unread(refusal: Refusal) -> web.Response:
    """A refusal whose request body was left unread: the connection can't be used again."""
    response = _refused(refusal)
    response.force_close()
    return response
