"""`/.well-known/openwop`: what this host serves, and nothing that it doesn't (protocol digest 11)."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import Any

import orjson
from aiohttp import web

from gateway.http import VERSION, reply
from host.decisions.state import Policy
from host.tokens import ALGS


class DiscoveryRoutes:
    """The discovery document, made once: it changes only with the configuration."""

    def __init__(self, policy: Policy) -> None:
        self._raw = orjson.dumps(document(policy))
        self._etag = f'"{hashlib.sha256(self._raw).hexdigest()[:24]}"'

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/.well-known/openwop", self.read)]

    async def read(self, request: web.Request) -> web.Response:
        headers = {"ETag": self._etag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == self._etag:
            return web.Response(status=304, headers=headers)
        return reply(200, self._raw, headers)


def document(policy: Policy) -> dict[str, Any]:
    """The document as JSON."""
    record = {"status": "experimental", "since": VERSION, "until": "2.2"}
    return {
        "protocolVersion": VERSION,
        "protocolVersions": [VERSION],
        "preferredVersion": VERSION,
        "implementation": {
            "name": "sayso-gateway",
            "version": version("sayso-gateway"),
            "vendor": "sayso",
        },
        "engineVersion": 1,
        "eventLogSchemaVersion": 3,
        "interrupt": {
            **record,
            "witness": "witnessable-gated",
            "tokenAlgs": list(ALGS),
            "refKinds": sorted(policy.ref_kinds),
        },
        "conversationPrimitive": {**record, "witness": "claims-check"},
        "auth": {
            **record,
            "witness": "seam-gated",
            "lanes": [
                {
                    "lane": "api-key",
                    "issuers": ["urn:sayso:api-key"],
                    "revocation": "next-request",
                    "minimumAssurance": "bearer",
                }
            ],
        },
        "extensions": {"sayso.gateway": {**record, "witness": "claims-check"}},
    }
