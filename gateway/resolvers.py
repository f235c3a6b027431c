"""Who resolved an interrupt, as the protocol's Subject (OpenWOP: identity).

A person who came through a channel is the subject, mapped by this host, and the channel acted for them.
The bearer of a link that names nobody is anonymous. A subject id is never personal data: what holds an
address becomes a digest of it.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from host.store.records import StoredEvent
from schemas.ids import tenant_of

_PLAIN: Final = re.compile(r"[A-Za-z0-9._~:-]{1,256}")


def resolver(event: StoredEvent) -> dict[str, Any] | None:
    """The subject of an event's record, or None when the host itself decided."""
    record = event.record or {}
    by, via = record.get("by", ""), record.get("via", "")
    if not by:
        return None
    tenant = tenant_of(event.run_id)
    if via == "api":
        return _subject("urn:sayso:api-key", by, tenant, "api-key", "workload")
    if by.startswith("token:"):
        return _subject("urn:sayso:interrupt-token", by, tenant, "anonymous", "anonymous")
    if via.startswith("hook:"):
        return _subject("urn:sayso:webhook", by, tenant, "workload", "workload")
    person = _subject("urn:sayso:people", by, tenant, "session", "user")
    person["actor"] = _subject(
        "urn:sayso:channel", via or "unknown", tenant, "workload", "workload"
    )
    return person


def _subject(issuer: str, name: str, tenant: str, lane: str, kind: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "subjectId": _opaque(name),
        "tenant": tenant,
        "lane": lane,
        "kind": kind,
    }


def _opaque(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()[:40]}"
