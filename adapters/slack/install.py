"""Installing by OAuth v2: `/slack/install` sends somebody to Slack, `/slack/oauth_redirect` is where they
come back.

Who may install is the operator's to say: the workspaces that the settings name, and whoever holds an
install link (`sayso slack install-link`), once. Otherwise a stranger's workspace would be installed here,
and an administrator of it can give any account any confirmed address.

The state is signed, good once and for ten minutes, and opens only in the browser that began: what it was
given as a cookie. So nobody can be made to finish an installation that somebody else has begun.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
from aiohttp import web
from itsdangerous import BadData, URLSafeTimedSerializer
from slack_sdk.errors import SlackApiError

from adapters.slack.client import SlackClient
from adapters.slack.failures import SlackFailed
from adapters.slack.installations import Installation, Installations, granted
from adapters.slack.manifest import BOT_SCOPES
from adapters.slack.settings import SlackSettings
from host.store.records import StoreUnavailable

_log = logging.getLogger(__name__)

PATH: Final = "/slack/install"
REDIRECT: Final = "/slack/oauth_redirect"
STATE_SECONDS: Final = 600
TICKET_SECONDS: Final = 3600
_USED: Final = "slack.oauth.used"
_LONGEST: Final = 2048  # characters of a state, a ticket or a code
_AUTHORIZE: Final = "https://slack.com/oauth/v2/authorize"
_OWN_HOSTS: Final = ("slack.com", "slack-gov.com")
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
}


class NotInstalled(Exception):
    """The installation ended here. The text is for the person who tried."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class _State:
    nonce: str
    browser: str  # digest of the cookie
    ticket: str  # nonce of the install link, or ""


def ticket(secret: bytes) -> str:
    """What an install link carries: good once, for an hour."""
    return _signer(secret, "ticket").dumps(secrets.token_urlsafe(12))


class Exchange:
    """Calls `oauth.v2.access` with the app's own credentials. Raises `SlackFailed`."""

    def __init__(self, settings: SlackSettings, client: SlackClient) -> None:
        self._settings = settings
        self._client = client

    async def __call__(self, arguments: dict[str, str]) -> dict[str, Any]:
        try:
            answer = await self._client.web_client(None).oauth_v2_access(
                client_id=self._settings.client_id,
                client_secret=self._settings.client_secret,
                **arguments,
            )
        except SlackApiError as error:
            data = error.response.data
            word = str(data.get("error", "")) if isinstance(data, dict) else ""
            raise SlackFailed("oauth.v2.access", word[:80]) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SlackFailed("oauth.v2.access", "", detail=type(error).__name__) from None
        return answer.data if isinstance(answer.data, dict) else {}


