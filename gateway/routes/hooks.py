"""External events for operators: list them, match one by hand, replay one from the shelf."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import Any, Final, cast

import orjson
import structlog
from aiohttp import web

from gateway.auth import Caller, Keys
from gateway.channels import Remap
from gateway.http import body_of, parse, reply
from gateway.idempotency import Attempt, Idempotency
from gateway.shelving import end_wait
from host.checks import check_tenant
from host.decisions.state import iso
from host.host import Host
from host.store.records import StoreUnavailable
from host.store.shelf import STANDINGS, Listed, ShelvedEvent, Wanted
from schemas.errors import Refusal
from schemas.hook_events import MatchEvent

log = structlog.get_logger("sayso.shelf")

_SCOPE: Final = "webhooks:manage"
_ALL: Final = "/host/sayso/hooks/events"
LONGEST_EVENT_ID: Final = 512
LONGEST_CURSOR: Final = 2048
MOST_PAGE: Final = 1000
STATES: Final = (*STANDINGS, "duplicate")


class HookRoutes:
    """`/host/sayso/hooks/events…`. `remap` maps a kept event as its source is configured now."""

    def __init__(self, host: Host, keys: Keys, once: Idempotency, remap: Remap) -> None:
        self._host = host
        self._keys = keys
        self._once = once
        self._remap = remap

    def routes(self) -> list[web.RouteDef]:
        one = f"{_ALL}/{{source}}/{{eventId}}"
        return [
            web.get(_ALL, self.listing, allow_head=False),
            web.post(f"{one}/match", self.match),
            web.post(f"{one}/replay", self.replay),
        ]

    async def listing(self, request: web.Request) -> web.Response:
        caller = self._keys.caller(request, _SCOPE)
        wanted = _wanted(request, caller.principal.tenant)
        found = await self._host.store.shelf.listing(wanted, self._host.clock())
        body: dict[str, Any] = {"events": [_record(one) for one in found]}
        if len(found) == wanted.limit:
            body["nextCursor"] = _cursor(found[-1].event)
        return reply(200, body)

    async def match(self, request: web.Request) -> web.Response:
        """The operator says which interrupt the event answers. It is bound to that one for good, unless the
        interrupt refuses it."""
        caller = self._keys.caller(request, _SCOPE)

        async def act(_: Attempt) -> tuple[int, dict[str, Any]]:
            body = parse(MatchEvent, await body_of(request))
            event = await self._event(request, caller)
            await self._match(caller, event, body.interrupt_id)
            answer = {"source": event.source, "eventId": event.event_id}
            return 200, {**answer, "interruptId": body.interrupt_id}

        return await self._once.run(request, caller.principal.tenant, "matchHookEvent", act)

    async def _match(self, caller: Caller, event: ShelvedEvent, interrupt_id: str) -> None:
        shelf = self._host.store.shelf
        check_tenant(caller.principal, interrupt_id)
        interrupt = await self._host.interrupt(caller.principal, interrupt_id)
        if interrupt.kind != "external-event":
            raise Refusal(
                "validation_error", "That interrupt waits for a person, not for an event."
            )
        if event.match_key is None:
            raise Refusal(
                "validation_error",
                "The mapping of this event failed. Correct the source's mapping, then replay it.",
            )
        if not await shelf.bind(event.source, event.event_id, interrupt_id):
            raise _settled()
        try:
            await end_wait(self._host, event, interrupt_id, mark=True, by=caller.principal)
        except StoreUnavailable:
            raise  # it may have been committed: the same match again finds out
        except Refusal as refusal:
            reason = f"not taken by {interrupt_id}: {refusal.message}"
            await shelf.unbind(event.source, event.event_id, interrupt_id, reason)
            raise
        await shelf.applied(event.source, event.event_id, [interrupt_id])
        log.info(
            "event matched by hand",
            source=event.source,
            event_id=event.event_id,
            interrupt=interrupt_id,
            by=caller.principal.id,
        )

    async def replay(self, request: web.Request) -> web.Response:
        """Map the kept bytes anew and let the event look for its waits again."""
        caller = self._keys.caller(request, _SCOPE)

        async def act(_: Attempt) -> tuple[int, dict[str, Any]]:
            event = await self._event(request, caller)
            again, state = await self._replay(event)
            self._host.waiters.wake("shelf")
            log.info(
                "event replayed",
                source=event.source,
                event_id=event.event_id,
                by=caller.principal.id,
            )
            return 200, {"source": again.source, "eventId": again.event_id, "state": state}

        return await self._once.run(request, caller.principal.tenant, "replayHookEvent", act)

    async def _replay(self, event: ShelvedEvent) -> tuple[ShelvedEvent, str]:
        shelf = self._host.store.shelf
        if event.state in ("due", "applied"):
            raise _settled()
        raw = await shelf.raw(event.source, event.event_id) or b""
        again = self._remap(event, raw, self._host.clock())
        if again.tenant != event.tenant:
            raise Refusal("validation_error", "The source belongs to another tenant by now.")
        if again.event_id == event.event_id or again.match_key is None:
            if not await shelf.again(again if again.match_key else _as_was(event, again)):
                raise _settled()
            return event, "due"
        # It had been kept under a name of ours; now its own is known, which tells its duplicates.
        new = await shelf.file(again, raw)
        await shelf.applied(event.source, event.event_id, [])
        return again, "due" if new else "duplicate"

    async def _event(self, request: web.Request, caller: Caller) -> ShelvedEvent:
        source, event_id = request.match_info["source"], request.match_info["eventId"]
        found = await self._host.store.shelf.get(source, event_id[: LONGEST_EVENT_ID + 1])
        # Of another tenant and of nobody are one answer: event ids are no secret, and not bound to a tenant.
        if found is None or found.tenant != caller.principal.tenant:
            raise Refusal("not_found", "This source has no such event.")
        return found


def _as_was(event: ShelvedEvent, again: ShelvedEvent) -> ShelvedEvent:
    """An event whose mapping fails still: the new reason, under the name that it has."""
    return replace(again, event_id=event.event_id)


def _settled() -> Refusal:
    return Refusal(
        "interrupt_already_resolved",
        "This event is at work, has had its effect, or is bound to another interrupt.",
    )


def _record(listed: Listed) -> dict[str, Any]:
    event = listed.event
    record: dict[str, Any] = {
        "source": event.source,
        "eventId": event.event_id,
        "eventType": event.event_type,
        "state": listed.standing,
        "receivedAt": iso(event.received_at),
        "correlation": event.correlation,
        "matched": list(event.matched),
        "duplicates": event.duplicates,
    }
    if event.expires_at is not None:
        record["expiresAt"] = iso(event.expires_at)
    if event.error:
        record["error"] = event.error
    return record


def _wanted(request: web.Request, tenant: str) -> Wanted:
    """Raises `Refusal` (`validation_error`)."""
    query = request.query
    state, limit = query.get("state", ""), query.get("limit", "100")
    if "state" in query and state not in STATES:
        raise Refusal("validation_error", f"state is one of {', '.join(STATES)}.")
    if not re.fullmatch(r"[0-9]{1,4}", limit) or not 1 <= int(limit) <= MOST_PAGE:
        raise Refusal("validation_error", f"limit is a whole number from 1 to {MOST_PAGE}.")
    source = query.get("source", "")
    if "source" in query and not re.fullmatch(r"[A-Za-z0-9._~-]{1,128}", source):
        raise Refusal("validation_error", "source is the name of a webhook source.")
    before = _position(query["cursor"]) if "cursor" in query else None
    return Wanted(tenant, source, cast(Any, state), int(limit), before)


def _cursor(event: ShelvedEvent) -> str:
    raw = orjson.dumps([event.received_at, event.source, event.event_id])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _position(cursor: str) -> tuple[int, str, str]:
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError
        padded = cursor + "=" * (-len(cursor) % 4)
        at, source, event_id = orjson.loads(base64.b64decode(padded, b"-_", validate=True))
        if type(at) is not int or type(source) is not str or type(event_id) is not str:
            raise ValueError
        return at, source, event_id
    except (ValueError, TypeError):
        raise Refusal("validation_error", "cursor is the nextCursor of the page before.") from None
