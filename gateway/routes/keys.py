"""API keys over HTTP: make, list, revoke, within the caller's own tenant and scopes."""

from __future__ import annotations

from aiohttp import web

from gateway.auth import Keys
from gateway.http import body_of, parse, reply
from gateway.stored_keys import make, record
from host.host import Host
from schemas.api_keys import CreateApiKey
from schemas.errors import Refusal
from schemas.ids import from_path_segment

_SCOPE = "keys:manage"


class KeyRoutes:
    """`/host/sayso/api-keys`."""

    def __init__(self, host: Host, keys: Keys) -> None:
        self._host = host
        self._keys = keys

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/host/sayso/api-keys", self.create),
            web.get("/host/sayso/api-keys", self.listing, allow_head=False),
            web.post("/host/sayso/api-keys/{keyName}/revoke", self.revoke),
        ]

    async def create(self, request: web.Request) -> web.Response:
        """Never idempotent by key: the answer holds a secret and is kept nowhere."""
        caller = self._keys.caller(request, _SCOPE)
        body = parse(CreateApiKey, await body_of(request))
        beyond = sorted(set(body.scopes) - caller.scopes)
        if beyond:
            raise Refusal(
                "forbidden",
                f"This API key lacks the scope {beyond[0]} and can't give it to another.",
                scope=beyond[0],
            )
        now, tenant = self._host.clock(), caller.principal.tenant
        life = body.expires_in_seconds * 1000 if body.expires_in_seconds else None
        stored = self._host.store.api_keys
        key, text = await make(stored, body.name, tenant, body.scopes, now, life)
        return reply(201, {**record(key, now), "key": text}, {"Cache-Control": "no-store"})

    async def listing(self, request: web.Request) -> web.Response:
        tenant = self._keys.caller(request, _SCOPE).principal.tenant
        found = await self._host.store.api_keys.of(tenant)
        now = self._host.clock()
        return reply(200, {"apiKeys": [record(key, now) for key in found]})

    async def revoke(self, request: web.Request) -> web.Response:
        """From the next request on. Revoking twice is the same as once."""
        tenant = self._keys.caller(request, _SCOPE).principal.tenant
        name = from_path_segment(request.match_info["keyName"])
        stored, now = self._host.store.api_keys, self._host.clock()
        if await stored.revoke(tenant, name, now):
            for key in await stored.of(tenant):
                if key.key_id == name:
                    return reply(200, record(key, now))
        raise Refusal("not_found", "There is no such API key in the store.")
