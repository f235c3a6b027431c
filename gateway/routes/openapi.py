"""`/openapi.json`: every operation that is served, made from the models that serve them."""

from __future__ import annotations

import hashlib
from importlib.metadata import version

import orjson
from aiohttp import web

from gateway.http import not_modified, reply
from gateway.openapi.document import document
from schemas.versions import ProtocolVersion


class OpenApiRoutes:
    """The document, made once."""

    def __init__(self, protocol: ProtocolVersion) -> None:
        self._raw = orjson.dumps(document(version("sayso-gateway"), protocol))
        self._etag = f'"{hashlib.sha256(self._raw).hexdigest()[:24]}"'

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/openapi.json", self.read)]

    async def read(self, request: web.Request) -> web.Response:
        headers = {"ETag": self._etag, "Cache-Control": "no-cache"}
        return not_modified(request, self._etag) or reply(200, self._raw, headers)
