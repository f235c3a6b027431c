"""Access tokens for mail servers that take no passwords any more (XOAUTH2: Gmail, Microsoft 365).

A token is fetched from the provider's token endpoint and kept until shortly before its end. By the refresh
token of a mailbox's consent, or, without one, for the program itself (client credentials). Some providers
answer a new refresh token with each access token, and let the old one end in weeks: the newest is kept,
sealed, so that a gateway that is started after those weeks still has one that is good.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

import structlog

from adapters.channel import DeliveryFailed
from adapters.email.settings import OAuth
from adapters.email.transports.http import Answer, Http
from host.sealing import SealBroken, Sealer
from host.store.documents import Documents
from host.store.records import StoreUnavailable

log = structlog.get_logger(__name__)

EARLY: Final = 60.0
"""Seconds before its end at which a token is not used any more: a mail takes some."""
UNKNOWN: Final = 300.0
"""Seconds for a token of which nobody says how long it is good."""
_TIMEOUT: Final = 15.0
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,8000}")
"""One line of AUTH has 12,288 octets (RFC 4954 4), of which base64 needs a third."""
_FINAL: Final = frozenset(
    {"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "access_denied"}
)
"""RFC 6749 5.2: what only an operator can mend."""
_KIND: Final = "mail.oauth"


class Vault:
    """Keeps the newest refresh token of each account, sealed. `clock` gives milliseconds since 1970."""

    def __init__(self, documents: Documents, sealer: Sealer, clock: Callable[[], int]) -> None:
        self._documents = documents
        self._sealer = sealer
        self._clock = clock

    async def newest(self, account: OAuth) -> str:
        """The newest one, or that of the configuration. Raises `StoreUnavailable`."""
        place = _place(account)
        found = await self._documents.get(_KIND, place, self._clock())
        if found is not None:
            try:
                return self._sealer.open(str(found.value["sealed"]), f"{_KIND}/{place}")
            except SealBroken:
                log.warning("mail.refresh_token_sealed_by_another_key")
        return account.refresh_token

    async def keep(self, account: OAuth, token: str) -> None:
        """Raises `StoreUnavailable`."""
        place = _place(account)
        value = {"sealed": self._sealer.seal(token, f"{_KIND}/{place}")}
        await self._documents.put(_KIND, place, value, self._clock())


class AccessTokens:
    """The access token of one account. `clock` gives seconds that only go forward."""

    def __init__(
        self,
        account: OAuth,
        vault: Vault | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._account = account
        self._vault = vault
        self._clock = clock
        self._http = Http(1, _TIMEOUT)
        self._lock = asyncio.Lock()
        self._token = ""
        self._until = 0.0
        self._fresh = ""  # a refresh token that came, and is not in the vault yet

    async def get(self) -> str:
        """A token that is good now. Raises `DeliveryFailed`, permanent when the account is refused."""
        async with self._lock:  # ten connections at once ask for one token
            if self._clock() >= self._until:
                await self._fetch()
            return self._token

    def drop(self, token: str) -> None:
        """A server did not take this one: don't use it again."""
        if token == self._token:
            self._until = 0.0

    async def close(self) -> None:
        """Close the session."""
        await self._http.close()

    async def _fetch(self) -> None:
        refresh = await self._refresh_token()
        answer = await self._http.post(
            self._account.token_url,
            urlencode(_asked(self._account, refresh)).encode(),
            {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
        )
        members = answer.members()
        token = members.get("access_token")
        if answer.status != 200 or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise _refused(answer, members)
        self._token, self._until = token, self._clock() + _lifetime(members.get("expires_in"))
        fresh = members.get("refresh_token")
        if refresh and isinstance(fresh, str) and 0 < len(fresh) <= 8000 and fresh != refresh:
            self._fresh = fresh
            await self._keep()

    async def _refresh_token(self) -> str:
        if not self._account.refresh_token:
            return ""
        if self._fresh or self._vault is None:
            return self._fresh or self._account.refresh_token
        try:
            return await self._vault.newest(self._account)
        except StoreUnavailable:
            raise DeliveryFailed("the store is away that keeps the mail server's token") from None

    async def _keep(self) -> None:
        if self._vault is None:
            return
        try:
            await self._vault.keep(self._account, self._fresh)
        except StoreUnavailable:
            log.warning(
                "mail.refresh_token_not_kept"
            )  # it is remembered, and kept with the next one
        else:
            self._fresh = ""


def _asked(account: OAuth, refresh: str) -> dict[str, str]:
    """RFC 6749 6 and 4.4.2; the client's secret in the body, as both large providers document it."""
    fields = {
        "grant_type": "refresh_token" if refresh else "client_credentials",
        "client_id": account.client_id,
        "client_secret": account.client_secret,
        "refresh_token": refresh,
        "scope": account.scope,
    }
    return {name: value for name, value in fields.items() if value}


def _lifetime(found: Any) -> float:
    """Seconds until a token is fetched anew, from `expires_in`, which some write as text."""
    text = str(found)
    seconds = float(text) if re.fullmatch(r"\d{1,9}", text) else UNKNOWN
    return max(seconds - EARLY, seconds / 2)


def _refused(answer: Answer, members: dict[str, Any]) -> DeliveryFailed:
    error = members.get("error")
    kind = error if isinstance(error, str) and re.fullmatch(r"[a-z_]{1,40}", error) else ""
    log.warning("mail.token_refused", status=answer.status, error=kind)
    return DeliveryFailed(
        f"no access token for the mail server: {answer.status} {kind}".rstrip(),
        permanent=kind in _FINAL,
        retry_after=answer.retry_after,
    )


def _place(account: OAuth) -> str:
    """Of this configuration: with another refresh token in it, what was kept is not used any more."""
    named = "\0".join((account.token_url, account.client_id, account.refresh_token))
    return hashlib.sha256(named.encode()).hexdigest()
