"""The fake Slack's accounts, user groups, workspaces and installations: what the registry of apps knows.

Several workspaces (and organisations) share one server; a token says whose it is. `consent` is the person
who presses *Allow* on Slack's own page.
"""

from __future__ import annotations

import base64
import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.fakes.slack_methods import Workspace
from tests.fakes.slack_state import SlackError

if TYPE_CHECKING:
    from tests.fakes.slack import FakeSlack

LIFETIME = 43_200  # seconds that a rotated token lives

READING = {
    "auth.teams.list",
    "conversations.history",
    "conversations.info",
    "conversations.list",
    "conversations.replies",
    "team.info",
    "usergroups.list",
    "usergroups.users.list",
    "users.info",
    "users.lookupByEmail",
}
"""Slack takes no JSON bodies for these: their arguments are a query string or a form."""

NEEDS = {
    "conversations.info": "channels:read",
    "conversations.list": "channels:read",
    "team.info": "team:read",
    "usergroups.list": "usergroups:read",
    "usergroups.users.list": "usergroups:read",
    "users.info": "users:read",
    "users.lookupByEmail": "users:read.email",
}


@dataclass
class Grant:
    """What a code or a refresh token is good for."""

    space: Workspace
    org: str = ""  # the organisation's id, for an installation in all of it
    redirect_uri: str = ""
    used: bool = False
    token: str = ""


