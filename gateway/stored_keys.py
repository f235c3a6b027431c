"""API keys that are kept in the store: made, looked up at every request, shown, revoked.

A key is `sayso_key_` and 43 random characters; the store has its SHA-256 alone. It is looked up at each
request that brings it, so a revocation holds from the next request on, in every replica. Its principal is
`key:<name>`: no key of the configuration is ever called that, nor should a person be, so whoever may make
keys can't make themselves an approver.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from aiohttp import hdrs, web

from gateway.auth import STORED, Caller, bearer, digest
from gateway.http import Recognise
from host.decisions.state import Principal, iso
from host.store.keys import ApiKeys, StoredKey
from host.store.records import Conflict, StoreUnavailable
from schemas.api_keys import KEY_NAME, SCOPES
from schemas.errors import Refusal

PREFIX: Final = "sayso_key_"
DAY_MS: Final = 86_400_000
_FORM: Final = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")
_NAME: Final = re.compile(KEY_NAME.replace("$", r"\Z"))


async def make(
    keys: ApiKeys, name: str, tenant: str, scopes: Sequence[str], now: int, life_ms: int | None
) -> tuple[StoredKey, str]:
    """A new key, and its text, which is never seen again. Raises `Refusal` (`validation_error`)."""
    if not _NAME.match(name):
        raise _invalid("name", "has 1 to 120 characters of A-Z a-z 0-9 . _ ~ -")
    unknown = sorted(set(scopes) - SCOPES)
    if unknown or not scopes:
        raise _invalid("scopes", f"are some of {', '.join(sorted(SCOPES))}")
    text = PREFIX + secrets.token_urlsafe(32)
    key = StoredKey(
        key_id=name,
        sha256=digest(text),
        tenant=tenant,
        scopes=tuple(dict.fromkeys(scopes)),
        created_at=now,
        expires_at=now + life_ms if life_ms else None,
    )
    try:
        await keys.add(key)
    except Conflict:
        raise _invalid("name", "is taken, by a key that may be revoked: choose another") from None
    return key, text


def recognising(keys: ApiKeys, clock: Callable[[], int]) -> Recognise:
    """What looks up the stored key of a request, before its handler, for `gateway.auth.Keys`."""

    async def recognise(request: web.Request) -> None:
        if PREFIX not in request.headers.get(hdrs.AUTHORIZATION, ""):
            return
        token = bearer(request)
        if _FORM.fullmatch(token):
            found = await keys.find(digest(token))
            now = clock()
            if found is not None and found.is_good(now):
                request[STORED] = caller_of(found)
                await _note_use(keys, found, now // DAY_MS)

    return recognise


def caller_of(key: StoredKey) -> Caller:
    """Who a stored key is."""
    name = f"key:{key.key_id}"
    principal = Principal(
        id=name, tenant=key.tenant, name=key.key_id, kind="workload", names=frozenset({name})
    )
    return Caller(principal, frozenset(key.scopes))


def record(key: StoredKey, now: int) -> dict[str, Any]:
    """A key as operators see it."""
    status = (
        "revoked" if key.revoked_at is not None else "active" if key.is_good(now) else "expired"
    )
    body: dict[str, Any] = {
        "name": key.key_id,
        "scopes": list(key.scopes),
        "status": status,
        "createdAt": iso(key.created_at),
    }
    if key.expires_at is not None:
        body["expiresAt"] = iso(key.expires_at)
    if key.revoked_at is not None:
        body["revokedAt"] = iso(key.revoked_at)
    if key.used_day is not None:
        body["lastUsedOn"] = iso(key.used_day * DAY_MS)[:10]
    return body


async def _note_use(keys: ApiKeys, key: StoredKey, day: int) -> None:
    """One write a key and day. A note that fails fails no request."""
    if key.used_day is not None and key.used_day >= day:
        return
    try:
        await keys.used(key.sha256, day)
    except StoreUnavailable:
        return


def _invalid(member: str, message: str) -> Refusal:
    errors = [{"path": [member], "message": message}]
    return Refusal("validation_error", f"{member}: {message}.", errors=errors)
