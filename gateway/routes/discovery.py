"""`/.well-known/openwop`: what this host serves, and nothing that it doesn't (OpenWOP: discovery)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import orjson
from aiohttp import web

from gateway import webhook_wire
from gateway.http import not_modified, reply
from host.decisions.state import Policy
from host.tokens import ALGS
from schemas.versions import ProtocolVersion, next_version


class DiscoveryRoutes:
    """The discovery document, made once: it changes only with the configuration."""

    def __init__(
        self,
        policy: Policy,
        protocol: ProtocolVersion,
        fixtures: Sequence[str] = (),
        *,
        callbacks: bool = False,
    ) -> None:
        found = document(policy, protocol)
        if callbacks:
            found["interrupt"]["callbackDelivery"] = True
        if fixtures:  # the conformance mode alone has any
            found["fixtures"] = list(fixtures)
        self._raw = orjson.dumps(found)
        self._etag = f'"{hashlib.sha256(self._raw).hexdigest()[:24]}"'

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/.well-known/openwop", self.read)]

    async def read(self, request: web.Request) -> web.Response:
        headers = {"ETag": self._etag, "Cache-Control": "no-cache"}
        return not_modified(request, self._etag) or reply(200, self._raw, headers)


def document(policy: Policy, protocol: ProtocolVersion) -> dict[str, Any]:
    """The document as JSON. One version is listed: the one that every answer is made by.

    A record's `since` is of this host's own list; `until` is the minor version that follows.
    """
    record = {"status": "experimental", "since": protocol, "until": next_version(protocol)}
    return {
        "protocolVersion": protocol,
        "protocolVersions": [protocol],
        "preferredVersion": protocol,
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
        "replay": {**record, "witness": "witnessable-gated", "modes": ["replay", "branch"]},
        "webhooks": {**record, "witness": "witnessable-gated", **webhook_wire.facets(protocol)},
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