class Install:
    """The two routes. `adopt` puts a new installation to use."""

    def __init__(
        self,
        settings: SlackSettings,
        client: SlackClient,
        installations: Installations,
        exchange: Exchange,
        adopt: Callable[[Installation], Awaitable[object]],
    ) -> None:
        self._settings = settings
        self._client = client
        self._installations = installations
        self._exchange = exchange
        self._adopt = adopt
        self._secure = settings.public_url.startswith("https://")
        # A cookie with this prefix can't be planted by another host of the domain.
        self._cookie = "__Host-sayso-slack" if self._secure else "sayso-slack"

    def routes(self) -> Sequence[web.RouteDef]:
        return [
            web.get(PATH, self.begin, allow_head=False),
            web.get(REDIRECT, self.finish, allow_head=False),
        ]

    async def begin(self, request: web.Request) -> web.Response:
        """To Slack, with a state that only this browser can bring back."""
        try:
            held = await self._ticket(request.query.get("ticket", ""))
        except NotInstalled as no:
            return _page("Not installed", str(no), no.status)
        browser = secrets.token_urlsafe(24)
        state = [secrets.token_urlsafe(12), _digest(browser), held]
        asked = {
            "client_id": self._settings.client_id,
            "scope": ",".join(BOT_SCOPES),
            "redirect_uri": self._redirect_uri,
            "state": _signer(self._settings.install_secret, "state").dumps(state),
        }
        response = web.Response(
            status=302, headers={**_HEADERS, "Location": f"{self._authorize}?{urlencode(asked)}"}
        )
        response.set_cookie(
            self._cookie,
            browser,
            max_age=STATE_SECONDS,
            path="/",
            httponly=True,
            secure=self._secure,
            samesite="Lax",  # the way back from Slack is a navigation from another site
        )
        return response

    async def finish(self, request: web.Request) -> web.Response:
        """Back from Slack. Every ending is a page that says what to do."""
        try:
            made = await self._finished(request)
        except NotInstalled as no:
            _log.warning("slack: an installation was not finished: %s", no)
            response = _page("Not installed", str(no), no.status)
        except StoreUnavailable:
            response = _page("Not installed", "Nothing could be stored now. Please try again.", 503)
        else:
            _log.info("slack: installed in %s", made.key)
            sentence = (
                f"Sayso is installed in {made.name}. Invite it to the channels that it shall post to"
                " (/invite @Sayso). You can close this page."
            )
            response = _page("Installed", sentence, 200)
        response.del_cookie(self._cookie, path="/", secure=self._secure, httponly=True)
        return response

    async def _finished(self, request: web.Request) -> Installation:
        state = self._state(request)
        if error := request.query.get("error", ""):
            said = "you declined" if error == "access_denied" else f"Slack says {error[:40]}"
            raise NotInstalled(f"Nothing was installed: {said}.")
        code = request.query.get("code", "")
        if not code or len(code) > _LONGEST:
            raise NotInstalled("Slack sent no code. Begin again with the install link.")
        await self._use_up(state.nonce, STATE_SECONDS)
        try:
            answer = await self._exchange({"code": code, "redirect_uri": self._redirect_uri})
            made = granted(answer, self._installations.clock())
        except SlackFailed as failure:
            _log.warning("slack: %s", failure.reason)
            raise NotInstalled("Slack did not take the code. Begin again.", 502) from None
        except ValueError as error:
            raise NotInstalled(f"{error}.") from None
        if not state.ticket and not self._may_install(made):
            await self._give_back(made)
            raise NotInstalled(
                f"This gateway takes no installation in {made.key}. Ask its operator for an install link.",
                403,
            )
        if state.ticket:
            try:
                await self._use_up(state.ticket, TICKET_SECONDS)
            except NotInstalled:
                await self._give_back(made)
                raise
        kept = await self._installations.save(made)
        await self._adopt(kept)
        return kept

    async def _ticket(self, text: str) -> str:
        """The nonce of an install link, or "" where none is needed to begin."""
        if not text:
            if self._settings.workspaces:
                return ""
            raise NotInstalled(
                "An installation begins with an install link. Ask the operator of this gateway for one.",
                403,
            )
        try:
            if len(text) > _LONGEST:
                raise BadData("too long")
            signer = _signer(self._settings.install_secret, "ticket")
            return str(signer.loads(text, max_age=TICKET_SECONDS))
        except BadData:
            raise NotInstalled(
                "This install link is broken, or older than an hour. Ask for a new one.", 403
            ) from None

    def _state(self, request: web.Request) -> _State:
        text, cookie = request.query.get("state", ""), request.cookies.get(self._cookie, "")
        try:
            if not text or len(text) > _LONGEST:
                raise BadData("missing or too long")
            signer = _signer(self._settings.install_secret, "state")
            state = _State(*signer.loads(text, max_age=STATE_SECONDS))
        except (BadData, TypeError):
            raise NotInstalled(
                "This installation was not begun here, or more than ten minutes ago. Begin again with "
                "the install link."
            ) from None
        if not hmac.compare_digest(state.browser, _digest(cookie)):
            raise NotInstalled(
                "This installation was begun in another browser, or cookies are off. Begin again with "
                "the install link."
            )
        return state

    async def _use_up(self, nonce: str, seconds: int) -> None:
        """Raises `NotInstalled` when it was used before, at whichever gateway."""
        now = self._installations.clock()
        # A minute more than it is good for: clocks of several gateways differ.
        over = now + (seconds + 60) * 1000
        documents = self._installations.documents
        first = await documents.put(_USED, nonce, {}, now, expected=0, expires_at=over)
        if first is None:
            raise NotInstalled("This link was used already. Begin again with a new one.")

    def _may_install(self, made: Installation) -> bool:
        named = {made.team_id, made.enterprise_id} - {""}
        return bool(named & self._settings.workspaces)

    async def _give_back(self, made: Installation) -> None:
        """Revoke a token that is not kept."""
        try:
            await self._client.web_client(made.token).auth_revoke()
        except (SlackApiError, aiohttp.ClientError, TimeoutError, OSError) as error:
            _log.warning("slack: a token was not revoked: %s", type(error).__name__)

    @property
    def _redirect_uri(self) -> str:
        return self._settings.public_url + REDIRECT

    @property
    def _authorize(self) -> str:
        api = urlsplit(self._settings.api_url)  # a proxy for the API is not where people log in
        if self._settings.is_loopback or api.hostname in _OWN_HOSTS:
            return f"{api.scheme}://{api.netloc}/oauth/v2/authorize"
        return _AUTHORIZE


def _signer(secret: bytes, use: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        secret, salt=f"slack install {use}", signer_kwargs={"digest_method": hashlib.sha256}
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _page(title: str, sentence: str, status: int) -> web.Response:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{html.escape(sentence)}</p></html>"
    )
    return web.Response(text=body, status=status, content_type="text/html", headers=_HEADERS)