@dataclass
class Registry:
    """One app: its credentials, its installations, the workspaces that there are."""

    space: Workspace
    bot_token: str
    client_id: str = "1234.5678"
    client_secret: str = "fake-client-secret"
    redirect_urls: set[str] = field(default_factory=set)
    rotation: bool = False
    missing: set[str] = field(default_factory=set)  # scopes that the app lacks
    tokens: dict[str, Grant] = field(default_factory=dict)
    codes: dict[str, Grant] = field(default_factory=dict)
    refresh: dict[str, Grant] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)  # of user groups, by id
    switched_off: set[str] = field(default_factory=set)  # user groups
    scopes: tuple[str, ...] = ()  # that were asked for last

    def grant_of(self, token: str) -> Grant:
        if token == self.bot_token:
            return Grant(self.space)
        if token not in self.tokens:
            raise SlackError("invalid_auth")
        return self.tokens[token]

    def headers(self, method: str) -> dict[str, str]:
        if method != "auth.test":
            return {}
        known = (*self.scopes, *NEEDS.values(), "chat:write")
        return {"x-oauth-scopes": ",".join(sorted(set(known) - self.missing))}

    def check(self, method: str) -> None:
        if NEEDS.get(method) in self.missing:
            raise SlackError("missing_scope")

    def consent(self, url: str, space: Workspace, *, org: str = "") -> str:
        """Press *Allow* on the page at `url`: the address that the browser is sent to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["client_id"] == self.client_id, "Slack: invalid client_id"
        assert asked["redirect_uri"] in self.redirect_urls, "Slack: bad redirect_uri"
        assert asked["scope"], "Slack: no scopes"
        self.scopes = tuple(asked["scope"].split(","))
        code = secrets.token_hex(8)
        self.codes[code] = Grant(space, org, asked["redirect_uri"])
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def access(self, given: str, args: dict[str, Any]) -> dict[str, Any]:
        """oauth.v2.access."""
        basic = base64.b64decode(given.removeprefix("Basic ") or b"").decode(errors="replace")
        if basic != f"{self.client_id}:{self.client_secret}":
            raise SlackError("bad_client_secret")
        if args.get("grant_type") == "refresh_token":
            grant = self.refresh.get(str(args.get("refresh_token")))
            if grant is None or grant.used:
                raise SlackError("invalid_refresh_token")
        else:
            grant = self.codes.get(str(args.get("code")))
            if grant is None:
                raise SlackError("invalid_code")
            if grant.used:
                raise SlackError("code_already_used")
            if args.get("redirect_uri") != grant.redirect_uri:
                raise SlackError("bad_redirect_uri")
        grant.used = True
        self.tokens.pop(grant.token, None)  # of the exchange before: its token is over
        return self._issue(grant.space, grant.org)

    def _issue(self, space: Workspace, org: str) -> dict[str, Any]:
        token = ("xoxe.xoxb-1-" if self.rotation else "xoxb-") + secrets.token_hex(8)
        self.tokens[token] = Grant(space, org)
        answer: dict[str, Any] = {
            "access_token": token,
            "token_type": "bot",
            "scope": ",".join(self.scopes),
            "bot_user_id": space.bot_user,
            "app_id": space.app_id,
            "team": None if org else {"id": space.team, "name": f"Team {space.team}"},
            "enterprise": {"id": org, "name": f"Org {org}"} if org else None,
            "is_enterprise_install": bool(org),
            "authed_user": {"id": "U0ADMIN"},
        }
        if self.rotation:
            refresh = f"xoxe-1-{secrets.token_hex(8)}"
            self.refresh[refresh] = Grant(space, org, token=token)
            answer |= {"refresh_token": refresh, "expires_in": LIFETIME}
        return answer


def _usergroups_list(registry: Registry, grant: Grant, args: dict[str, Any]) -> dict[str, Any]:
    _named(grant, args)
    groups = [
        {"id": i, "handle": registry.handles.get(i, i.lower()), "name": i, "date_delete": 0}
        for i in grant.space.groups
        if i not in registry.switched_off
    ]
    return {"usergroups": groups}


def _team_info(registry: Registry, grant: Grant, args: dict[str, Any]) -> dict[str, Any]:
    return {"team": {"id": grant.space.team, "name": f"Team {grant.space.team}", "domain": "x"}}


def _auth_revoke(registry: Registry, grant: Grant, args: dict[str, Any]) -> dict[str, Any]:
    registry.tokens = {t: g for t, g in registry.tokens.items() if g is not grant}
    return {"revoked": True}


def _auth_teams_list(registry: Registry, grant: Grant, args: dict[str, Any]) -> dict[str, Any]:
    if not grant.org:
        raise SlackError("not_an_enterprise")
    return {"teams": [{"id": grant.space.team, "name": "Team"}]}


def _conversations_info(registry: Registry, grant: Grant, args: dict[str, Any]) -> dict[str, Any]:
    channel = grant.space.channels.get(str(args.get("channel")))
    if channel is None or (channel.get("private") and not channel["member"]):
        raise SlackError("channel_not_found")
    return {
        "channel": {
            "id": channel["id"],
            "name": channel["name"],
            "is_member": channel["member"],
            "is_archived": channel["archived"],
            "is_ext_shared": bool(channel.get("shared")),
        }
    }


def _auth_test(registry: Registry, grant: Grant, args: dict[str, Any]) -> dict[str, Any]:
    found = grant.space.auth_test(args)
    if grant.org:
        return {**found, "team_id": "", "enterprise_id": grant.org, "is_enterprise_install": True}
    return found


METHODS: dict[str, Callable[[Registry, Grant, dict[str, Any]], dict[str, Any]]] = {
    "auth.revoke": _auth_revoke,
    "auth.teams.list": _auth_teams_list,
    "auth.test": _auth_test,
    "conversations.info": _conversations_info,
    "team.info": _team_info,
    "usergroups.list": _usergroups_list,
}


def _named(grant: Grant, args: dict[str, Any]) -> None:
    if grant.org and not args.get("team_id"):
        raise SlackError("missing_argument")


def run(registry: Registry, method: str, token: str, args: dict[str, Any]) -> dict[str, Any] | None:
    """The answer of a method of these, None for one of the others. Raises `SlackError`."""
    if method == "oauth.v2.access":
        return registry.access(token, args)
    if method not in METHODS:
        if method == "usergroups.users.list":
            _named(registry.grant_of(token), args)
        return None
    if not token:
        raise SlackError("not_authed")
    grant = registry.grant_of(token)
    registry.check(method)
    return METHODS[method](registry, grant, args)


def profile(space: Workspace, user: str, **members: Any) -> None:
    """Set members of a person's profile as users.info gives it; a full member with a confirmed address
    unless they say otherwise."""
    plain = {
        "is_email_confirmed": True,
        "is_restricted": False,
        "is_ultra_restricted": False,
        "is_stranger": False,
    }
    space.users[user].update({**plain, **members})


@contextlib.contextmanager
def inside(slack: FakeSlack, space: Workspace) -> Iterator[FakeSlack]:
    """What people do in another workspace, for as long as this lasts."""
    before = slack.space, slack.messages, slack.private
    slack.space, slack.messages, slack.private = space, space.messages, space.private
    try:
        yield slack
    finally:
        slack.space, slack.messages, slack.private = before
