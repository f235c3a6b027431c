"""`/openapi.json`: every operation that is served, made from the models that serve them."""

from __future__ import annotations

import asyncio
import hashlib
from importlib.metadata import version

import orjson
from aiohttp import web

from gateway.http import not_modified, reply
from schemas.versions import ProtocolVersion


class OpenApiRoutes:
    """The document, made once: when it is first asked for, since few ask and it takes a good part of a
    second."""

    def __init__(self, protocol: ProtocolVersion) -> None:
        self._protocol = protocol
        self._making = asyncio.Lock()
        self._raw = b""
        self._etag = ""

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/openapi.json", self.read)]

    async def read(self, request: web.Request) -> web.Response:
        async with self._making:
            if not self._raw:
                self._raw = await asyncio.to_thread(_document, self._protocol)
                self._etag = f'"{hashlib.sha256(self._raw).hexdigest()[:24]}"'
        headers = {"ETag": self._etag, "Cache-Control": "no-cache"}
        return not_modified(request, self._etag) or reply(200, self._raw, headers)


def _document(protocol: ProtocolVersion) -> bytes:
    from gateway.openapi.document import document

    return orjson.dumps(document(version("sayso-gateway"), protocol))
